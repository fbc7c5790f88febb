"""A recipe killed at random moments; see chaos.sh."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

ARCH = "transformer_dc"
# of result.json: what the clock says
CLOCK = ("train_tokens_per_second", "train_seconds", "decode_sentences_per_second", "texts")


def command(folder: Path, updates: int) -> list[str]:
    """The recipe: corpus, tokens, BPE, binarised text, training, average, translation, scores."""
    words = [sys.executable, "-m", "dc_nmt_plugin", "quickstart", "--out", str(folder)]
    return [*words, "--arch", ARCH, "--updates", str(updates), "--", "--cpu"]


def start(folder: Path, updates: int) -> subprocess.Popen[bytes]:
    """The recipe in a group of processes of its own, which can be killed at once."""
    return subprocess.Popen(
        command(folder, updates),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(folder: Path, updates: int) -> float:
    """Run it to its end; the seconds that took."""
    began = time.monotonic()
    process = start(folder, updates)
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{folder}: failed:\n{errors.decode(errors='replace')[-3000:]}")
    return time.monotonic() - began


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Kill all processes of the recipe after that time; False where it had ended before."""
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    if process.returncode:
        sys.exit(f"a call after a kill failed:\n{errors.decode(errors='replace')[-3000:]}")
    return False


def content(path: Path) -> object:
    """What a file says, without the time and the folder in which it was made."""
    if path.suffix == ".pt":
        state = torch.load(path, map_location="cpu", weights_only=True)
        return {name: tensor.numpy().tobytes() for name, tensor in state["model"].items()}
    if path.name == "result.json":
        values = json.loads(path.read_text("utf-8"))
        files = ("hypotheses", "reference", "source")
        return {key: value for key, value in values.items() if key not in (*CLOCK, *files)}
    if path.name.startswith("generate-"):
        lines = path.read_text("utf-8").splitlines()
        return sorted(line for line in lines if line[:2] in ("S-", "T-", "H-", "D-", "P-"))
    return path.read_bytes()


def results(folder: Path) -> dict[str, Path]:
    """Everything that a recipe leaves, but logs, stamps and what is only kept to go on."""
    ends = (".log", ".stamp", ".lock", ".txt.log")
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        passing = name.endswith(ends) or path.name in ("command.txt", ".stamp", ".lock")
        if path.is_file() and not passing and "preprocess.log" not in name:
            found[name] = path
    return found


def differences(folder: Path, expected: Path) -> list[str]:
    """Names of files that only one of them has, or that say something else."""
    ours, theirs = results(folder), results(expected)
    found = sorted(ours.keys() ^ theirs.keys())
    for name in ours.keys() & theirs.keys():
        if content(ours[name]) != content(theirs[name]):
            found.append(name)
    return sorted(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--out", type=Path, help="default: a temporary folder")
    args = parser.parse_args()
    out = args.out or Path(tempfile.mkdtemp(prefix="chaos-"))
    moments = random.Random(args.seed)
    seconds = finish(out / "unbroken", args.updates)
    print(f"unbroken: {seconds:.0f} s, {len(results(out / 'unbroken'))} files", flush=True)
    kills = rounds = different = 0
    while kills < args.kills:
        rounds += 1
        folder = out / f"killed-{rounds}"
        # several kills a round, spread over what is left of it; then to the end
        for _ in range(min(moments.randint(3, 8), args.kills - kills)):
            if not kill_after(start(folder, args.updates), moments.uniform(0.2, 0.6 * seconds)):
                break
            kills += 1
        finish(folder, args.updates)
        found = differences(folder, out / "unbroken")
        different += len(found)
        print(f"round {rounds}, {kills} kills: {', '.join(found) or 'the same'}", flush=True)
    print(f"{kills} kills in {rounds} rounds: {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
