"""scripts/*.sh and examples/*/run.sh become commands of dc-nmt; the Slurm file calls train.sh."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from stand_ins import executable

ROOT = Path(__file__).resolve().parents[2]
SHIMS = {
    "scripts/prepare.sh": ["prepare"],
    "scripts/train.sh": ["train"],
    "scripts/evaluate.sh": ["evaluate"],
    "scripts/quickstart.sh": ["quickstart"],
    "scripts/sample_recipes.sh": ["sample-recipes"],
    **{
        f"examples/{path.stem}/run.sh": ["run", path.stem]
        for path in (ROOT / "dc_nmt_plugin/recipes/tasks").glob("*.yaml")
    },
}


class Checkout:
    """The scripts, with a set-up and programs that note how they are called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir()
        (folder / "scripts").mkdir()
        for name in ("lib.sh", "train.slurm"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts")
        for name in SHIMS:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        executable(folder / "scripts/setup.sh", 'printf "setup:%s\\n" "$*"')
        executable(programs / "dc-nmt", 'printf "<%s>" "$@"')
        executable(programs / "scontrol", "printf 'node7\\nnode8\\n'")
        told = f'echo "python $*, $PYTHONPATH" | sed "s#{folder}#ROOT#"'
        executable(programs / "python", f'[ "$1" != -c ] || exec echo "{programs}"; {told}')
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


def test_help_needs_no_environment(checkout):
    done = checkout.run("scripts/train.sh", "wmt14_en_de", "--help")
    assert done.stdout.strip() == "python -m dc_nmt_plugin train --help, ROOT"
    refused = checkout.run("scripts/train.sh", "--python")
    assert refused.returncode == 1 and "--python" in refused.stderr


def test_the_slurm_file_calls_train_with_the_job_s_machines(checkout):
    slurm = {
        "SLURM_SUBMIT_DIR": str(checkout.folder),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NODELIST": "node[7-8]",
        "SLURM_GPUS_PER_NODE": "h100:4",
    }
    done = checkout.run("scripts/train.slurm", "wmt14_en_de", "transformer_dc", "--fp16", **slurm)
    assert done.returncode == 0, done.stderr
    added = ["--launcher", "srun", "--gpus", "4", "--rendezvous", "node7:24711"]
    words = ["train", *added, "wmt14_en_de", "transformer_dc", "--fp16"]
    assert done.stdout.endswith("".join(f"<{word}>" for word in words))


def test_the_slurm_file_has_directives_first_and_refuses_other_folders(tmp_path):
    path = ROOT / "scripts/train.slurm"
    lines = path.read_text().splitlines()
    directives = [n for n, line in enumerate(lines) if line.startswith("#SBATCH")]
    assert directives and all(line.startswith("#") for line in lines[: directives[-1]])
    assert os.access(path, os.X_OK)
    wrong = subprocess.run(
        ["bash", str(path), "wmt14_en_de", "transformer_dc"],
        env={**os.environ, "SLURM_SUBMIT_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert wrong.returncode == 1 and "sbatch" in wrong.stderr
