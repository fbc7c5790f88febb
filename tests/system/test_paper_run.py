"""``dc-nmt paper run`` from text to table with stand-ins for fairseq, also killed in the middle."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time

import pytest
from stand_ins import executable, stand_ins  # noqa: F401

from dc_nmt_plugin import cli
from dc_nmt_plugin.recipes import launch, preparation

ROWS = ["thesis, Table 4.6b", "--rows", "Baseline; MS-1"]
RUN = [*ROWS, "--max-update", "40"]
RUNS = "runs/iwslt15_en_vi"
KILLED = f"{RUNS}/transformer_ms_aux_iwslt-s1"
REFERENCE = "tiny words of sentence {} are one two three four"
PROGRAMS = {
    # a checkpoint of half a run; the other half comes at the end
    "fairseq-train": r"""
        while [ "$1" != --save-dir ]; do shift; done
        mkdir -p "$2"; echo half >>"$2/checkpoint_last.pt"
        case $2 in *ms_aux*) [ ! -e "$STATE/hang" ] || { touch "$STATE/hangs"; sleep 100; } ;; esac
        echo whole >>"$2/checkpoint_last.pt"
        echo "x | INFO | fairseq_cli.train | num. shared model params: 1,000"
        printf 'x | INFO | train_inner | {"num_updates": "%s", "loss": "2"' 40
        echo ', "wps": "9", "ups": "1", "wall": "8"}' """,
    "dc-nmt": r"""
        command=$1
        for word in "$@"; do
          [ ! -f "$word" ] || input=$word
          [ "${last-}" != --out ] || output=$word
          last=$word
        done
        case $command in
          average) tail -n 1 "$input" >"$output" ;;
          score) exec "$PYTHON" -m dc_nmt_plugin "$@" ;;
        esac""",
    # right: every second sentence of MS-1, every third of the baseline; none of an unfinished run
    "fairseq-generate": r"""
        while [ "$1" != --path ]; do shift; done
        n=3; case $2 in *ms_aux*) n=2 ;; esac; grep -q whole "$2" || n=100
        while [ "$1" != --results-path ]; do shift; done
        for i in {0..11}; do
          right="tiny words of sentence $i are one two three four" text=$right
          [ $((i % n)) = 0 ] || text="tiny words of sentence none"
          printf 'S-%d\tx\nT-%d\t%s\n' $i $i "$right"
          printf 'H-%d\t-1\t%s\nD-%d\t-1\t%s\n' $i "$text" $i "$text"
        done >"$2/generate-test.txt" """,
}


def twelve_lines(recipe, sources, work, to, sample, any_counts, say):
    for folder in (to, to / "tokenised"):
        folder.mkdir(exist_ok=True)
        for split in ("train", "valid", "test"):
            for language in recipe.pair:
                lines = [REFERENCE.format(n) + "\n" for n in range(12)]
                (folder / f"{split}.{language}").write_text("".join(lines))


@pytest.fixture
def small(stand_ins, monkeypatch):  # noqa: F811
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.setattr(launch, "visible_gpus", lambda: 0)
    monkeypatch.setattr(preparation, "make_text", twelve_lines)
    for name, body in PROGRAMS.items():
        executable(stand_ins.folder / "programs" / name, body)
    return stand_ins


def run_and_kill(small):
    """Start the run in a process group of its own, and kill all of it in the second training."""

    def child():
        os.setsid()
        cli.main(["paper", "run", *RUN])

    small.make("hang")
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    deadline = time.monotonic() + 300
    while not (small.state / "hangs").exists():
        assert process.is_alive() and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.join()
    (small.state / "hang").unlink()


def finish(small, folder, monkeypatch):
    """What the whole run prints, and its table's numbers."""
    (small.folder / folder).mkdir(exist_ok=True)
    monkeypatch.chdir(small.folder / folder)
    printed = small.run("paper", "run", *RUN).good().output
    return printed, json.loads(small.run("paper", "table", *ROWS, "--json").good().output)


def test_killed_in_the_middle_the_same_table_comes_out(small, monkeypatch):
    printed, table = finish(small, "whole", monkeypatch)
    assert "[5/5] dc-nmt evaluate iwslt15_en_vi" in printed and "thesis, Table 4.6b" in printed
    baseline, ours = table
    assert (baseline["row"], ours["row"]) == ("Baseline", "MS-1")
    assert (baseline["published"], ours["published"]) == ("30.58", "31.32")
    assert ours["difference"] == pytest.approx(ours["ours"][0] - baseline["ours"][0])
    assert ours["difference"] > 1 and 0 < ours["tested"]["p_value"] < 1

    (small.folder / "broken").mkdir()
    monkeypatch.chdir(small.folder / "broken")
    run_and_kill(small)
    checkpoint = small.folder / "broken" / KILLED / "checkpoints/checkpoint_last.pt"
    assert checkpoint.read_text() == "half\n"
    printed, again = finish(small, "broken", monkeypatch)
    assert again == table
    assert checkpoint.read_text() == "half\nhalf\nwhole\n"  # went on from there
    assert "text of iwslt15_en_vi: done before" in printed
    assert "transformer_standard_iwslt: train 40 updates: done before" in printed
    assert "transformer_ms_aux_iwslt: train 40 updates, from the last checkpoint on" in printed

    third, _ = finish(small, "broken", monkeypatch)
    assert third.count("done before") == 3 + 2 * 4

    # seeds that only one of them has are not compared
    monkeypatch.chdir(small.folder / "whole")
    (small.folder / "whole" / KILLED).rename(KILLED.replace("-s1", "-s2"))
    two = small.run("paper", "table", *ROWS, "--seeds", "1,2", "--json").good().output
    alone = json.loads(two)[1]
    assert alone["mean"] == ours["mean"] and alone["difference"] is alone["tested"] is None
