"""``dc-nmt results``: runs in one table, stored numbers, and the pages that show them."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from records import REFERENCE as LINES
from records import SCORES, change, write_run, write_scored

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.laboratory.commands import export as export_command
from dc_nmt_plugin.laboratory.commands import results as results_command
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS
from dc_nmt_plugin.laboratory.evaluation.rows import PublishedScore, ResultTable
from dc_nmt_plugin.laboratory.evaluation.systems import ComparedSystem, sides_of
from dc_nmt_plugin.laboratory.evaluation.table_figure import draw_results
from dc_nmt_plugin.laboratory.evaluation.table_text import format_results
from dc_nmt_plugin.laboratory.evaluation.texts import Sides, Texts
from dc_nmt_plugin.laboratory.finding import Run
from dc_nmt_plugin.laboratory.inference.packing import pack
from dc_nmt_plugin.laboratory.inference.trained_run import TrainedRun
from dc_nmt_plugin.laboratory.plot import new_figure
from dc_nmt_plugin.laboratory.table import MARKDOWN
from dc_nmt_plugin.runs.record import Data, Score, Segment, read_record
from dc_nmt_plugin.study.analysis.curves import read_curves
from dc_nmt_plugin.study.papers import published
from dc_nmt_plugin.text.lines import read_lines
from dc_nmt_plugin.text.segmentation import codes_of

EXAMPLES = Path(__file__).parents[3] / "examples"
REFERENCE = 4 * LINES  # fewer than ten sentences are not tested
OTHER = 4 * ["Ein Haus steht am Bach.", "Die Katze schläft.", "Wir gehen nach Hause."]


def finished(
    task, name, lines=REFERENCE, arch="transformer_dc", flags="--dropout 0.1", decoding=(), **values
):
    """A trained and scored run."""
    run = write_run(task / name, arch, flags, **values)
    (task / "ref.de").write_text("\n".join(REFERENCE) + "\n")
    return decoded(run, lines, **dict(decoding))


def decoded(run, lines=REFERENCE, **values):
    """Adds a translation to a run."""
    plain = f"hypotheses{values.get('name', '')}{values.get('subset', '')}.de"
    (run / plain).write_text("\n".join(lines) + "\n")
    scores = [scored(score.metric, lines) for score in SCORES]
    return write_scored(run, plain, "../ref.de", **{"scores": scores, **values})


def scored(metric, lines, **facts):
    """The score of detokenised lines."""
    value, signature = METRICS[metric].score(lines, REFERENCE, "de")
    return Score(metric, value, signature, "raw", **facts)


def export(*words):
    with contextlib.redirect_stdout(io.StringIO()):
        assert export_command.main(list(map(str, words))) == 0


@pytest.fixture
def task(cwd):
    """Two runs, the plain Transformer after the other in alphabetical order."""
    folder = cwd / "runs" / "multi30k_en_de"
    finished(folder, "a-dc", OTHER, parameters=1_500_000, tokens_per_second=800.0)
    finished(folder, "b-plain", arch="transformer_standard")
    return folder


def results(*words):
    assert results_command.main([str(word) for word in words]) == 0


def rows(capsys, *words):
    """The rows, with the facts of their parts side by side."""
    results(*words, "--json")
    parts = json.loads(capsys.readouterr().out)["rows"]
    return [
        {
            **row["system"], **row["test"], "score": row["score"]["value"],
            "deviation": row["score"]["deviation"], "published": row["published"],
        }
        for row in parts
    ]  # fmt: skip


def test_the_table_of_runs(task, capsys):
    plain, dual = rows(capsys, task)
    assert (plain["label"], plain["arch"], plain["difference"]) == (
        "b-plain", "transformer_standard", None,
    )  # fmt: skip
    assert dual["run"] == "runs/multi30k_en_de/a-dc" and dual["arch"] == "transformer_dc"
    assert plain["score"] == pytest.approx(100)
    assert dual["difference"] == pytest.approx(dual["score"] - 100)
    assert 0 < dual["against"]["p_value"] <= 1 and dual["against"]["freedom"] is None
    assert dual["against"]["interval"][0] < dual["difference"] < dual["against"]["interval"][1]
    results(task, "--out", task / "table.json")
    stored = ResultTable.read(task / "table.json")
    digests = [row.runs[0].hypotheses for row in stored.rows]
    assert digests == [sha256(task / run / "hypotheses.de") for run in ("b-plain", "a-dc")]
    assert stored.references == sha256(task / "ref.de")
    printed = capsys.readouterr().out
    assert "1,500,000" in printed and " 0.8 " in printed  # speed relative to the baseline's
    assert (
        "1.0 is 1,000 target tokens/s in training and 50 sentences/s in decoding; measured once"
        in (printed)
    )
    assert "published" not in printed  # nothing is, for this task
    assert "difference: to b-plain; 95% interval" in printed and "tok:13a" in printed


def test_the_baseline_is_plain_by_its_settings(task, capsys):
    """Not by its name; and a shorter training is no reason for stars."""
    plain = "transformer_standard"
    finished(task, "a-mixed", arch=plain, flags="--encoder-layers-of 'dual_context standard'")
    finished(task, "a-standard", arch=plain, decoding={"search": "--lenpen 1"})
    worse, greedy = ["Ein Haus.", *OTHER[1:]], {"search": "--beam 1"}
    finished(task, "short", worse, updates=60, flags="--fp16", decoding=greedy)
    first, *others = rows(capsys, task)
    assert first["label"] == "a-standard"
    (short,) = [row for row in others if row["label"] == "short"]
    differs = "updates 60 instead of 2,000; precision fp16 instead of fp32; --beam 1 instead of 5"
    assert short["differs"] == differs
    assert short["against"]["p_value"] < 0.05 and short["corrected_p"] is None
    results(task)
    assert "short: no stars, because more than the model" in capsys.readouterr().out
    results(task, "--baseline", "a-standard")
    assert "no stars" not in capsys.readouterr().out


def test_speeds_are_compared_on_one_device(task, capsys):
    finished(task, "c-old", OTHER)
    for name, device in (("a-dc", "1 x NVIDIA H200"), ("b-plain", "Intel Xeon"), ("c-old", None)):
        training = read_record(task / name).training
        change(task / name, training=replace(training, device=device))
    plain, dual, old = rows(capsys, task)
    assert dual["train_tokens_per_second"] is dual["decode_sentences_per_second"] is None
    assert plain["train_tokens_per_second"] == old["train_tokens_per_second"] == 1000
    (translated,) = read_record(task / "c-old").decodings
    change(task / "c-old", decodings=(replace(translated, device="1 x NVIDIA H200"),))
    _, _, old = rows(capsys, task)  # trained there, and translated elsewhere
    assert old["train_tokens_per_second"] == 1000 and old["decode_sentences_per_second"] is None


def test_a_speed_of_little_work_is_not_shown(task, capsys):
    few = decoded(task / "a-dc", OTHER, sentences=149)  # 50 sentences a second
    change(few, training=replace(read_record(few).training, seconds=2.9))
    _, dual = rows(capsys, task)
    assert dual["train_tokens_per_second"] is dual["decode_sentences_per_second"] is None


def test_columns_and_a_page_of_latex(task, capsys):
    for number in range(3):
        finished(task, f"transformer_dc_with_a_name_of_such_a_length_{number}", OTHER)
    results(task, "--latex")
    notes, table = capsys.readouterr().out.split(r"\begin{tabular}")
    assert all(line.startswith("% ") for line in notes.splitlines())
    header = table.splitlines()[2]
    assert [cell.split("\\")[0].strip() for cell in header.split("&")] == [
        "run", "BLEU", "difference", "95",
    ]  # fmt: skip
    assert "$-" in table and "^{**}$" in table
    results(task, "--columns", "decoding-speed,run", "--markdown")
    assert capsys.readouterr().out.startswith("| decoding speed | run |\n")
    results(task, "--columns", "run,score", "--json")
    assert json.loads(capsys.readouterr().out)[0] == {"run": "b-plain", "score": "100.00"}
    with pytest.raises(UserError, match=r"--columns: 'BLEU' is not one of run, score"):
        results(task, "--columns", "BLEU")


@pytest.mark.parametrize("form", ["--markdown", "--latex", ""])
def test_a_name_does_not_reach_the_terminal_as_it_is(task, form, capsys):
    change(task / "a-dc", name="\x1b]0;x\x07\nreport: \u202eall")
    flags = "--dropout 0.3 --seed 2"
    finished(task, "late", OTHER, flags=flags, updates=7)  # named in a note
    change(task / "late", name="late\n| 100 | \x1b[2J")
    results(task, *form.split())
    out = capsys.readouterr().out
    escaped = [r"\x1b]0;x\x07\nreport: \u202eall", r"late\n"]
    if form == "--latex":
        escaped = [name.replace("\\", r"\textbackslash{}") for name in escaped]
    assert all(name in out for name in escaped) and out.isprintable() is False
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
    assert cli.main(["results", str(task), "--baseline", "\x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_row_for_all_seeds_of_a_system(task, tmp_path, capsys):
    finished(task, "plain-s1", arch="transformer_standard", tokens_per_second=900.0)
    finished(task, "plain-s2", OTHER, arch="transformer_standard", tokens_per_second=700.0)
    finished(task, "dc-s1", OTHER)
    runs = [task / name for name in ("dc-s1", "plain-s2", "plain-s1")]
    plain, dual = rows(capsys, *runs, "--over-seeds", "--out", tmp_path / "kept.json")
    assert (plain["label"], plain["seeds"], plain["train_tokens_per_second"]) == ("plain", 2, 800)
    assert plain["score"] == pytest.approx((100 + dual["score"]) / 2, abs=1e-3)
    assert plain["deviation"] == pytest.approx((100 - dual["score"]) / 2**0.5, abs=1e-3)
    assert (dual["label"], dual["seeds"], dual["deviation"]) == ("dc", 1, None)
    assert dual["difference"] == pytest.approx(dual["score"] - 100, abs=1e-3)  # of seed 1 of both
    assert (plain["compared_seeds"], dual["compared_seeds"]) == (None, ["1"])
    results(*runs, "--over-seeds", "--baseline", "dc")
    printed = capsys.readouterr().out
    assert "plain, 2 seeds" in printed and " ± " in printed
    assert "\nplain: the difference is of seed 1\n" in printed
    finished(task, "late-s3", OTHER)
    results(*runs, task / "late-s3", "--over-seeds")
    printed = capsys.readouterr().out
    assert "dc: the difference is of seed 1\nlate: the difference is to all runs, as" in printed
    more = [finished(task, f"dc-s{seed}", OTHER) for seed in (2, 3)]
    results(*runs, *more, "--over-seeds")
    assert "\ndc: the difference is of seeds 1, 2\n" in capsys.readouterr().out
    assert ResultTable.read(tmp_path / "kept.json").rows[0].system.seeds == 2
    with pytest.raises(UserError, match="plain-s1"):
        results(*runs, "--over-seeds", "--baseline", "plain-s1")


def test_a_row_of_seeds_is_of_one_system(task, capsys):
    tokens = "--max-tokens 500 --update-freq 2"

    def run(seed, rate, flags=tokens, **values):
        flags = f"--dropout {rate} --seed {seed} {flags}"
        return finished(task, f"plain-s{seed}", arch="transformer_standard", flags=flags, **values)

    for seed, rate in ((1, 0.1), (2, 0.1), (3, 0.3)):
        run(seed, rate)
    with pytest.raises(UserError, match=r"plain would .* --dropout is 0.1 in plain-s1 and 0.3 in"):
        results(task, "--over-seeds")
    run(3, 0.1, "--max-tokens 1000 --amp")
    with pytest.raises(UserError, match="precision is fp32 in plain-s1 and amp in plain-s3"):
        results(task, "--over-seeds")
    part = {"dropout": 0.1, "seed": 3, "max-tokens": 1000, "amp": True}
    run(3, 0.1, "--max-tokens 1000", segments=(Segment(500, part),))
    with pytest.raises(UserError, match="precision is fp32 in plain-s1 and amp given until update"):
        results(task, "--over-seeds")
    run(3, 0.1, "--max-tokens 1000 --cuda-graphs")
    assert {row["label"]: row["seeds"] for row in rows(capsys, task, "--over-seeds")}["plain"] == 3
    for seed, beam in ((1, 5), (3, 4)):
        run(seed, 0.1, decoding={"search": f"--beam {beam}"})
    with pytest.raises(UserError, match="--beam is 5 in plain-s1 and 4 in plain-s3"):
        results(task, "--over-seeds")
    run(3, 0.1, updates=99)
    with pytest.raises(UserError, match="updates is 2000 in plain-s1 and 99 in plain-s3"):
        results(task, "--over-seeds")
    for seed in (1, 2, 3):  # each ends where it learns no more
        run(seed, 0.1, f"{tokens} --patience 5", updates=99 * seed)
    assert {row["label"]: row["seeds"] for row in rows(capsys, task, "--over-seeds")}["plain"] == 3
    run(3, 0.1, "--max-tokens 500 --update-freq 4 --patience 5")
    with pytest.raises(UserError, match="tokens of an update is 1000 in plain-s1 and 2000 in"):
        results(task, "--over-seeds")
    for seed, text in ((1, "a" * 64), (2, "a" * 64), (3, "b" * 64)):
        folder = run(seed, 0.1)
        change(folder, data=replace(read_record(folder).data, text=text))
    with pytest.raises(UserError, match="digest of the training text is aaa"):
        results(task, "--over-seeds")


def test_the_gap_to_a_paper_s_metric_is_of_all_seeds(task, capsys, monkeypatch):
    for seed, lines in ((1, OTHER), (2, REFERENCE)):
        finished(task, f"plain-s{seed}", lines, arch="transformer_standard")
    numbers = PublishedScore(
        score=50.0, metric="chrf", printed_in="Table 1", differs="dropout: 0.2"
    )
    monkeypatch.setattr(published, "published_score", lambda run, metric: numbers)
    by_label = {row["label"]: row for row in rows(capsys, task, "--over-seeds")}
    chrf = (100 + scored("chrf", OTHER).value) / 2
    assert by_label["plain"]["published"]["to_published"] == pytest.approx(chrf - 50)
    assert by_label["b-plain"]["published"]["to_published"] == pytest.approx(100 - 50)
    results(task)
    assert "b-plain differs from the published run: dropout: 0.2" in capsys.readouterr().out


ADAM = "--optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --label-smoothing 0.1"
BEAM_4 = "--beam 4 --lenpen 0.6 --length-penalty wu"


def test_a_published_score_is_compared_with_the_same_metric(cwd, capsys):
    """Also in a table by another metric."""
    flags = f"{ADAM} --lr-scheduler inverse_sqrt --max-tokens 32768 --max-update 100000"
    scores = (scored("mteval-v13a", REFERENCE), scored("multi-bleu", REFERENCE, paper=True))
    decoding = {"search": BEAM_4, "scores": scores, "tokenizer": "moses"}
    arch = "transformer_ctxaware_unshared"
    run = finished(cwd / "wmt14_en_de", "a", arch=arch, flags=flags, decoding=decoding)
    (row,) = rows(capsys, run, "--metric", "mteval-v13a")
    assert row["score"] == pytest.approx(100)  # the made-up translation is the reference
    assert (row["published"]["score"], row["published"]["metric"]) == (28.26, "multi-bleu")
    assert row["published"]["to_published"] == pytest.approx(100 - 28.26)
    results(run, "--metric", "mteval-v13a")
    assert "28.26 (multi-bleu)" in capsys.readouterr().out


def test_a_masked_layer_or_another_set_has_no_published_score(cwd, capsys):
    flags = f"{ADAM} --lr-scheduler cosine --max-tokens 4960 --max-update 160000"
    decoding = {"search": BEAM_4}
    run = finished(
        cwd / "wmt14_en_de", "a", arch="transformer_mlmha", flags=flags, decoding=decoding
    )
    decoded(run, name="mask1", search=f"{BEAM_4} --mask-source-layers 1")
    found = {row["label"]: row["published"]["score"] for row in rows(capsys, run)}
    assert found == {"a": 29.08, "a, mask1": None}
    decoded(run, subset="valid", search=BEAM_4)
    (row,) = rows(capsys, run, "--subset", "valid")
    assert row["published"]["score"] is None, "the papers print numbers of test sets"


def test_tokenised_text_is_compared_with_one_reference():
    """A truecased reference is another text: every difference to it would count as the system's."""
    raw = Sides(OTHER, REFERENCE, "")
    lower = Sides(OTHER, [line.lower() for line in REFERENCE], "")
    systems = [
        ComparedSystem(label, Texts(raw, tokenized, []), "de", None)
        for label, tokenized in (("one", raw), ("other", lower))
    ]
    assert set(sides_of(systems, METRICS["mteval-v13a"])) == {"one", "other"}
    with pytest.raises(
        UserError, match=r"multi-bleu .* one and other were tokenised or cased diff"
    ):
        sides_of(systems, METRICS["multi-bleu"])


