"""What fairseq's and Python's exceptions mean to a user, in a sentence each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from ..errors import UserError
from ..files import MAKE_ROOM, no_space

Told = Callable[[re.Match[str]], str]

# pattern of "Type: message" → sentence
_SENTENCES: list[tuple[str, Told]] = [
    (
        r"Size of sample #(\d+) is invalid \(=\(?(?:\D*\d+\()?(\d+).*max_positions=(\(.*?\)|\d+)",
        lambda found: (
            f"sentence {found[1]} (from 0) has {found[2]} tokens or its translation more than the "
            f"model's positions {found[3]}: leave such sentences out with "
            "--skip-invalid-size-inputs-valid-test, or train with higher --max-source-positions "
            "and --max-target-positions"
        ),
    ),
    (
        r"Sentences lengths should not exceed max_tokens=(-?\d+)",
        lambda found: f"--max-tokens: {found[1]} is less than one sentence has; raise it",
    ),
    (
        r"FloatingPointError: gradients are Nan/Inf",
        lambda _: (
            "the loss or its gradients became NaN or infinite: the training has diverged; lower "
            "--lr, raise --warmup-updates or give --clip-norm, and start again from the last "
            "checkpoint (crash.pt in --save-dir is the state at this moment)"
        ),
    ),
    (
        r"FloatingPointError: (?:AMP: )?Minimum loss scale reached",
        lambda _: (
            "half precision fails: the loss scale fell to its least value; lower --lr, or train "
            "with --amp or in float32"
        ),
    ),
    (
        r"FloatingPointError: Fatal error: gradients are inconsistent",
        lambda _: "the processes' gradients differ: they do not run the same command or data",
    ),
    (
        r"The dataset is empty",
        lambda _: "no sentence is left to train on: all are too long; raise --max-source-positions",
    ),
    (
        r"Dataset not found: (\S+) \((.*)\)",
        lambda found: f"{found[2]}: has no subset {found[1]!r}",
    ),
    (
        r"world size is (\d+) but have (\d+) available devices",
        lambda found: f"--distributed-world-size: {found[1]} and there are {found[2]} GPUs",
    ),
    (
        r"min_len cannot be larger than max_len",
        lambda _: "--min-len: is above the greatest length (--max-len-a, --max-len-b)",
    ),
    (
        r"ValueError: (optimizer|lr_scheduler) is required!",
        lambda found: (
            f"--{found[1].replace('_', '-')}: none is chosen; of fairseq-hydra-train, "
            f"{found[1]}=NAME"
        ),
    ),
    (r"(Please install .*)", lambda found: found[1]),
    (
        r"No module named '(\S+)'",
        lambda found: f"{found[1]} is not installed: pip install {found[1]}",
    ),
    (
        r"CUDA out of memory|OutOfMemoryError",
        lambda _: "the GPU is out of memory: lower --max-tokens",
    ),
    (r"^MemoryError", lambda _: "out of memory"),
]
# an exception that names a flag explains itself
_NAMES_A_FLAG = re.compile(r"^\w*(?:Error|Exception): (.*--[a-z][a-z-]+.*)", re.S)


def explained(error: BaseException) -> str | None:
    """A sentence, or None where only a traceback helps.

    Args:
        error: what ended the program
    """
    if isinstance(error, UserError):
        return str(error)
    sentence = _explained(error)
    return f"{sentence.rstrip('.')}." if sentence else None


def _explained(error: BaseException) -> str | None:
    if type(error).__name__ == "ProcessRaisedException":
        return _of_spawned(str(error))
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if reason := no_space(error):
        return f"{reason}: {MAKE_ROOM}"
    if isinstance(error, KeyError) and _functions(error)[-1:] == ["validate"]:
        return (
            f"--best-checkpoint-metric: {error.args[0]!r} is not measured on validation; the log's "
            "valid_… numbers are"
        )
    return _of_text(f"{type(error).__name__}: {error}")


def _of_text(text: str) -> str | None:
    for pattern, told in _SENTENCES:
        if found := re.search(pattern, text):
            return told(found)
    if found := _NAMES_A_FLAG.match(text):
        return " ".join(found[1].split())
    return None


def _of_spawned(text: str) -> str | None:
    last = text.strip().rpartition("\n\n")[2]
    lines = text.strip().splitlines()
    for number, line in reversed(list(enumerate(lines))):
        if found := re.match(r"(?:[\w.]+\.)?(\w*(?:Error|Exception|Checkpoint)): (.*)", line):
            if line.startswith("dc_nmt_plugin"):  # several problems have a line each
                return "\n".join([found[2], *lines[number + 1 :]])
            return _of_text(f"{found[1]}: {found[2]}")
    return _of_text(last)


def _functions(error: BaseException) -> list[str]:
    """Names of the functions that the exception passed through."""
    names, place = [], error.__traceback__
    while place is not None:
        names.append(place.tb_frame.f_code.co_name)
        place = place.tb_next
    return names
