"""The shell code of the recipes: what is done is not repeated, what was interrupted continues.

The real scripts run here with stand-ins for the programs they start, so that every path is
walked in seconds; the stand-ins note how they were called.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAMS = {
    "dc-nmt": r"""
        command=$1; shift
        value() { while [ "$1" != "$flag" ]; do shift; done; echo "$2"; }
        case $command in
          arch-flags)
            case $1 in
              plain | dual) echo "--arch $1 --task task_of_$1 --criterion loss_of_$1" ;;
              *) echo "dc-nmt: '$1' is not one of plain, dual" >&2; exit 1 ;;
            esac ;;
          corpus)
            flag=--out; out=$(value "$@"); mkdir -p "$out"
            for split in train valid test; do
              for lang in en de; do echo "$split $lang" >"$out/$split.$lang"; done
            done ;;
          split-text)
            mkdir -p "$2"; out=$2; shift 2; cp "$@" "$out" ;;
          check-text) [ ! -e "$STATE/bad-text" ] || { echo "line 3: bad" >&2; exit 1; } ;;
          progress) flag=--log; cat >>"$(value "$@")" ;;
          average) flag=--output; echo mean >"$(value "$@")" ;;
          score) flag=--json; echo '{}' >"$(value "$@")" ;;
          report) echo "THE TABLE $*" ;;
        esac""",
    "fairseq-preprocess": r"""
        while [ "$1" != --destdir ]; do shift; done
        [ ! -e "$STATE/kill-preprocess" ] || { rm "$STATE/kill-preprocess"; kill -9 $PPID; }
        echo words >"$2/dict.en.txt" """,
    "fairseq-train": r"""
        while [ "$1" != --save-dir ]; do shift; done
        mkdir -p "$2"; echo half >"$2/checkpoint_last.pt"
        [ ! -e "$STATE/kill-train" ] || { rm "$STATE/kill-train"; kill -9 $$; } """,
    "fairseq-generate": r"""
        while [ "$1" != --results-path ]; do shift; done
        echo "H-0 -1 x" >"$2/generate-test.txt" """,
    "subword-nmt": r"""
        case $1 in
          learn-bpe) while [ "$1" != -o ]; do shift; done; echo codes >"$2" ;;
          apply-bpe) while [ "$1" != -i ]; do shift; done; cp "$2" "$4" ;;
        esac""",
    "sacremoses": "cat",
}


class Recipe:
    """A checkout with stand-ins on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self.programs = folder, folder / "state", folder / "programs"
        self.state.mkdir()
        self.programs.mkdir()
        (folder / "scripts").mkdir()
        for name in ("lib.sh", "recipe.sh", "quickstart.sh"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
        self.executable(folder / "scripts/setup.sh", "exit 0")
        self.executable(self.programs / "python", f"echo {self.programs}")
        for name, body in PROGRAMS.items():
            note = f'printf "%s\\n" "{name} $*" >>"$STATE/calls"\n'
            self.executable(self.programs / name, note + body)

    @staticmethod
    def executable(path: Path, body: str) -> None:
        path.write_text("#!/usr/bin/env bash\nset -eu\n" + body + "\n")
        path.chmod(0o755)

    def run(self, script: str, *arguments: str, **environment: str):
        (self.state / "calls").write_text("")
        return subprocess.run(
            ["bash", script, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "STATE": str(self.state),
                "DC_NMT_PYTHON": str(self.programs / "python"),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )

    def quickstart(self, *arguments: str):
        return self.run("scripts/quickstart.sh", "--arch", "plain dual", *arguments)

    def calls(self) -> list[str]:
        """Programs started by the last run, dc-nmt with its command."""
        lines = (self.state / "calls").read_text().splitlines()
        return [" ".join(line.split()[: 1 + line.startswith("dc-nmt")]) for line in lines]

    def call(self, program: str) -> str:
        lines = (self.state / "calls").read_text().splitlines()
        return next(line for line in lines if line.startswith(program))


@pytest.fixture
def recipe(tmp_path):
    return Recipe(tmp_path)


MODEL = ["fairseq-train", "dc-nmt progress", "dc-nmt average", "fairseq-generate", "dc-nmt score"]


def model_calls(calls: list[str]) -> list[str]:
    return [call for call in calls if call in MODEL]


def test_quickstart_runs_all_once_and_the_second_call_repeats_nothing(recipe):
    first = recipe.quickstart()
    assert first.returncode == 0, first.stderr
    calls = recipe.calls()
    assert sorted(model_calls(calls)) == sorted(2 * MODEL)
    assert calls[:4] == ["dc-nmt arch-flags"] * 2 + ["dc-nmt corpus", "dc-nmt check-text"]
    assert "THE TABLE" in first.stdout and "dual/score/result.json" in first.stdout
    assert recipe.call("fairseq-generate").count("--task task_of_plain") == 1
    second = recipe.quickstart()
    assert second.returncode == 0
    assert recipe.calls() == ["dc-nmt arch-flags"] * 2 + ["dc-nmt report"]
    assert second.stdout.count("done before") == 4 + 2 * 4
    assert "THE TABLE" in second.stdout


def test_a_killed_training_continues_and_the_data_are_not_made_again(recipe):
    (recipe.state / "kill-train").touch()
    killed = recipe.quickstart()
    assert killed.returncode != 0
    assert "the training of plain stopped" in killed.stderr and "THE TABLE" not in killed.stdout
    assert sorted(model_calls(recipe.calls())) == ["dc-nmt progress", "fairseq-train"]
    again = recipe.quickstart()
    assert again.returncode == 0
    assert "plain: train 700 updates, from the last checkpoint on" in again.stdout
    assert "dual: train 700 updates\n" in again.stdout
    assert "subword-nmt" not in recipe.calls() and "fairseq-preprocess" not in recipe.calls()


def test_a_killed_data_step_is_made_anew(recipe):
    (recipe.state / "kill-preprocess").touch()
    assert recipe.quickstart().returncode != 0
    data = recipe.folder / "quickstart_out/en-de"
    assert (data / "bpe/.stamp").exists() and not (data / "bin").exists()
    assert recipe.quickstart().returncode == 0
    assert "subword-nmt" not in recipe.calls() and "fairseq-preprocess" in recipe.calls()
    assert (data / "bin/dict.en.txt").exists() and not (data / "bin.part").exists()


def test_other_settings_do_not_overwrite_a_training(recipe):
    recipe.quickstart()
    checkpoint = recipe.folder / "quickstart_out/en-de/plain/checkpoints/checkpoint_last.pt"
    for other in (["--updates", "9"], ["--seed", "2"], ["--", "--dropout", "0.2"]):
        refused = recipe.quickstart(*other)
        assert refused.returncode == 1 and len(refused.stderr.splitlines()) == 1
        assert "holds a training with other data or settings" in refused.stderr
        assert checkpoint.exists() and "fairseq-train" not in recipe.calls()
    assert recipe.quickstart("--updates", "9", "--out", "other").returncode == 0
    assert "--max-update 9" in recipe.call("fairseq-train")


def test_flags_after_the_dashes_reach_fairseq_last(recipe):
    assert recipe.quickstart("--", "--cpu", "--dropout", "0.2").returncode == 0
    before, after = recipe.call("fairseq-train").split("--dropout 0.1")
    assert "--cpu --dropout 0.2" in after and "--cpu" not in before


def test_unusable_text_stops_before_anything_is_learnt(recipe):
    (recipe.state / "bad-text").touch()
    stopped = recipe.quickstart()
    assert stopped.returncode != 0 and "line 3: bad" in stopped.stderr
    assert "subword-nmt" not in recipe.calls()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arch", "plain,nonsense"], "'nonsense' is not one of plain, dual"),
        (["--arch", " "], "--arch is empty"),
        (["--pair", "en-xx"], "--pair 'en-xx' is not SOURCE-TARGET with two different ones of en"),
        (["--pair", "de-de"], "--pair 'de-de' is not SOURCE-TARGET with two different"),
        (["--updates", "0"], "--updates '0' is not a whole number above zero"),
        (["--updates"], "--updates needs a value"),
        (["--speed", "9"], "unknown option '--speed'; choose among --pair"),
    ],
)
def test_bad_quickstart_flags_are_one_sentence(recipe, arguments, message):
    result = recipe.quickstart(*arguments)
    assert result.returncode != 0
    assert message in result.stderr and len(result.stderr.splitlines()) == 1
    assert not (recipe.folder / "quickstart_out").exists()
