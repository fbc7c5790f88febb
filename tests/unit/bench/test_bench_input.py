"""``dc-nmt bench``: how subjects are named, and what is no subject."""

from __future__ import annotations

import json

import pytest
from records import write_run

from dc_nmt_plugin.bench import INT8, LEAST_TYPES, STOCK, comparison
from dc_nmt_plugin.bench.subjects import stock_settings, subject, with_positions
from dc_nmt_plugin.commands.bench import main
from dc_nmt_plugin.commands.bench_names import short_names
from dc_nmt_plugin.errors import UserError

ARCH = "transformer_dc_micro"
SMALL = ["--mode", "train", "--max-tokens", "20", "--length", "5", "--count", "--json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([""], "ARCH|RUN: '' names neither an architecture nor a run's folder"),
        ([ARCH, " "], "ARCH|RUN: ' ' names neither"),
        ([f"{ARCH} 'x"], 'ARCH|RUN: "transformer_dc_micro \'x": No closing quotation'),
        ([ARCH, "--against", ""], "--against: '' names neither"),
        ([ARCH, "--against", "my run"], "--against: 'my run' is not one of"),
        ([ARCH, "--int8", "--mode", "decode,train"], "--mode train: --int8 is for decoding"),
        ([ARCH, "--int8", "--count"], "--count: --int8 measures time"),
        ([ARCH, "--int8", "--precision", "bfloat16"], "--precision bfloat16: --int8 stands"),
        ([ARCH, "--int8", "--device", "cuda"], "--device cuda: --int8 is for CPUs"),
        ([STOCK, "--int8"], "--int8: stock is no Transformer of this plugin"),
        (["gru_selfattn_residual", "--int8"], "--int8: gru_selfattn_residual is no Transformer"),
        ([ARCH, "--vocabulary", "4"], "--vocabulary: '4' is not a whole number from 5"),
    ],
)
def test_bad_input_is_one_sentence(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        main(words)
    assert str(error.value).startswith(said)


def test_too_little_memory_for_all_subjects_is_told(monkeypatch):
    monkeypatch.setattr(comparison, "available_memory_gib", lambda: 0.001)
    words = [ARCH, "--mode", "decode", "--rounds", "1", "--max-tokens", "20", "--length", "5"]
    with pytest.raises(UserError, match=r"the 3 models need .* and 0.0 GiB are available; name"):
        main(words)


def test_a_run_whose_folder_has_a_space_is_a_baseline(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "my run"
    write_run(run, "transformer_standard_micro")
    types = ["--vocabulary", str(LEAST_TYPES)]
    for against in ("my run", "'my run' --source-features m-10"):
        assert main([ARCH, "my run", "--against", against, *types, *SMALL]) == 0
        names = [row["name"] for row in json.loads(capsys.readouterr().out)]
        baseline = "'my run'" if against == "my run" else against
        assert names == list(dict.fromkeys([baseline, ARCH, "'my run'"]))


def test_a_table_names_shared_flags_once():
    names = short_names(["a --x 1 --base modern -q 3", "'b c' --x 2 --base modern -q 3"], [STOCK])
    assert names.flags == "--base modern -q 3"
    assert names("'b c' --x 2 --base modern -q 3") == "'b c' --x 2" and names(STOCK) == STOCK
    assert names(f"a --x 1 --base modern -q 3{INT8}") == f"a --x 1{INT8}"
    assert short_names(["a --x 1"]).short == {"a --x 1": "a"}
    # nothing shared; a value alone; the baseline is the same model without the flags
    for archs, others in ((["a --x 1", "b"], []), (["a --x 1", "b --y 1"], []), (["a --x"], ["a"])):
        assert short_names(archs, others).lines() == []


def test_sentences_may_be_longer_than_the_models_positions():
    assert with_positions(ARCH, 20) == ARCH and with_positions(STOCK, 1100) == STOCK
    longer = with_positions(ARCH, 1100)
    positions = {"max_source_positions": 2202, "max_target_positions": 2202}
    assert positions.items() <= subject(longer).settings.items()
    assert positions.items() <= stock_settings(longer).items()
