"""``examples/europarl_en_fr/gpu.sh``, with a ``dc-nmt`` that trains at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

GPU = Path(__file__).resolve().parents[2] / "examples/europarl_en_fr/gpu.sh"
# "quick" saves a checkpoint every 0.1 s, other systems every 0.4 s; "broken" fails at once
DC_NMT = """#!/usr/bin/env bash
set -eu
command=$1 system=${3:-} out="" keep="" name="" words="$*"
while [ $# -gt 0 ]; do
  case $1 in --out) out=$2 ;; --run) keep=$2 ;; --name) name=$2 ;; esac
  shift
done
case $command in
  train)
    [ $system != broken ] || { echo "no such flag"; exit 2; }
    run=$out/$name/checkpoints
    mkdir -p $run
    echo "$words" >$out/$name/words
    while n=$(ls $run | wc -l); do
      touch $run/checkpoint_1_$((10 * n + 10)).pt
      echo "{\\"num_updates\\": \\"$((10 * n + 10))\\"}" >>$out/$name/train.log
      [ $system = quick ] && sleep 0.1 || sleep 0.4
    done
    ;;
  evaluate) ls $out/$name/checkpoints >$out/$name/evaluated ;;
  export) mkdir -p $keep ;;
esac
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "dc-nmt").write_text(DC_NMT)
    (tmp_path / "dc-nmt").chmod(0o755)
    (tmp_path / "out/data/raw").mkdir(parents=True)
    (tmp_path / "out/data/raw/test.en").touch()
    return tmp_path


def begin(
    folder: Path, *systems: str, minutes: float = 0.05, device: tuple[str, ...] = ("--cpu",)
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", str(GPU), *systems, *device, "--minutes", str(minutes), "--out", "out"],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def updates(folder: Path, system: str, place: str = "checkpoints", seed: int = 1) -> set[int]:
    files = (folder / f"out/{system}-s{seed}/{place}").glob("*.pt")
    return {int(file.stem.rpartition("_")[2]) for file in files}


def test_systems_are_compared_after_equally_many_updates_also_continued(folder):
    script = begin(folder, "quick", "slow", minutes=5)
    while not updates(folder, "slow"):
        time.sleep(0.1)
    script.send_signal(signal.SIGTERM)
    assert "the same command continues" in script.communicate(timeout=20)[0]
    before = updates(folder, "quick")
    time.sleep(0.5)
    assert script.returncode == 1 and updates(folder, "quick") == before  # nothing trains on

    script = begin(folder, "quick", "slow")
    said = script.communicate(timeout=40)[0]
    assert script.returncode == 0, said
    compared = updates(folder, "slow")
    assert updates(folder, "quick") == compared
    assert min(updates(folder, "quick", "later")) > max(compared)
    assert f"evaluated after {max(compared)} updates" in said
    assert (folder / "out/kept-s1/done").is_file()
    assert "is complete" in begin(folder, "quick", "slow").communicate(timeout=20)[0]


def test_a_system_that_fails_is_shown_and_the_others_are_evaluated(folder):
    script = begin(folder, "quick", "broken")
    said = script.communicate(timeout=40)[0]
    assert script.returncode == 1
    assert "train: broken-s1 failed:\nno such flag" in said and "failed: broken-s1" in said
    assert (folder / "out/quick-s1/evaluated").is_file()
    assert not (folder / "out/kept-s1/done").exists()


def test_several_seeds_are_trained_together(folder):
    said = begin(folder, "quick", "slow", "--seed", "1", "--seed", "7").communicate(timeout=40)[0]
    assert (folder / "out/kept-s1-7/done").is_file(), said
    compared = updates(folder, "slow")
    assert updates(folder, "quick", seed=7) == updates(folder, "slow", seed=7) == compared
    twice = begin(folder, "quick", "--seed", "2", "--seed", "2").communicate(timeout=20)[0]
    assert "--seed '2' was given twice" in twice


def test_only_transformers_of_this_plugin_train_with_graphs(folder):
    systems = ("transformer", "transformer_dc", "gru_selfattn_residual")
    begin(folder, *systems, device=()).communicate(timeout=40)
    words = {name: (folder / f"out/{name}-s1/words").read_text() for name in systems}
    assert [name for name in systems if "--cuda-graphs" in words[name]] == ["transformer_dc"]
