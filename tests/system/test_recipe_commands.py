"""``dc-nmt prepare``, ``train``, ``evaluate`` and ``run``: the programs that they would start."""

from __future__ import annotations

import pytest

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.recipes import plan

TASK = ("iwslt15_en_vi", "transformer_dc")


@pytest.fixture
def planned(cwd, monkeypatch, capsys):
    """Words of a command → what it prints with --dry-run, by lines; nothing is written."""
    monkeypatch.setattr(plan, "visible_gpus", lambda: 0)

    def call(*words):
        code = cli.main([*words, "--dry-run"])
        output, errors = capsys.readouterr()
        assert code == 0, errors
        assert not list(cwd.iterdir())
        return output.replace(" \\\n ", "").splitlines()

    return call


def of(program, lines):
    """The lines that start a program."""
    return [line for line in lines if line.startswith(program)]


def test_the_three_steps_of_a_task(planned):
    prepared = planned("prepare", TASK[0])
    assert any(
        line.startswith('dc-nmt recipe learn-pieces subword-nmt 21000 "$DATA/bpe/codes"')
        for line in prepared
    )

    (trained,) = of("fairseq-train", planned("train", *TASK, "--max-update", "9000"))
    assert '"$DATA/bin" --user-dir "$USER_DIR"' in trained
    assert "--arch transformer_dc_iwslt_ff512" in trained
    assert "--adam-betas '(0.9, 0.98)'" in trained and "--max-update 9000" in trained
    assert trained.endswith('--save-dir "$RUN/checkpoints"')

    evaluated = planned("evaluate", *TASK, "--as", "aux1", "--beam", "9")
    (translated,) = of("fairseq-generate", evaluated)
    assert "--beam 6 --lenpen 1.1" in translated and "--beam 9 2>&1 |" in translated
    (scored,) = of("dc-nmt score", evaluated)
    assert '--tokenized-reference "$DATA/raw/tokenised/test.vi"' in scored
    assert "--tokenizer moses" in scored and "--paper sacrebleu" in scored
    assert '"$RUN/generate-aux1/generate-test.txt"' in scored
    assert scored.endswith('--as aux1 --out "$RUN/run.json"')


def test_a_task_in_one_call(planned):
    flags = ["transformer_dc", "--warmup-updates", "300", "--lr", "1e-3", "--size", "iwslt"]
    (trained,) = of("fairseq-train", planned("run", "multi30k_en_de", *flags, "--fp16"))
    assert trained.endswith(
        "--seed 1 --encoder-embed-dim 256 --decoder-embed-dim 256 "
        "--encoder-ffn-embed-dim 1024 --decoder-ffn-embed-dim 1024 --warmup-updates 300 --lr 1e-3 "
        '--fp16 --distributed-world-size 1 --cpu --save-dir "$RUN/checkpoints"'
    )
    archs = ["transformer_dc", "transformer_standard", "transformer_dc"]  # one twice
    assert len(of("fairseq-train", planned("run", TASK[0], *archs))) == 2
