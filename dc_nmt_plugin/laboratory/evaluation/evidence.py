"""Holds a record against the files of its run: scores, parameters, one run under two names."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from ...checkpoints.names import of_run
from ...errors import UsageError, UserError
from ...models.presets import architectures
from ...runs.record import CURVE, Score
from ...text.lines import stream_lines
from ..finding import Run
from .logs import read_statistics
from .metrics import METRICS
from .systems import ComparedSystem

# Two runs of one translation are one where so many different sentences are wrong.
# Broken models repeat one sentence, and easy sets are translated without an error.
SAME_ERRORS = 20
LEAST_LOSSES = 3  # of a curve; two runs may have the same first loss, rounded


def scored_again(system: ComparedSystem, metric: str) -> Score | None:
    """Returns the score of a run's hypotheses as they are now; None if its record has none.

    Raises:
        UserError: the record has another score
    """
    assert system.run is not None
    recorded = system.run.decoding.score(metric)
    if recorded is None:
        return None
    score = system.score(METRICS[metric])
    if abs(score.value - recorded.value) > 0.005:
        raise UserError(
            f"{system.label}: its hypotheses have {score.value:.2f} {metric}, and "
            f"{recorded.value:.2f} in its record; score them again"
        )
    return score


def parameters_in_checkpoint(run: Run) -> int | None:
    """Returns the number of parameters in the checkpoint of a run; None where nobody knows.

    It is not known without a readable checkpoint, and of models outside this package, whose other
    tensors are not known.

    Raises:
        UserError: the record has another number
    """
    record = run.record
    checkpoint = of_run(run.folder)
    if checkpoint is None or record.mechanisms or record.architecture not in architectures():
        return None
    from ...checkpoints.loading import load_checkpoint
    from ..parameter_count import count_saved

    try:
        state = load_checkpoint(str(checkpoint), mmap=True)
    except UserError:
        return None  # translate says what is wrong with it
    counted = count_saved(state["model"])
    if record.training.parameters not in (None, counted):
        raise UserError(
            f"{checkpoint}: has {counted:,} parameters, and {record.training.parameters:,} are in "
            f"the record {run.path}: one of them is of another run"
        )
    return counted


def check_are_runs(
    label: str, runs: Mapping[str, Run], systems: Mapping[str, ComparedSystem]
) -> None:
    """Checks that the seeds of a row are as many training runs.

    Args:
        label: of the row
        runs: seed → run
        systems: seed → text; empty without the text of the test set

    Raises:
        UserError: two have the same learning curve, or the same translation with
            :data:`SAME_ERRORS` different wrong sentences
    """
    losses = {seed: _losses(run) for seed, run in runs.items()}
    for one, other in combinations(losses, 2):
        if losses[one] and losses[one] == losses[other]:
            equal = "learning curve"
        elif systems and _share_errors(systems[one], systems[other]):
            equal = "translation"
        else:
            continue
        raise UsageError(
            f"--over-seeds: seeds {one} and {other} of {label} have the same {equal}, so they are "
            "one run under two names; leave one out"
        )


def _losses(run: Run) -> list[tuple[str, int, float]]:
    """Returns split, updates and loss of each line of a learning curve; [] for a short one."""
    logs = [run.folder / name for name in (run.record.training.log, CURVE) if name]
    log = next(filter(Path.is_file, logs), None)
    if log is None:
        return []
    losses = []
    for split, updates, values in read_statistics(stream_lines(log, errors="replace")):
        if "loss" in values:
            losses.append((split, updates, float(values["loss"])))
    return losses if len({loss for _, _, loss in losses}) >= LEAST_LOSSES else []


def _share_errors(one: ComparedSystem, other: ComparedSystem) -> bool:
    sides = one.texts.raw
    if sides.hypotheses != other.texts.raw.hypotheses:
        return False
    pairs = zip(sides.hypotheses, sides.references, strict=True)
    return len({line for line, reference in pairs if line != reference}) >= SAME_ERRORS
