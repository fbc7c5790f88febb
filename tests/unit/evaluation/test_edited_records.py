"""Tables of records that were edited, of runs that were copied, and of runs that are no match."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from records import REFERENCE as LINES
from records import change, write_run, write_scored

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import compare as compare_command
from dc_nmt_plugin.laboratory.commands import results as results_command
from dc_nmt_plugin.laboratory.evaluation.evidence import SAME_ERRORS
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS
from dc_nmt_plugin.laboratory.evaluation.texts import lines_digest
from dc_nmt_plugin.runs.record import Score, Segment, read_record

TOY_RUN = Path(__file__).parents[3] / "examples/toy_en_de/models/residual-s1"
REFERENCE = [f"{line} {number}" for number in range(10) for line in LINES]
WRONG = [line.replace("Haus", "Hof") if number % 2 else f"Nein, {line}"
         for number, line in enumerate(REFERENCE)]  # fmt: skip
RECORDED = ("mteval-v13a", "mteval-v13a-lc", "chrf")


def finished(folder, lines, flags="--dropout 0.1 --lr 0.5", losses=(), **facts):
    """A scored run of the plain Transformer, with a learning curve where losses are given."""
    run = write_run(folder, "transformer_standard", flags, log="curve.log", **facts)
    (run / "ref.de").write_text("".join(f"{line}\n" for line in REFERENCE))
    (run / "hypotheses.de").write_text("".join(f"{line}\n" for line in lines))
    scores = [METRICS[name].score(lines, REFERENCE, "de") for name in RECORDED]
    pairs = zip(RECORDED, scores, strict=True)
    recorded = [Score(name, value, signature, "raw") for name, (value, signature) in pairs]
    if losses:
        values = [{"loss": str(loss), "num_updates": 10 * n} for n, loss in enumerate(losses)]
        curve = [f"| train_inner | {json.dumps(line)}\n" for line in values]
        (run / "curve.log").write_text("".join(curve))
    return write_scored(run, "hypotheses.de", "ref.de", scores=recorded)


def results(capsys, *words):
    """The printed table, and the rows of its JSON."""
    words = list(map(str, words))
    assert results_command.main(words) == 0
    printed = capsys.readouterr().out
    assert results_command.main([*words, "--json"]) == 0
    return printed, json.loads(capsys.readouterr().out)["rows"]


@pytest.mark.parametrize("metric", RECORDED)
def test_every_edited_score_is_refused(cwd, capsys, metric):
    run = finished(cwd / "a", WRONG)
    printed, (row,) = results(capsys, run)
    assert row["score"]["further"]["chrf"] == read_record(run).decodings[0].scores[2].value
    assert "\nas recorded: updates, architectures, speeds, parameters" in printed
    (decoding,) = read_record(run).decodings
    edited = [replace(s, value=s.value + (s.metric == metric)) for s in decoding.scores]
    change(run, decodings=(replace(decoding, scores=tuple(edited)),))
    with pytest.raises(UserError, match=rf"a: its hypotheses have .* {metric}, and .* score them"):
        results(capsys, run)
    with pytest.raises(UserError, match=rf"a: its hypotheses have .* {metric}, and .* score them"):
        compare_command.main([str(run), str(run / "hypotheses.de"), "--metric", metric])


def test_other_hypotheses_than_the_scored_ones_are_refused(cwd, capsys):
    """Scores that fit the other hypotheses do not help."""
    base, run = finished(cwd / "base", WRONG[1:] + WRONG[:1]), finished(cwd / "a", REFERENCE)
    commands = (
        ["results", base, run],
        ["compare", base, run],
        ["export", run, "--no-model", "--run", cwd / "packed"],
    )
    (decoding,) = read_record(run).decodings
    for scored, status in ((WRONG, 1), (REFERENCE, 0)):
        change(run, decodings=(replace(decoding, hypotheses_sha256=lines_digest(scored)),))
        for command in commands:
            assert cli.main(list(map(str, command))) == status
            error = "a/run.json: its hypotheses hypotheses.de are another text than the one that"
            assert (error in capsys.readouterr().err) is bool(status)
            assert not status or not (cwd / "packed").exists()


def test_two_edited_seeds_do_not_cancel_out(cwd, capsys):
    for seed, change_of_score in ((1, 1.0), (2, -1.0)):
        run = finished(cwd / f"a-s{seed}", WRONG[seed:] + WRONG[:seed])
        (decoding,) = read_record(run).decodings
        edited = [replace(score, value=score.value + change_of_score) for score in decoding.scores]
        change(run, decodings=(replace(decoding, scores=tuple(edited)),))
    with pytest.raises(UserError, match="a-s1: its hypotheses have"):
        results(capsys, cwd, "--over-seeds")


def test_parameters_are_counted_in_the_checkpoint(cwd, capsys):
    run = finished(cwd / "a", WRONG, parameters=580_392)
    change(run, architecture="gru_selfattn_residual")
    shutil.copytree(TOY_RUN / "average", run / "average")
    printed, (row,) = results(capsys, run)
    assert row["system"]["parameters"] == 580_392 and row["system"]["parameters_counted"]
    assert "as recorded: updates, architectures, speeds\n" in printed
    change(run, training=replace(read_record(run).training, parameters=1))
    with pytest.raises(UserError, match=r"checkpoint.pt: has 580,392 parameters, and 1 are in"):
        results(capsys, run)
    (run / "average/checkpoint.pt").write_text("half")
    assert results(capsys, run)[1][0]["system"]["parameters_counted"] is False


FALLING = (9.0, 8.5, 8.2, 8.1)


def test_one_run_is_not_two_seeds(cwd, capsys):
    """Equal curves are one run, and so are equal errors, unless they are one sentence."""
    finished(cwd / "a-s1", WRONG, losses=FALLING)
    finished(cwd / "a-s2", WRONG[1:] + WRONG[:1], losses=FALLING)
    with pytest.raises(UserError, match="seeds 1 and 2 of a have the same learning curve, so"):
        results(capsys, cwd, "--over-seeds")
    results(capsys, cwd)  # a table of two runs says nothing of their seeds
    finished(cwd / "a-s2", WRONG, losses=(9.0, 8.5, 8.2, 8.0))  # a copy with an edited curve
    assert len(set(WRONG)) >= SAME_ERRORS
    with pytest.raises(UserError, match="seeds 1 and 2 of a have the same translation, so they"):
        results(capsys, cwd, "--over-seeds")
    for lines in (REFERENCE, len(REFERENCE) * ["Ein Haus steht."]):
        for seed in (1, 2):
            finished(cwd / f"a-s{seed}", lines)
        assert results(capsys, cwd, "--over-seeds")[1][0]["system"]["seeds"] == 2


def test_settings_that_differ_are_named_beside_a_difference(cwd, capsys):
    base = finished(cwd / "base", REFERENCE)
    other = finished(cwd / "other", WRONG, "--dropout 0.3 --lr 0.50 --label-smoothing 0.1")
    short = finished(cwd / "short", WRONG, updates=60)
    settings = "--dropout 0.3 instead of 0.1; --label-smoothing 0.1 instead of not given"
    printed, (_, row, short_row) = results(capsys, base, other, short)
    note = f"other: not only the model differs from the baseline: {settings}"
    assert row["test"]["settings"] == settings and f"\n{note}\n" in printed
    assert row["test"]["corrected_p"] < 0.05 and short_row["test"]["corrected_p"] is None
    for words in (["results", "--baseline", "base"], ["compare"]):
        assert cli.main([*words, *map(str, (base, other, short))]) == 0
        printed = capsys.readouterr().out
        assert note in printed and "no stars" not in printed
        assert "short: not only the model differs from the baseline: updates 60 inst" in printed


def test_how_a_run_was_translated_is_named_beside_a_difference(cwd, capsys):
    base, run = finished(cwd / "base", WRONG, "--amp"), finished(cwd / "a", REFERENCE, "")
    for folder in (base, run):
        (decoding,) = read_record(folder).decodings
        beam = replace(decoding, search={"beam": 5}, averaged=5)
        change(folder, decodings=(beam, replace(beam, name="wide", search={"beam": 50})))
    (beam, wide) = read_record(run).decodings
    change(
        run,
        decodings=(replace(beam, averaged=0, search={"no-repeat-ngram-size": 3}), wide),
        segments=(Segment(10, {"arch": "transformer_standard", "amp": True}),),
    )
    precision = "precision amp given until update 10, then not given instead of amp"
    for name, differences in {
        "a": f"{precision}; --no-repeat-ngram-size 3 instead of 0; averaged checkpoints 0 inst",
        "a:wide": f"{precision}; --beam 50 instead of 5",
    }.items():
        assert compare_command.main([str(base), str(cwd / name), "--json"]) == 0
        (note,) = json.loads(capsys.readouterr().out)["notes"][-1:]
        assert f"not only the model differs from the baseline: {differences}" in note


def test_another_seed_of_the_baseline_has_no_stars(cwd, capsys):
    base, again = finished(cwd / "a-s1", REFERENCE), finished(cwd / "a-s2", WRONG)
    note = "a-s2: no stars, because this is another seed of the baseline's system"
    for words in ((), ("--baseline", "a-s1")):
        printed, (_, row) = results(capsys, base, again, *words)
        assert row["test"]["other_seed"] and row["test"]["corrected_p"] is None
        assert row["test"]["against"]["p_value"] < 0.05 and f"\n{note}\n" in printed
    assert compare_command.main([str(base), str(again), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert note in report["notes"] and report["comparisons"][1]["corrected_p"] is None
    change(again, settings={"dropout": 0.3})  # another system
    assert results(capsys, base, again)[1][1]["test"]["corrected_p"] < 0.05


def test_a_model_that_repeats_one_sentence_is_named(cwd, capsys):
    base = finished(cwd / "base", WRONG)
    broken = finished(cwd / "broken", ["Ja.", *["Ein Haus steht am Fluss."] * 29])
    note = "broken: 29 hypotheses are one and the same sentence"
    printed, (first, row) = results(capsys, base, broken)
    assert (first["score"]["repeated"], row["score"]["repeated"]) == (0, 29)
    assert f"\n{note}\n" in printed
    assert cli.main(["compare", str(base), str(broken)]) == 0
    assert note in capsys.readouterr().out
    words = [str(broken / "hypotheses.de"), "--reference", str(broken / "ref.de")]
    assert cli.main(["score", *words, "--target-lang", "de"]) == 0
    assert "hypotheses.de: 29 hypotheses are one and the same" in capsys.readouterr().err
