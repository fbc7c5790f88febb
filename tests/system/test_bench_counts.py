"""What one batch costs in launches and waits, beside fairseq's own Transformer.

Counts do not depend on the machine: an operation more in every layer shows here at once.
"""

import json
import os
import pkgutil
import shlex
import signal

import pytest
from helpers import THOROUGH
from records import write_run

from dc_nmt_plugin.bench import STOCK, USUAL
from dc_nmt_plugin.bench.comparison import STEPS
from dc_nmt_plugin.bench.counting import OperationCounter, count
from dc_nmt_plugin.bench.data import corpus_batches, random_batches
from dc_nmt_plugin.bench.subjects import Setting
from dc_nmt_plugin.commands.bench import main
from dc_nmt_plugin.errors import UserError

SINGLE_DECODER = [
    "transformer_standard_micro",
    "transformer_dc_micro",
    "transformer_dc_full_micro",
    "transformer_ctxaware_micro",
    "transformer_ctxaware_full_micro",
    "transformer_cross_agg_micro",
    "transformer_mlmha_micro --source-layers 2",
    "transformer_mlmha_m_00_micro --source-layers 2",
    "transformer_mlmha_iter_c_agg_micro --source-layers 2",
]


@pytest.fixture(scope="module")
def batch():
    task, samples = random_batches(vocabulary=100, sentences=6, length=8, batches=1)
    return task, samples[0]


@pytest.fixture(scope="module")
def stock(batch):
    return {mode: counted(STOCK, mode, batch) for mode in USUAL}


def counted(name: str, mode: str, batch) -> OperationCounter:
    task, sample = batch
    setting = Setting(device="cpu", precision="float32", beam=3, length=8)
    return count(STEPS[mode](name, SINGLE_DECODER[0], task, setting), sample)


def test_8_bit_layers_decode(batch):
    task, sample = batch
    setting = Setting(device="cpu", precision="float32", beam=3, length=8, int8=True)
    step = STEPS["decode"](SINGLE_DECODER[0], SINGLE_DECODER[0], task, setting)
    assert count(step, sample).operations["quantized::linear_dynamic"] > 0


@pytest.mark.parametrize("mode", USUAL)
@pytest.mark.parametrize("name", SINGLE_DECODER)
def test_no_more_operations_and_waits_than_stock(name, mode, batch, stock):
    ours = counted(name, mode, batch)
    assert ours.operations.total() <= stock[mode].operations.total(), ours.operations
    assert ours.synchronisations.total() <= stock[mode].synchronisations.total(), (
        ours.synchronisations
    )


@pytest.mark.parametrize(
    ("flag", "modes", "first", "last"),
    [
        ("--count", list(USUAL), "operations", "synchronisations"),
        ("--profile", ["train"], "whole, ms", "whole / products"),
        pytest.param("--profile", ["decode"], "whole, ms", "whole / products", marks=THOROUGH),
    ],
)
def test_the_command_prints_a_table_a_mode(flag, modes, first, last, capsys):
    words = f"transformer_standard_micro --max-tokens 40 --length 6 --vocabulary 50 {flag}"
    assert main([*words.split(), "--mode", *modes]) == 0
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert [table.split()[0] for table in tables] == modes
    for table in tables:
        lines = table.splitlines()
        assert lines[0].split()[1:] == [STOCK, "transformer_standard_micro"]
        assert lines[2].startswith(first) and lines[-1].startswith(last)


@pytest.mark.parametrize(
    ("flags", "stopped_in", "what"),
    [
        ("--scaling length --values 3 6", "scaling.time_of", "values"),
        ("--count", "apart.apart", "models"),
    ],
)
def test_what_is_finished_is_printed_after_a_signal(flags, stopped_in, what, monkeypatch, capsys):
    path = f"dc_nmt_plugin.bench.{stopped_in}"
    real, calls = pkgutil.resolve_name(path), []

    def stopped(*args, **settings):
        calls.append(args)
        if len(calls) == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*args, **settings)

    monkeypatch.setattr(path, stopped)
    words = f"transformer_standard_micro --rounds 1 --max-tokens 40 --vocabulary 50 {flags}"
    assert main([*words.split(), "--no-memory", "--mode", "train", "decode"]) == 143
    output, errors = capsys.readouterr()
    assert f"stopped; finished {what}: 2 of 2 of train and 1 of 2 of decode." in errors
    assert output.count("\ndecode") == 1


def test_a_recurrent_model_is_compared_with_pytorch_s_cells(capsys):
    sizes = "--embed-dim 8 --hidden-dim 8 --max-tokens 24 --length 6 --vocabulary 50"
    words = f"gru_selfattn_residual_mean --against pytorch --rounds 1 --no-memory --json {sizes}"
    assert main(shlex.split(words)) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert {(row["mode"], row["name"].split()[0]) for row in rows} == {
        (mode, name) for mode in USUAL for name in ("pytorch", "control", words.split()[0])
    }


@pytest.mark.parametrize("arch", ["transformer_dc_micro", "gru_selfattn_residual_memory_tiny"])
def test_others_have_no_baseline_of_pytorch_s_cells(arch):
    with pytest.raises(UserError) as error:
        main([arch, "--against", "pytorch", "--max-tokens", "20", "--vocabulary", "50"])
    assert "--against pytorch" in str(error.value) and arch in str(error.value)


def test_batches_of_a_folder_of_fairseq_preprocess(corpus, capsys):
    _, samples = corpus_batches(str(corpus), subset="train", max_tokens=60, batches=3)
    assert len(samples) == 3
    for sample in samples:
        assert 0 < sample["net_input"]["src_tokens"].numel() <= 60
    task, few = corpus_batches(str(corpus), subset="valid", max_tokens=60, batches=1000)
    assert sum(sample["nsentences"] for sample in few) == len(task.dataset("valid"))
    arch = SINGLE_DECODER[0]
    assert main([arch, "--data", str(corpus), "--max-tokens", "60", "--count"]) == 0
    assert "stock" in capsys.readouterr().out


def test_the_model_of_a_run_has_the_run_s_size(tmp_path, capsys):
    run = tmp_path / "my runs" / "dc-s1"
    size = "--encoder-layers 2 --decoder-layers 1 --encoder-embed-dim 8 --decoder-embed-dim 8 "
    size += "--encoder-ffn-embed-dim 16 --decoder-ffn-embed-dim 16 --encoder-attention-heads 2 "
    size += "--decoder-attention-heads 2"
    flags = f"--lr 1e-3 {size} --max-tokens 9"
    write_run(run, "transformer_dc", flags)
    words = ["--mode", "train", "--max-tokens", "40", "--length", "6", "--vocabulary", "50"]
    assert main([str(run), *words, "--count", "--json"]) == 0
    stock, ours = json.loads(capsys.readouterr().out)
    assert main([f"transformer_dc {size}", *words, "--count", "--json"]) == 0
    counted = [{**row, "name": ""} for row in json.loads(capsys.readouterr().out)]
    assert counted == [{**row, "name": ""} for row in (stock, ours)]
    assert ours["name"] == shlex.quote(str(run))
    write_run(run, "transformer", flags)
    with pytest.raises(UserError, match="dc-s1: is of fairseq's own transformer"):
        main([str(run), *words])
    with pytest.raises(UserError, match=r"is no run's folder: there is no run\.json"):
        main([str(tmp_path), *words])


def test_a_folder_without_data_is_named(tmp_path):
    with pytest.raises(UserError, match=f"--data {tmp_path}"):
        corpus_batches(str(tmp_path), subset="train", max_tokens=60, batches=3)
