"""``examples/europarl_en_fr/gpu.sh``, with a ``dc-nmt`` that trains at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dc_nmt_plugin.runs.record import read_record

GPU = Path(__file__).resolve().parents[2] / "examples/europarl_en_fr/gpu.sh"
# "quick" saves a checkpoint every 0.1 s, other systems every 0.4 s; "broken" fails at once
DC_NMT = """#!/usr/bin/env bash
set -eu
command=$1 system=${3:-} out="" keep="" name="" as="" words="$*"
while [ $# -gt 0 ]; do
  case $1 in --out) out=$2 ;; --run) keep=$2 ;; --name) name=$2 ;; --as) as=-$2 ;; esac
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
  evaluate) ls $out/$name/checkpoints >$out/$name/evaluated$as; echo "$words" >>$out/$name/how ;;
  export) mkdir -p $keep ;;
  results) echo "$words" ;;
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
    folder: Path, *systems: str, minutes: float = 0.02, device: tuple[str, ...] = ("--cpu",)
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


def test_after_equal_time_each_system_is_evaluated_at_its_own_end(folder):
    """Of a system with several seeds, at the last update that all of them have reached."""
    words = ("quick", "slow", "--seed", "1", "--seed", "2", "--equal-time")
    said = begin(folder, *words).communicate(timeout=60)[0]
    assert (folder / "out/kept-s1-2/done").is_file(), said

    def ends(name: str) -> set[str]:
        files = [folder / f"out/{system}-s{seed}/{name}" for system in words[:2] for seed in (1, 2)]
        return {path.read_text().split()[-1] for path in files}

    quick, slow = (
        {(folder / f"out/{system}-s{seed}/evaluated-time").read_text() for seed in (1, 2)}
        for system in words[:2]
    )
    assert len(quick) == len(slow) == len(ends("evaluated")) == 1
    assert len(quick.pop().split()) > len(slow.pop().split())
    assert (folder / "out/kept-s1-2/equal-time/slow-s2").is_dir()


def test_a_system_may_have_flags_of_its_own(folder):
    said = begin(folder, "wide=quick --width 7").communicate(timeout=40)[0]
    assert (folder / "out/kept-s1/done").is_file(), said
    trained, evaluated = ((folder / f"out/wide-s1/{name}").read_text() for name in ("words", "how"))
    assert " quick --name wide-s1 " in trained and trained.endswith(" --width 7\n")
    assert " quick --name wide-s1 " in evaluated and "--width" not in evaluated


def test_a_name_is_not_executed(folder):
    said = begin(folder, "$(touch executed)").communicate(timeout=20)[0]
    assert "is no name of a system" in said and not (folder / "executed").exists()


def test_the_control_has_the_size_of_the_model_that_it_controls():
    from examples.europarl_en_fr import control_systems

    counts = control_systems.parameters(control_systems.TYPES)
    stored = read_record(GPU.parent / "seeds/transformer_dc-s1").training.parameters
    assert counts["transformer_dc"] == stored
    assert abs(counts["wide"] / stored - 1) < 0.001 and abs(counts["deep"] / stored - 1) < 0.03


def test_the_control_from_start_to_tables(folder):
    (folder / "out/data/bin").mkdir()
    (folder / "out/data/bin/dict.en.txt").write_text("a 1\n" * 96)
    programs = [folder, Path(sys.executable).parent, os.environ["PATH"]]
    variables = {**os.environ, "PATH": os.pathsep.join(map(str, programs))}
    script = GPU.with_name("control.sh")

    def control(*words: str) -> str:
        command = ["bash", str(script), *words, "--cpu", "--out", "out"]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
        assert done.returncode == ("controls" in words), done.stderr
        return done.stdout + done.stderr

    assert "'controls' is neither a part" in control("controls")
    said = control("control", "--plain", "wide", "--minutes", "0.02")
    assert "| `wide` | `--encoder-ffn-embed-dim 2048` |" in said
    equal_updates, equal_time = (line for line in said.splitlines() if line.startswith("results"))
    runs = [f"{name}-s{seed}" for name in ("transformer_dc", "wide") for seed in (1, 2, 3)]
    assert sorted(Path(word).name for word in equal_updates.split() if "control/" in word) == [
        "results.json",
        *runs,
    ]
    assert "--over-seeds --baseline wide --out" in equal_updates
    assert "--over-seeds --baseline wide, time --out" in equal_time
    assert all(f"out/control/equal-time/{run}:time " in equal_time for run in runs)


def test_only_transformers_of_this_plugin_train_with_graphs(folder):
    systems = ("transformer", "transformer_dc", "gru_selfattn_residual")
    begin(folder, *systems, device=()).communicate(timeout=40)
    words = {name: (folder / f"out/{name}-s1/words").read_text() for name in systems}
    assert [name for name in systems if "--cuda-graphs" in words[name]] == ["transformer_dc"]
