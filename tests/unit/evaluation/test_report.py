"""The output of fairseq-generate, and the record that its scores enter."""

from __future__ import annotations

import json

import pytest
from records import change

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import score as score_command
from dc_nmt_plugin.laboratory.evaluation.generated import read_generated
from dc_nmt_plugin.runs.record import Training, read_record

GENERATED = """\
2026-11-21 09:00:00 | INFO | fairseq_cli.generate | loading model(s) from average.pt
S-2\tc@@ c .
T-2\tC@@ C .
H-2\t-0.5\tC@@ C &amp; D@@
D-2\t-0.5\tC@@ C &amp; D@@
P-2\t-0.1 -0.2
S-0\ta
T-0\tA
H-0\t-0.1\tA b@@ c !
H-0\t-0.9\tsecond best
H-1\t-0.3\t
D-1\t-0.3\t
2026-11-21 09:00:02 | INFO | x | Translated 3 sentences (1,007 tokens) in 1.5s (2.00 sentences/s, \
671.33 tokens/s)
Generate test with beam=5: BLEU4 = 0.00
"""


def test_hypotheses_come_back_in_order_without_bpe(tmp_path):
    (tmp_path / "gen.txt").write_text(GENERATED)
    generated = read_generated(tmp_path / "gen.txt")
    assert generated.hypotheses == ["A bc !", "", "CC &amp; D"]
    assert generated.sentences_per_second == 2.0


def test_the_output_of_fairseq_generate_tells_the_search(tmp_path):
    log = tmp_path / "generate.log"
    log.write_text(
        "x | INFO | {'generation': {'beam': 4, 'lenpen': 0.6, 'max_len_a': 0.0, 'min_len': 1}, "
        "'task': {'length_penalty': 'wu', 'mask_source_layers': '1,2', 'no_aux_fusion': False, "
        "'decode_with': 'aux:2'}, 'dataset': {'gen_subset': 'valid'}}\n"
    )
    (tmp_path / "out").write_text("H-0\t-0.1\ta\n")
    generated = read_generated(tmp_path / "out", log)
    assert generated.subset == "valid" and generated.search == {
        "beam": 4, "lenpen": 0.6, "max-len-a": 0.0, "min-len": 1, "length-penalty": "wu",
        "mask-source-layers": "1,2", "decode-with": "aux:2",
    }  # fmt: skip


def test_a_further_set_has_a_name_of_its_own(cwd, capsys):
    (cwd / "ref").write_text("a\n")
    (cwd / "generate-test1.txt").write_text("H-0\t-0.1\ta\n")
    words = ["generate-test1.txt", "--reference", "ref", "--target-lang", "en"]
    words += ["--out", "run.json", "--subset"]
    assert score_command.main([*words, "test2017"]) == 0
    assert read_record(cwd).decodings[0].subset == "test2017"
    with pytest.raises(UserError, match=r"--subset test: generate-test1\.txt is of the set test1"):
        score_command.main([*words, "test"])


def test_a_second_score_keeps_what_the_record_has(tmp_path, capsys):
    (tmp_path / "gen.txt").write_text(GENERATED)
    (tmp_path / "ref.de").write_text("A bc!\nnothing here\nCC & D\n")
    plain, run = tmp_path / "plain.de", tmp_path / "run.json"
    words = f"{tmp_path}/gen.txt --reference {tmp_path}/ref.de --target-lang de"
    words += f" --tokenizer moses --out {run}"
    assert score_command.main([*words.split(), "--detokenized", str(plain)]) == 0
    assert plain.read_text() == "A bc!\n\nCC & D\n"  # detokenised, unescaped
    change(tmp_path, training=Training(updates=25))
    assert score_command.main([*words.split(), "--as", "other", "--subset", "valid"]) == 0
    record = json.loads(run.read_text())
    assert record["name"] == tmp_path.name and record["training"]["updates"] == 25
    sets = [(each["subset"], each["name"]) for each in record["decodings"]]
    assert sets == [("test", ""), ("valid", "other")]
    first = record["decodings"][0]
    assert (first["sentences_per_second"], first["tokens_per_second"]) == (2.0, 671.33)
    assert first["hypotheses"] == "gen.txt" and first["references"][0]["path"] == "ref.de"
    assert score_command.main([*words.split(), "--metrics", "chrf"]) == 0
    first = json.loads(run.read_text())["decodings"][0]
    assert [score["metric"] for score in first["scores"]] == ["chrf"]
