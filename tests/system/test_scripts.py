"""What the shell scripts start: commands of dc-nmt."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dc_nmt_plugin.flags import recorded_flags
from dc_nmt_plugin.laboratory.commands import train
from dc_nmt_plugin.laboratory.commands.parser import values_of
from dc_nmt_plugin.laboratory.recipes.plan import plan_training
from dc_nmt_plugin.laboratory.recipes.planned import Experiment, TrainOptions
from dc_nmt_plugin.runs.record import read_record

ROOT = Path(__file__).resolve().parents[2]
TABLE = "examples/multi30k_en_de/table.sh"
PLACES = ("--user-dir", "--save-dir", "--cpu")  # flags that are not of the training
SHIMS = {
    "scripts/prepare.sh": ["prepare"],
    "scripts/train.sh": ["train"],
    "scripts/evaluate.sh": ["evaluate"],
    "scripts/run.sh": ["run"],
}


def executable(path: Path, body: str) -> None:
    """A bash script."""
    path.write_text(f"#!/usr/bin/env bash\nset -eu\n{body}\n")
    path.chmod(0o755)


class Checkout:
    """The scripts, with a set-up and programs that note how they are called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir()
        (folder / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/lib.sh", folder / "scripts")
        for name in (*SHIMS, TABLE, "scripts/quickstart.sh"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        executable(folder / "scripts/setup.sh", 'printf "setup:%s\\n" "$*"')
        executable(programs / "dc-nmt", 'printf "<%s>" "$@"; [ "${FAILING:-no}" != "${5:-}" ]')
        told = f'echo "python $*, $PYTHONPATH" | sed "s#{folder}#ROOT#"'
        asked = f'case $1 in -c) exec echo "{programs}" ;; */cpus.py) exec echo 2 ;; esac'
        executable(programs / "python", f"{asked}; {told}")
        self.path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    def run(self, script: str, *arguments: str, **environment: str):
        return subprocess.run(
            ["bash", script, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": self.path,
                "DC_NMT_PYTHON": str(self.folder / "programs/python"),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return Checkout(tmp_path_factory.mktemp("checkout"))


@pytest.mark.parametrize("script", SHIMS)
def test_a_script_becomes_its_command(checkout, script):
    words = ["a b", "--seed", "2", "--python", "3.10", "--", "--python", "x"]
    done = checkout.run(script, *words)
    assert done.returncode == 0, done.stderr
    command = [*SHIMS[script], "a b", "--seed", "2", "--", "--python", "x"]
    assert done.stdout == "setup:--python 3.10\n" + "".join(f"<{word}>" for word in command)
    assert os.access(ROOT / script, os.X_OK)


def test_the_quickstart_makes_a_text_and_its_recipe(checkout):
    done = checkout.run("scripts/quickstart.sh", "transformer_dc", "--seed", "2")
    assert done.returncode == 0, done.stderr
    files = "<--train><quickstart_out/text/toy.en><quickstart_out/text/toy.de>"
    assert files in done.stdout and "<run><quickstart_out/en-de><transformer_dc>" in done.stdout


def without_places(settings):
    return {flag: value for flag, value in settings.items() if f"--{flag}" not in PLACES}


def kept_runs():
    folder = (ROOT / TABLE).parent / "runs"
    return {path.name: path for path in (*folder.glob("*-s*"), *folder.glob("modern/*-s*"))}


def test_kept_runs_are_what_the_table_s_trainings_are_now(checkout, monkeypatch):
    monkeypatch.chdir(checkout.folder)
    planned = checkout.run(TABLE, *kept_runs(), "--dry-run").stdout.splitlines()
    for run, command in zip(kept_runs().values(), planned, strict=True):
        args, flags = train.parser().parse_with_flags(shlex.split(command)[2:])
        options = values_of(Experiment, args), values_of(TrainOptions, args, flags=tuple(flags))
        now = recorded_flags(plan_training(*options).words)
        kept = read_record(run).settings
        assert without_places(now) == without_places(kept), run
