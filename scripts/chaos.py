"""A recipe killed at random moments; see chaos.sh."""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

import fairseq_cli.generate
import fairseq_cli.preprocess
import fairseq_cli.train  # noqa: F401
import torch

from dc_nmt_plugin import pipeline
from dc_nmt_plugin.gate.explanations import explained
from dc_nmt_plugin.pipeline import Command, Pipeline
from dc_nmt_plugin.recipes import quickstart
from dc_nmt_plugin.recipes.schema import Segmentation

ARCH = "transformer_dc"
PAIRS = 300
DECODE = ("--beam", "2", "--max-len-b", "12")
SIDE = " --{0}-layers 1 --{0}-attention-heads 2 --{0}-embed-dim 8 --{0}-ffn-embed-dim 8"
SMALL = "--max-tokens 512 --num-workers 0 --cpu" + SIDE.format("encoder") + SIDE.format("decoder")
# of run.json: what the clock and the place say
PASSING_FACTS = {"written_in", "seconds", "tokens_per_second", "sentences_per_second"}
PASSING = (".log", ".stamp", ".lock", "command.txt")
programs = {entry.name: entry for entry in entry_points(group="console_scripts")}
program_on_path = pipeline.start


class Fork:
    """A function in a forked copy of this process, which has imported torch and fairseq.

    It is used as a ``subprocess.Popen`` is.
    """

    def __init__(
        self,
        call: Callable[[], object],
        stdout: Any = None,
        stderr: Any = None,
        group: bool = False,
    ) -> None:
        piped = stdout == pipeline.subprocess.PIPE
        reading, writing = os.pipe() if piped else (None, None)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            if group:
                os.setsid()
            out = writing if piped else stdout and stdout.fileno()
            same = stderr == pipeline.subprocess.STDOUT
            self._run(call, out, out if same else stderr and stderr.fileno())
        if writing is not None:
            os.close(writing)
        self.stdout = reading and os.fdopen(reading, "rb")

    @staticmethod
    def _run(call: Callable[[], object], *descriptors: int | None) -> NoReturn:
        code = 1
        try:
            for number, descriptor in enumerate(descriptors, start=1):
                if descriptor is not None:
                    os.dup2(descriptor, number)
            # not those of a process that keeps what is printed to itself, such as pytest's
            sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as a program that begins
            signal.signal(signal.SIGINT, signal.default_int_handler)
            code = int(call() or 0)  # type: ignore[call-overload]
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        finally:
            for child in multiprocessing.active_children():  # as at the end of a program
                child.terminate()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def wait(self, timeout: float | None = None) -> int | None:
        """Exit status; None where it has not ended after that many seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while end is None or time.monotonic() < end:
            pid, status = os.waitpid(self.pid, 0 if end is None else os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        return None

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill_group(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)
        self.wait()


def start(words: Sequence[str], stdout: Any, stderr: Any) -> Any:
    """As ``pipeline.start``, but what is written in Python needs no import of torch."""
    if words[0] not in programs:
        return program_on_path(words, stdout=stdout, stderr=stderr)

    def call() -> object:
        sys.argv = list(words)
        logging.disable(logging.NOTSET)
        layout = "%(asctime)s | %(levelname)s | %(name)s | %(message)s"
        logging.basicConfig(stream=sys.stdout, level="INFO", force=True, format=layout)
        return programs[words[0]].load()()

    return Fork(call, stdout, stderr)


def work(folder: Path, updates: int) -> int:
    """dc-nmt quickstart, smaller: corpus, tokens, BPE, binarised text, training, average,
    translation, scores."""
    pipeline.start = start
    quickstart.SEGMENTATION = Segmentation(operations=100)
    quickstart.DECODE = DECODE
    flags = SMALL.split()
    plan = quickstart.plan_quickstart("en-de", [ARCH], folder, updates, 1, flags)
    whole = plan.corpus.commands

    def commands(to: Path) -> list[Command]:
        return [Command([*whole(to)[0].words, "--pairs", str(PAIRS)])]

    steps = Pipeline()
    try:
        with steps.alone(plan.work, wait=True):
            steps.run(replace(plan.corpus, commands=commands), *plan.preparation.steps())
        for run, step in plan.models:
            with steps.alone(run.folder, wait=False):
                steps.run(step, *run.evaluation())
    except Exception as error:
        if not (sentence := explained(error)):
            raise
        print(f"error: {sentence}", file=sys.stderr)
        return 1
    return 0


def begin(folder: Path, updates: int) -> Fork:
    """The recipe in a group of processes of its own, which can be killed at once."""
    with open(folder.with_suffix(".log"), "a", encoding="utf-8") as log:
        return Fork(lambda: work(folder, updates), log, log, group=True)


def good(code: int | None, folder: Path) -> None:
    """Leave where a call failed, saying what it said."""
    if code:
        sys.exit(f"{folder}: failed:\n{folder.with_suffix('.log').read_text('utf-8')[-3000:]}")


def without_the_clock(state: dict[str, Any]) -> dict[str, Any]:
    """Of a checkpoint, what the continued training and the translation depend on."""
    extra = {name: state["extra_state"][name] for name in ("train_iterator", "val_loss", "best")
             if name in state.get("extra_state", {})}  # fmt: skip
    # fairseq adds an entry to the history each time a run is continued
    history = dict(state["optimizer_history"][-1])
    # the best loss, which only reduce_lr_on_plateau reads: fairseq does not pass it to
    # a run that is continued from the end of an epoch
    history["lr_scheduler_state"] = {
        name: value for name, value in history["lr_scheduler_state"].items() if name != "best"
    }
    names = ("model", "last_optimizer_state", "task_state")
    rest = {name: state.get(name) for name in names}
    return {"extra": extra, "history": history, **rest}


def plain(value: Any) -> Any:
    """The same with the bytes of tensors, which can be compared."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.shape, value.numpy().tobytes()
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def lasting(value: Any) -> Any:
    """The same without the facts of a record that pass."""
    if isinstance(value, dict):
        return {k: lasting(each) for k, each in value.items() if k not in PASSING_FACTS}
    return [lasting(each) for each in value] if isinstance(value, list) else value


