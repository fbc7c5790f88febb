"""Runs programs of fairseq at the same time, of which one at a time works on a batch.

What slows the machine for a while then slows all of them. As a program, with TRAIN or GENERATE, a
piece of speed to switch off (or "") and fairseq's flags, it is one of these programs.
"""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

TRAIN, GENERATE = "train", "generate"
TURN = "waits for its turn with this number of words or sentences: "


@dataclass
class Program:
    """Describes a program, and holds what it did."""

    words: list[str]  # the Python file to run, and its words
    environment: dict[str, str]
    # words of each training batch, or sentences of each translated one
    amounts: list[float] = field(default_factory=list)
    # of each batch, with the reading of the next one
    seconds: list[float] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)  # lines


def take_turns(programs: list[Program], turns: int, seconds: float = math.inf) -> None:
    """Lets each program work on the same number of batches, and writes down what it did.

    There are fewer turns if a program has no more batches, or the seconds are over.
    """
    processes = [
        subprocess.Popen(
            [sys.executable, *program.words],
            env=program.environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for program in programs
    ]
    pairs = list(zip(programs, processes, strict=True))
    try:
        waiting = [_wait(program, process) for program, process in pairs]
        end = time.monotonic() + seconds
        for turn in tqdm(range(turns), unit="batch"):
            if not all(waiting) or time.monotonic() > end:
                break
            # another one is first in each turn, so that no program always follows the same one
            first = turn % len(pairs)
            for program, process in pairs[first:] + pairs[:first]:
                start = time.perf_counter()
                print(file=process.stdin, flush=True)
                number = pairs.index((program, process))
                waiting[number] = _wait(program, process)
                program.seconds.append(time.perf_counter() - start)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _wait(program: Program, process: Any) -> bool:
    """Waits for a program's next batch; returns False at its end."""
    for line in process.stdout:
        if line.startswith(TURN):
            program.amounts.append(float(line.removeprefix(TURN)))
            return True
        program.printed.append(line)
    if process.wait():
        text = "".join(program.printed[-40:])
        raise SystemExit(f"{' '.join(program.words)}\nfailed:\n{text}")
    return False


def wait_for_turn(amount: float) -> None:
    """Waits, in a program, until it may work on a batch with this many words or sentences."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()  # the batch before is not over until the GPU has done it
    print(f"{TURN}{amount}", flush=True)
    sys.stdin.readline()


def _leave_tpus_alone() -> None:
    """Lets --bf16 of plain fairseq, which means a TPU, use a GPU, as with the plugin."""
    from fairseq import options

    parse = options.parse_args_and_arch

    def parse_without_tpu(*args: Any, **kwargs: Any) -> Any:
        parsed = parse(*args, **kwargs)
        parsed.tpu = False
        return parsed

    options.parse_args_and_arch = parse_without_tpu


def main(mode: str, piece: str, *flags: str) -> None:
    """Runs ``fairseq-train`` or ``fairseq-generate``, which waits before each batch."""
    program = importlib.import_module(f"fairseq_cli.{mode}")
    switched_off = not piece

    def before_batch(amount: float) -> None:
        nonlocal switched_off
        if not switched_off:  # now the plugin is loaded
            import without

            without.switch_off(piece)
            switched_off = True
        wait_for_turn(amount)

    if "--user-dir" not in flags:
        _leave_tpus_alone()
    if mode == TRAIN:
        from fairseq.trainer import Trainer

        train_step = Trainer.train_step

        def train_in_turn(self: Any, samples: Any, *args: Any, **kwargs: Any) -> Any:
            before_batch(float(sum(sample["ntokens"] for sample in samples)))
            return train_step(self, samples, *args, **kwargs)

        Trainer.train_step = train_in_turn
    else:
        from fairseq.tasks.fairseq_task import FairseqTask

        inference_step = FairseqTask.inference_step

        def translate_in_turn(
            self: Any, generator: Any, models: Any, sample: Any, *args: Any, **kwargs: Any
        ) -> Any:
            before_batch(float(sample["nsentences"]))
            return inference_step(self, generator, models, sample, *args, **kwargs)

        FairseqTask.inference_step = translate_in_turn
    sys.argv = [f"fairseq-{mode}", *flags]
    program.cli_main()


if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    main(*sys.argv[1:])