def test_packed_runs_make_the_same_table_without_the_runs(task, capsys):
    """Of the output of fairseq-generate, and of plain text."""
    flags = "--adam-betas '(0.9, 1)' --seed 1"
    decoding = {"kind": "generated", "tokenizer": "moses", "search": "--beam 5"}
    decoding["scores"] = (Score("ter", 50.0, "t", "raw"),)  # others are scored again
    generated = finished(task, "c-dc-s1", flags=flags, decoding=decoding)
    change(generated, checkpoints=("checkpoints/checkpoint_last.pt",))
    pieces = 4 * ["Ein Ha@@ us steht am Bach .", "Die Katze schl&quot; .", "Wir gehen nach Hause ."]
    lines = "".join(f"H-{n}\t-0.1\t{text}\n" for n, text in enumerate(pieces))
    (generated / "hypotheses.de").write_text(lines)
    logged = [
        '| train_inner | {"ppl": "9.5", "num_updates": "30"}',
        '| train_inner | {"ppl": "8.5", "num_updates": "40"}',
        '| valid | {"valid_ppl": "7.5", "valid_num_updates": "40"}',
        '| train_inner | {"ppl": "8", "num_updates": "50"}',
    ]
    (generated / "curve.log").write_text("".join(f"{line}\n" for line in logged))
    home = Path("examples/multi30k_en_de/runs")
    of_all = (task, "--metric", "multi-bleu", "--baseline", "c-dc-s1", "--json")
    with pytest.raises(UserError, match="multi-bleu scores tokenised text"):
        results(*of_all)
    first = rows(capsys, task)
    for run in ("a-dc", "b-plain", "c-dc-s1"):
        export(task / run, "--no-model", "--run", home / run)
    tokenized = rows(capsys, generated, "--metric", "multi-bleu")
    for record in task.glob("*/run.json"):
        shutil.rmtree(record.parent)

    def without_place(table):
        return [{**row, "run": None} for row in table]

    again = rows(capsys, home)
    assert without_place(again) == without_place(first)
    assert {row["run"] for row in again} == {str(home / n) for n in ("a-dc", "b-plain", "c-dc-s1")}
    kept = home / generated.name
    assert without_place(rows(capsys, kept, "--metric", "multi-bleu")) == without_place(tokenized)
    record = read_record(kept)
    assert record.task == "multi30k_en_de" and record.settings["adam-betas"] == "(0.9, 1)"
    assert record.decodings[0].search == {"beam": 5} and record.written_in is None
    curves = read_curves(kept / "curve.log")
    assert curves == {"train:ppl": [(30, 9.5), (40, 8.5), (50, 8)], "valid:ppl": [(40, 7.5)]}
    written = "".join(f.read_text() for f in kept.rglob("*") if f.is_file())
    assert "/home" not in written and str(task) not in written and "_last.pt" not in written


