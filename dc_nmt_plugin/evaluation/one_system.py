"""Checks that runs of one system differ in the seed alone."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import UsageError
from ..runs.finding import Run

# flags that do not change the settings of a run: seed, folders, and settings of the machine; the
# tokens of an update are compared as a product
_NOT_SETTINGS = frozenset(
    (
        *("seed", "tensorboard-logdir", "wandb-project"),
        *("max-tokens", "max-tokens-valid", "update-freq", "num-workers", "ddp-backend", "cpu"),
        *("distributed-world-size", "fp16", "bf16", "amp", "memory-efficient-fp16"),
        *("log-format", "log-interval", "log-file", "no-progress-bar"),
    )
)
_OPEN_END = {"patience", "max-epoch", "stop-time-hours", "stop-min-lr"}
_TEXT = "digest of the training text"
_UNKNOWN = ""
_TOKENS = "tokens an update"  # max-tokens of all processes and of all their batches


def _settings(run: Run) -> dict[str, str]:
    """Returns the settings that are the same for every seed: name → value.

    Includes the training text, the tokens of an update, and the updates unless training stops
    early.
    """
    found = {f"--{name}": str(value) for name, value in run.record.settings.items()}
    found = {n: value for n, value in found.items() if n.removeprefix("--") not in _NOT_SETTINGS}
    if not run.record.settings.keys() & _OPEN_END:
        found["updates"] = str(run.updates or "unknown")
    if run.record.training.tokens is not None:
        found[_TOKENS] = f"{run.record.training.tokens:,}"
    found[_TEXT] = run.record.data.text or _UNKNOWN
    return found


def check_one_system(row: str, runs: Mapping[str, Run]) -> None:
    """
    Raises:
        UserError: runs of one system were trained with other settings
    """
    settings = {label: _settings(run) for label, run in runs.items()}
    (first, values), *others = settings.items()
    for label, other_values in others:
        for name in sorted({*values, *other_values}):
            one, other = (each.get(name, "not given") for each in (values, other_values))
            same = one == other or (name == _TOKENS and _nearly(one, other))
            if not same and _UNKNOWN not in (one, other):
                raise UsageError(
                    f"--over-seeds: {row} would be a mean of different settings: {name} is {one} "
                    f"in {first} and {other} in {label}; leave one out, or --name RUN=LABEL"
                )


def _nearly(one: str, other: str) -> bool:
    """Returns True if tokens per update differ by less than 2%, as over other numbers of GPUs."""
    numbers = [float(text.replace(",", "")) for text in (one, other) if text[:1].isdecimal()]
    return len(numbers) == 2 and math.isclose(*numbers, rel_tol=0.02)
