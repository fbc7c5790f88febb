"""Which settings differ between two runs: one comparison, and one list of what a flag changes.

Four questions are asked of two runs, and each has kinds of flags that may differ:

- Is the run in a folder the one that is asked for? ``WHILE_TRAINING`` of recipes/done.py
- Are they one system with two seeds (``dc-nmt results --over-seeds``)? :data:`OF_ONE_SYSTEM`
- Was a run trained as the run of a published number? :data:`NOT_PRINTED`
- May a run continue from a checkpoint? :data:`WHILE_CONTINUING`
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatch
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .record import Flags, Record

# What a flag changes, if not the trained model → flags of fairseq-train, with * for any letters
CHANGES = {
    "seed": ("seed",),
    # named in a record, and compared by name
    "name": ("arch", "task", "criterion", "source-lang", "target-lang", "user-dir"),
    # where and how fast the same numbers are computed, up to rounding
    "machine": (
        "cpu", "num-workers", "ddp-backend", "distributed-*", "cuda-graphs",
        "checkpoint-activations", "xagg-checkpoint", "offload-activations",
        "max-tokens-valid", "batch-size-valid",
    ),
    "log": ("log-*", "no-progress-bar", "tensorboard-logdir", "wandb-project"),
    # instead, the tokens of an update are compared
    "batch": ("max-tokens", "update-freq"),
    # which checkpoint is the best, and which ones are kept and averaged
    "checkpoints": (
        "save-dir", "save-interval", "save-interval-updates", "keep-interval-updates",
        "keep-last-epochs", "keep-best-checkpoints", "no-epoch-checkpoints", "no-save",
        "validate-interval", "validate-interval-updates",
    ),
    # where a run begins again, and when it ends
    "end": ("max-update", "max-epoch", "stop-*", "patience", "restore-file", "reset-*"),
    # sentences that are left out, or batched otherwise
    "sentences": ("skip-invalid-size-inputs-valid-test", "required-batch-size-multiple"),
    # how parameters are found; with the same parameters, a model computes the same
    "training": (
        "*drop*", "*-embed-path", "max-*-positions", "aux-weight*", "*scaled-init",
        "*weight-init", "*bias-init",
    ),
}  # fmt: skip

# Runs of one system: a mean of runs with other checkpoints would be one of different settings.
OF_ONE_SYSTEM = ("seed", "machine", "log", "batch")
# Papers do not print these settings.
NOT_PRINTED = ("seed", "name", "machine", "log", "batch", "checkpoints", "sentences")
# The settings of a model in a checkpoint, and in the run that continues from it
WHILE_CONTINUING = ("machine", "training")
# what a run may change when it goes on, without being another one from then on
WHILE_LONGER = ("name", "machine", "log", "checkpoints", "end")

TOKENS = "tokens of an update"
TOKENS_TOLERANCE = 0.01  # rounded over other numbers of GPUs
NOT_GIVEN = "not given"


class Differing(NamedTuple):
    """A setting with its values in two runs; NOT_GIVEN where a run has none."""

    name: str
    value: Any
    other_value: Any


def may_differ(flag: str, kinds: Collection[str]) -> bool:
    """Returns True for a flag (without dashes) of one of the kinds in :data:`CHANGES`."""
    return any(fnmatch(flag, pattern) for kind in kinds for pattern in CHANGES[kind])


def compared(settings: Mapping[str, Any], kinds: Collection[str]) -> dict[str, Any]:
    """Returns the settings whose flags (without dashes) are of none of the kinds."""
    return {flag: value for flag, value in settings.items() if not may_differ(flag, kinds)}


def all_settings(record: Record) -> Flags:
    """Returns the settings of all updates; one with several values has them in words.

    An example is "0.1 until update 1000, then 0.3". Records of earlier versions have such words as
    the value of the setting itself.
    """
    settings = dict(record.settings)
    parts = [*(segment.settings for segment in record.segments), record.settings]
    for flag in dict.fromkeys(flag for part in parts for flag in part):
        values = [part.get(flag, NOT_GIVEN) for part in parts]
        changes = [
            f"{shown(value)} until update {segment.until_update}, then "
            for segment, (value, following) in zip(record.segments, pairwise(values), strict=True)
            if not same_value(value, following)
        ]
        if changes and not may_differ(flag, WHILE_LONGER):
            settings[flag] = "".join(changes) + shown(values[-1])
    return settings


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Differing]:
    """Yields the settings of two runs that differ, in the order of `one`, then of `other`.

    Args:
        one, other: name → value; None: unknown, which may be equal to anything
    """
    for name in dict.fromkeys([*one, *other]):
        value, other_value = one.get(name, NOT_GIVEN), other.get(name, NOT_GIVEN)
        if value is None or other_value is None or same_value(value, other_value):
            continue
        if name == TOKENS and _are_close(value, other_value):
            continue
        yield Differing(name, value, other_value)


def same_value(one: Any, other: Any) -> bool:
    """Returns True for 1e-9 and "1e-09", and for "(0.9,0.98)" and "(0.9, 0.98)"."""
    return bool(_comparable(one) == _comparable(other))


def _comparable(value: Any) -> object:
    if value == "":  # a switch in a command line has no value
        return True
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value).replace(" ", "").strip("()")


def _are_close(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return numbers and math.isclose(one, other, rel_tol=TOKENS_TOLERANCE)


def shown(value: Any) -> str:
    """Returns a value for a sentence."""
    return "given" if value is True or value == "" else str(value)