def test_a_packed_model_has_its_segmentation(task, tmp_path):
    run = finished(task, "c", data=Data("en", "de", "../data/bin"))
    files = ("bin/dict.en.txt", "bin/dict.de.txt", "bpe/codes.en", "bpe/codes.de")
    for name in (*files, "bpe/train.en"):
        (task / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (task / "data" / name).write_text("a 1\n")
    state = {"cfg": {"model": {}, "task": {"data": "x"}}, "model": {"w": torch.ones(2, 3)}}
    torch.save({**state, "extra_state": {}, "optimizer_history": []}, run / "model.pt")
    decoded(run, checkpoint="model.pt")
    kept = tmp_path / "kept"
    pack(run, kept, TrainedRun("run", run, run / "model.pt", task / "data/bin", {}))
    there = {path.relative_to(kept / "data").as_posix() for path in kept.glob("data/*/*")}
    assert there == set(files)
    assert codes_of(kept / "data/bin", "en") == kept / "data/bpe/codes.en"
    assert read_record(kept).data.folder == "data/bin"


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_no_pack_replaces_something_else(task, tmp_path, monkeypatch):
    other, to = finished(task.parent / "other", "a-dc"), tmp_path / "kept"
    write_scored(other, "hypotheses.de", "../ref.de", name="../../../stranger")
    with monkeypatch.context() as patched, pytest.raises(UserError, match="No space left"):
        patched.setattr("dc_nmt_plugin.laboratory.inference.packing.update_record", full_disk)
        export(other, "--no-model", "--run", to)
    assert not to.exists()  # the same command works
    for place in (other, task):
        with pytest.raises(UserError, match="has something else"):
            export(other, "--no-model", "--run", place)
    export(other, "--no-model", "--run", to)
    export(other, "--no-model", "--run", to)
    assert not list(tmp_path.rglob("stranger.de")) and list(to.glob("hypotheses-*stranger.de"))
    change(other, settings={"arch": "transformer_dc", "lr": 1})
    with pytest.raises(UserError, match="kept: has something else"):
        export(other, "--no-model", "--run", to)


def test_single_runs_unfinished_runs_and_runs_of_one_name(task, capsys):
    (alone,) = rows(capsys, task / "a-dc")
    assert alone["label"] == "a-dc" and alone["against"] is None and alone["score"] < 100
    write_run(task / "c-running")
    results(task)
    assert "not finished, left out: " in capsys.readouterr().err
    with pytest.raises(UserError, match="c-running: has no scores yet"):
        results(task / "a-dc", task / "c-running")
    (task / "d-failed").mkdir()
    later = [task / "c-running", task / "d-failed", task / "e-waits"]
    assert len(rows(capsys, task / "a-dc", *later, "--finished")) == 1
    with pytest.raises(UserError, match="--finished: no run is finished yet"):
        results(*later, "--finished")
    again = finished(task.parent / "again", "a-dc")
    labels = [row["label"] for row in rows(capsys, task / "a-dc", again)]
    assert labels == ["multi30k_en_de/a-dc", "again/a-dc"]
    (task / "a-dc/hypotheses.de").write_text("\n".join(REFERENCE) + "\n")  # not scored again
    with pytest.raises(UserError, match=r"a-dc: .* have 100\.00 mteval-v13a, and .* in its record"):
        results(task / "a-dc")


def test_the_figure_has_runs_means_intervals_and_published_numbers(task, monkeypatch, capsys):
    finished(task, "plain-s1", arch="transformer_standard", tokens_per_second=900.0)
    finished(task, "plain-s2", OTHER, arch="transformer_standard")
    finished(task, "_u$b{$-s1", OTHER)
    number = PublishedScore(score=50.0, metric="mteval-v13a", printed_in="Table 1")
    monkeypatch.setattr(published, "published_score", lambda run, metric: number)
    runs = [task / name for name in ("plain-s1", "plain-s2", "_u$b{$-s1")]
    results(*runs, "--over-seeds", "--plot", task / "seeds.svg", "--out", task / "table.json")
    assert (task / "seeds.svg").read_text().startswith("<?xml")
    capsys.readouterr()
    table = ResultTable.read(task / "table.json")
    figure = new_figure()
    draw_results(figure, [table])
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["plain", "_u$b{$"]
    other = scored("mteval-v13a", OTHER).value
    dots = [marks.get_offsets()[:, 0].tolist() for marks in axes.collections]
    expected = [[100, other], [50], [other], [50]]  # runs and published, of each system
    assert [pytest.approx(scores) for scores in expected] == dots
    grey, mean, interval = (list(line.get_xdata()) for line in axes.lines)
    assert grey == mean == pytest.approx([(100 + other) / 2] * 2)
    assert interval == pytest.approx([grey[0] + end for end in table.rows[1].test.against.interval])
    results(*runs, "--plot", task / "alone")  # each run has a row
    assert (task / "alone.png").is_file() and (task / "alone.svg").is_file()


# -- stored numbers and pages ------------------------------------------------------------------


def test_numbers_are_stored_without_text(task, tmp_path, capsys):
    home = tmp_path / "examples" / "multi30k_en_de"
    results(task, "--out", home / "results.json", "--markdown")
    printed = capsys.readouterr().out
    stored = (home / "results.json").read_text()
    assert "Katze" not in stored and str(tmp_path) not in stored
    assert printed.startswith("| run | BLEU | difference | 95% interval | p | lower-cased |")
    assert "| `transformer_standard` | 1,000,000 | 2,000 | 1.0 | 1.0 |" in printed
    results(home, "--markdown")
    again = capsys.readouterr()
    assert again.out == printed and "results.json is printed as it was stored" in again.err
    results(home / "results.json", "--markdown")
    assert capsys.readouterr().out == printed
    for place in (home, home / "results.json"):  # without the runs that another table is of
        with pytest.raises(UserError, match=r"is a stored table; for --over-seeds name the fol"):
            results(place, "--over-seeds")
    shutil.copy(home / "results.json", task)  # a new run beside it must not be missing
    finished(task, "c-new")
    assert "c-new" in {row["label"] for row in rows(capsys, task)}


def test_the_pages_of_results_show_the_stored_numbers():
    """``dc-nmt results examples/TASK --markdown`` prints what stands there."""
    pages = [page.read_text("utf-8") for page in (EXAMPLES.parent / "docs/results").glob("*.md")]
    for path in EXAMPLES.glob("**/results.json"):
        printed = format_results(ResultTable.read(path), MARKDOWN)
        assert any(printed in page for page in pages), path


def test_the_table_of_the_examples_kept_runs_is_of_their_scores():
    kept_runs = {path.parents[1] for path in EXAMPLES.glob("*/runs/**/run.json")}
    kept_runs = {home for home in kept_runs if home.name != "claims"}  # compared in claims.json
    assert kept_runs
    for home in kept_runs:
        table = ResultTable.read((home.parent if home.name == "runs" else home) / "results.json")
        in_table = 0
        for row in table.rows:
            # the control is compared with runs of the large table
            records = [*home.glob("*/run.json")]
            records += home.parent.glob("*/run.json") if home.name == "control" else []
            below = {path.parent: read_record(path) for path in records}
            runs = [folder for folder, record in below.items() if record.system == row.system.label]
            in_table += len(runs)
            assert len(runs) == row.system.seeds
            decodings = [Run.read(run).decoding for run in runs]
            scores = [decoding.score(table.metric).value for decoding in decodings]
            label = row.system.label
            digests = {decoding.hypotheses_sha256 for decoding in decodings}
            assert {origin.hypotheses for origin in row.runs} == digests, label
            stored = sorted(origin.score for origin in row.runs)
            assert stored == pytest.approx(sorted(scores), abs=1e-4), label
            assert row.score.value == pytest.approx(statistics.fmean(scores), abs=1e-4), label
            lines = {len(read_lines(next(run.glob("hypotheses.??")))) for run in runs}
            assert lines == {table.sentences}
        of_others = 6 if home.name == "control" else 0
        assert in_table == len(list(home.glob("*/run.json"))) + of_others


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            "runs/multi30k_en_de runs/other",
            "results on different tests: b-plain and x: their references differ in line 1$",
        ),
        ("stored", "results.json: .*missing required field"),
    ],
)
def test_bad_input(task, flags, message):
    Path("stored").mkdir()
    Path("stored/results.json").write_text('{"rows": [{}]}')
    finished(task.parent / "other", "x")
    (task.parent / "other" / "ref.de").write_text(4 * "Ganz anders.\nJa.\nNein.\n")
    with pytest.raises(UserError, match=message):
        results(*flags.split())
