"""Learning curves of runs: losses, BLEU and diagnostics against updates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError, check_choices
from ...laboratory.evaluation.logs import read_statistics
from ...runs.record import CURVE
from ...text.lines import stream_lines
from . import CURVES
from .figure import Chart, draw_charts
from .report import Table

UNITS = {"loss": "bits a token", "nll_loss": "bits a token", "joint_loss": "bits a token"}
# beginnings of the names of diagnostics
DIAGNOSTICS = (
    "dv",
    "lambda_q",
    "lambda_k",
    "source_layer",
    "head_weight",
    "head_entropy",
    "added_norm",
    "previous_entropy",
    "previous_last",
)
_BOOKKEEPING = frozenset(
    (
        "epoch",
        "num_updates",
        "wps",
        "wpb",
        "bsz",
        "ups",
        "lr",
        "gnorm",
        "clip",
        "train_wall",
        "gb_free",
        "wall",
        "update",
        "loss_scale",
        "uncertain",
        "oom",
    )
)
MOST = 12  # panels


@dataclass(frozen=True)
class Curves:
    curves: dict[str, list[tuple[int, float]]]  # such as train:loss → (updates, value)


def measure(folder: Path) -> Curves:
    """Returns the curves of one run.

    `loss` is that of the main decoder for every run. fairseq logs the joint loss of a run with
    auxiliary decoders under that name: here `joint_loss`, so that no figure has both on one axis.

    Args:
        folder: of the run, with ``curve.log``; or a log of ``--log-format json``

    Raises:
        UserError: no log, or nothing in it
    """
    logs = [folder] if folder.is_file() else [folder / CURVE, folder / "train.log"]
    log = next((path for path in logs if path.is_file()), None)
    if log is None:
        raise UserError(
            f"{folder}: has no {CURVE}, which fairseq-train with this plugin writes beside run.json"
        )
    curves = read_curves(log)
    if not curves:
        raise UserError(f"{log}: has no numbers; it is no {CURVE}, nor a log of --log-format json.")
    return Curves({_comparable(name, curves): curve for name, curve in curves.items()})


def read_curves(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Reads the curves of a log: ``train:loss`` and so on → (updates, value), updates rising.

    A curve of training has one value for each logging interval. Logs of continued runs are read
    as one run.

    Args:
        path: ``curve.log``, or output of ``fairseq-train --log-format json``
    """
    points: dict[str, dict[int, float]] = {}
    for split, updates, values in read_statistics(stream_lines(path, errors="replace")):
        for name, value in values.items():
            number = None if name in _BOOKKEEPING else _as_number(value)
            if number is not None:
                # the later value holds for updates that a continued run repeats
                points.setdefault(f"{split}:{name}", {})[updates] = number
    return {name: sorted(curve.items()) for name, curve in points.items()}


def _as_number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _comparable(name: str, curves: Mapping[str, object]) -> str:
    """Returns the name of a logged number that is comparable with those of other runs."""
    split, _, number = name.partition(":")
    if f"{split}:main_loss" not in curves:
        return name
    names = {"loss": "joint_loss", "best_loss": "best_joint_loss", "main_loss": "loss"}
    return f"{split}:{names.get(number, number)}"


def _chosen(results: Mapping[str, Curves], numbers: Sequence[str] | None) -> list[str]:
    """Returns the names of the curves to show."""
    logged = list(dict.fromkeys(name for result in results.values() for name in result.curves))
    if numbers == ["all"]:
        return logged
    if not numbers:
        return _usual(logged)
    check_choices("--numbers", numbers, logged)
    return list(numbers)


def _usual(logged: Sequence[str]) -> list[str]:
    """Returns those of :data:`.CURVES` that were logged, and means of diagnostics."""
    chosen = [name for name in CURVES if name in logged]
    for name in logged:
        is_diagnostic = re.match(f"valid:({'|'.join(DIAGNOSTICS)})(_|$)", name)
        # not a layer where the mean over layers is there, nor each head beside their entropy
        mean = re.sub("_[0-9]+$", "", name)
        has_mean = mean != name and mean in logged
        if is_diagnostic and not has_mean and not name.startswith("valid:head_weight_"):
            chosen.append(name)
    return chosen


def tables(results: Mapping[str, Curves], *, numbers: Sequence[str] | None = None) -> list[Table]:
    """Returns the first, last, least and greatest value of every curve."""
    header = ["run", "number", "updates", "first", "last", "least", "most"]
    table = Table("curves at their ends", header)
    for label, result in results.items():
        for name in _chosen(results, numbers):
            points = result.curves.get(name)
            if points:
                values = [value for _, value in points]
                cells = [values[0], values[-1], min(values), max(values)]
                text = [f"{value:.4g}" for value in cells]
                table.rows.append([label, name, f"{points[-1][0]:,}", *text])
    return [table]


def draw(
    figure: Any,
    results: Mapping[str, Curves],
    systems: Sequence[str] = (),
    *,
    numbers: Sequence[str] | None = None,
) -> None:
    """Draws a panel for each number, a line for each run.

    Runs whose labels begin with one of `systems` have one colour.
    """
    charts = []
    for name in _chosen(results, numbers)[:MOST]:
        lines = {label: dict(result.curves.get(name, [])) for label, result in results.items()}
        charts.append(Chart("updates", _axis(name), lines, finish=_finish))
    draw_charts(figure, charts, runs=systems)


def _finish(axes: Any) -> None:
    axes.locator_params(axis="x", nbins=5)  # long numbers in narrow panels
    if axes.get_ylabel().endswith(": ppl"):
        axes.set_yscale("log")  # from hundreds to single digits


def _axis(name: str) -> str:
    """Returns the name of an axis: a number of a log, with its unit."""
    split, _, number = name.partition(":")
    unit = UNITS.get(re.sub("^aux[0-9]+_|_aux[0-9]+$", "", number))
    return f"{split}: {number} ({unit})" if unit else f"{split}: {number}"
