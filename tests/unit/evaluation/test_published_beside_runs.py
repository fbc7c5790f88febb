"""``dc-nmt results`` and the published numbers: a run's own, or none."""

from __future__ import annotations

import json
import shlex

import pytest
from records import REFERENCE, write_run, write_scored

from dc_nmt_plugin.laboratory.commands import results as results_command
from dc_nmt_plugin.runs.record import Score

ADAM = "--optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --label-smoothing 0.1"
WMT = f"{ADAM} --lr-scheduler cosine --max-tokens 4960 --max-update 160000"
CONTEXT = f"{ADAM} --lr-scheduler inverse_sqrt --max-tokens 32768 --max-update 100000"
BEAM_4 = {"beam": 4, "lenpen": 0.6, "length_penalty": "wu"}


@pytest.fixture
def runs(cwd):

    def make(task, model, training, search, paper="mteval-v13a", ways=("",), lines=REFERENCE):
        folder = cwd / "runs" / task
        run = folder / shlex.quote(model).strip("'").replace(" ", "")
        write_run(run, model.split()[0], f"{' '.join(model.split()[1:])} {training}")
        (folder / "ref.de").write_text("\n".join(REFERENCE) + "\n")
        scores = [
            Score(metric, value, "s", "raw", metric == paper)
            for metric, value in (("mteval-v13a", 100.0), ("multi-bleu", 26.25))
        ]
        for decoding in ways:
            name, _, more = decoding.partition(":")
            plain = f"hypotheses{name}.de"
            (run / plain).write_text("\n".join(lines) + "\n")
            settings = {**search, **dict([more.split("=")])} if more else search
            flags = " ".join(f"--{k.replace('_', '-')} {value}" for k, value in settings.items())
            write_scored(run, plain, "../ref.de", flags, name=name, tokenizer="moses",
                         scores=tuple(scores))  # fmt: skip
        return run

    return make


def rows(capsys, *words):
    assert results_command.main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["rows"]


def test_x3_metrics_are_not_mixed(runs, capsys):
    """A table by mteval-v13a compares published multi-bleu scores with multi-bleu of the run."""
    run = runs("wmt14_en_de", "transformer_ctxaware_unshared", CONTEXT, BEAM_4, paper="multi-bleu")
    (row,) = rows(capsys, run, "--metric", "mteval-v13a")
    assert row["score"]["value"] == pytest.approx(100)  # the made-up translation is the reference
    assert (row["published"]["score"], row["published"]["metric"]) == (28.26, "multi-bleu")
    assert row["published"]["to_published"] == pytest.approx(26.25 - 28.26)
    assert results_command.main([str(run), "--metric", "mteval-v13a"]) == 0
    assert "28.26 (multi-bleu)" in capsys.readouterr().out


def test_x4_two_masks_of_one_run_are_two_rows(runs, capsys):
    ways = ("", "mask1:mask_source_layers=1", "mask2:mask_source_layers=2")
    run = runs("wmt14_en_de", "transformer_mlmha", WMT, BEAM_4, ways=ways)
    published = {row["system"]["label"]: row["published"]["score"] for row in rows(capsys, run)}
    name = run.name
    assert published == {name: 29.08, f"{name}, mask1": None, f"{name}, mask2": None}
    scores = (Score("mteval-v13a", 100.0, "s", "raw", True),)
    write_scored(run, "hypotheses.de", "../ref.de", subset="valid", scores=scores)
    (row,) = rows(capsys, run, "--subset", "valid")
    assert row["published"]["score"] is None, "the papers print numbers of test sets"