def content(path: Path) -> object:
    """What a file says, without the time and the folder in which it was made."""
    if path.suffix == ".pt":
        return plain(without_the_clock(torch.load(path, weights_only=True)))
    if path.name == "run.json":
        return lasting(json.loads(path.read_text("utf-8")))
    if path.name.startswith("generate-"):
        lines = path.read_text("utf-8").splitlines()
        return sorted(line for line in lines if line[:2] in ("S-", "T-", "H-", "D-", "P-"))
    return path.read_bytes()


def results(folder: Path) -> dict[str, Path]:
    """Everything that a recipe leaves, but logs, stamps and locks."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(p.relative_to(folder)): p for p in files if not p.name.endswith(PASSING)}


def differences(folder: Path, expected: Path) -> list[str]:
    """Names of files that only one of them has, or that say something else."""
    ours, theirs = results(folder), results(expected)
    found = ours.keys() ^ theirs.keys()
    both = ours.keys() & theirs.keys()
    return sorted(found | {name for name in both if content(ours[name]) != content(theirs[name])})


def steps(folder: Path) -> list[str]:
    """What a recipe's log says that it did, in all of its calls."""
    lines = folder.with_suffix(".log").read_text("utf-8").splitlines()
    said = [line.split("] ", 1)[1] for line in lines if line.startswith("[") and "] " in line]
    return [step for step in said if not step.endswith("done before")]


def wait_for_the_dead(folder: Path) -> None:
    """Until no process of a killed recipe holds its locks any more."""
    for path in folder.rglob(".lock"):
        with open(path, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


def killed(folder: Path, updates: int, moments: Iterable[tuple[Sequence[str], float]]) -> list[str]:
    """Begin the recipe and kill it, once a moment, or until it has come to its end before.

    Args:
        folder: of the recipe
        updates: of its training
        moments: steps, and seconds after one of them has begun

    Returns:
        the step of each kill
    """
    done: list[str] = []
    for awaited, pause in moments:
        recipe = begin(folder, updates)
        before = len(steps(folder))
        code = None
        while code is None and not _any_in(awaited, steps(folder)[before:]):
            code = recipe.wait(0.02)
        code = recipe.wait(pause) if code is None else code
        if code is not None:
            good(code, folder)
            break
        recipe.kill_group()
        wait_for_the_dead(folder)
        done.append(steps(folder)[-1])
    good(begin(folder, updates).wait(), folder)
    return done


def _any_in(awaited: Sequence[str], said: Sequence[str]) -> bool:
    return any(step in each for step in awaited for each in said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--out", type=Path, help="default: a temporary folder")
    args = parser.parse_args()
    torch.set_num_threads(1)
    out = args.out or Path(tempfile.mkdtemp(prefix="chaos-"))
    out.mkdir(parents=True, exist_ok=True)
    expected = out / "unbroken"
    if expected.exists():
        sys.exit(f"--out: {out} has a chaos in it; name another folder")
    chance = random.Random(args.seed)
    began = time.monotonic()
    good(begin(expected, args.updates).wait(), expected)
    seconds = time.monotonic() - began
    print(f"unbroken: {seconds:.0f} s, {len(results(expected))} files", flush=True)
    names = steps(expected)
    done: list[str] = []
    rounds = different = 0
    while len(done) < args.kills:
        rounds += 1
        folder = out / f"killed-{rounds}"
        most = min(chance.randint(3, len(names)), args.kills - len(done))
        # in the order of the recipe: what is done is not done again
        chosen = sorted(chance.choices(range(len(names)), k=most))
        longest = seconds / len(names)
        moments = [(names[number:], chance.uniform(0, longest)) for number in chosen]
        done += killed(folder, args.updates, moments)
        found = differences(folder, expected)
        different += len(found)
        print(f"round {rounds}, {len(done)} kills: {', '.join(found) or 'the same'}", flush=True)
        if not found:
            shutil.rmtree(folder)
    counted = Counter(step.split(",")[0].split(" (")[0] for step in done)
    print("killed at:", ", ".join(f"{step} {number}" for step, number in counted.most_common()))
    print(f"{len(done)} kills in {rounds} rounds: {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
