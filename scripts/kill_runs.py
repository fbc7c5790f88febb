#!/usr/bin/env python3
"""Kills ``dc-nmt run`` at random moments, continues it, and compares it with an unbroken run.

usage: python scripts/kill_runs.py RECIPE KILLS [SEED]

RECIPE is a folder of ``dc-nmt new``, small enough for a run of half a minute. Everything happens in
copies of it in a temporary folder; the copy of a run that ends otherwise is kept and named.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "system"))
from leavings import differences  # noqa: E402

from dc_nmt_plugin.checkpoints.loading import allow_fairseq_checkpoints  # noqa: E402


def start(recipe: Path) -> subprocess.Popen[bytes]:
    """Starts the run in a group of processes of its own."""
    with open(recipe.with_suffix(".log"), "ab") as log:
        words = [str(Path(sys.executable).with_name("dc-nmt")), "run", recipe.name]
        return subprocess.Popen(
            words, cwd=recipe.parent, stdout=log, stderr=log, start_new_session=True
        )


def kill(recipe: Path, moment: float) -> bool:
    """Kills a run, with all its processes, after so many seconds; False if it has ended before."""
    run = start(recipe)
    try:
        run.wait(moment)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return True


def main(recipe: Path, wanted: int, seed: int) -> int:
    allow_fairseq_checkpoints()
    choice, home = random.Random(seed), Path(tempfile.mkdtemp(prefix="kills-"))
    began = time.monotonic()
    unbroken = shutil.copytree(recipe, home / "unbroken" / recipe.name)
    start(unbroken).wait()
    seconds = time.monotonic() - began
    kills = different = number = 0
    while kills < wanted:
        number += 1
        copy = shutil.copytree(recipe, home / str(number) / recipe.name)
        killed = [kill(copy, choice.uniform(0, seconds)) for _ in range(choice.randint(1, 3))]
        kills += sum(killed)
        failed = start(copy).wait()
        found = ["failed"] if failed else differences(copy, unbroken)
        print(f"{kills} kills: {', '.join(found) or 'equal'}", flush=True)
        if found:
            print(f"  kept in {copy}")
            different += 1
        else:
            shutil.rmtree(copy.parent)
    print(f"{different} of {number} runs ended otherwise; {kills} kills; {seconds:.0f} s a run")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), int(sys.argv[2]), int((sys.argv[3:] or ["1"])[0])))
