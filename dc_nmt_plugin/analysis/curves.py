"""Learning curves of runs: losses, BLEU and diagnostics against updates."""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..charts import MOST_SERIES, Chart, Line, draw_charts
from ..errors import UsageError, UserError
from ..evaluation.logs import parse_statistics
from ..evaluation.seeds import by_row, system_of
from ..flags import add_list
from ..runs.records import record_of
from ..text.lines import read_log
from .base import Report, Results, Table

UNITS = {
    "loss": "bits a token", "nll_loss": "bits a token", "joint_loss": "bits a token",
    "ppl": "perplexity", "bleu": "BLEU",
}  # fmt: skip
DEFAULT = ("train:loss", "valid:loss", "valid:bleu")
_BOOKKEEPING = frozenset(
    ("epoch", "num_updates", "wps", "wpb", "bsz", "ups", "lr", "gnorm", "clip", "train_wall",
     "gb_free", "wall", "update", "loss_scale", "uncertain", "oom")
)  # fmt: skip
_OF_DECODERS = re.compile(
    f"(aux[0-9]+_)?({'|'.join(UNITS)}|accuracy)(_aux[0-9]+)?|best_(joint_)?(loss|bleu)"
)
WORDS = {  # diagnostics, by the beginnings of their names
    "dv": "divergence, {}, nats",
    "lambda_q": "gate of queries, {}",
    "lambda_k": "gate of keys, {}",
    "source_layer": "share of encoder layer {}",
    "head_weight": "head weight, layer and head {}",
    "head_entropy": "entropy of head weights, layer {}",
    "added_norm": "norm of the added logits, layer {}",
    "previous_entropy": "entropy over earlier words, nats",
    "previous_last": "share of the last word",
}
MOST = 12  # panels
MOST_ALONE = 3  # lines of a single number that do not hide each other


class Curves(Report):
    """Curves of the training logs of runs; needs no model."""

    name = "curves"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --numbers, --at and --over-seeds."""
        add_list(
            parser, "--numbers", str, "NAME",
            "numbers to draw, such as valid:bleu or valid:dv_encoder; all: everything "
            f"(default: those of {','.join(DEFAULT)} that were logged, and means of diagnostics)",
        )  # fmt: skip
        add_list(
            parser, "--at", int, "UPDATES",
            "print the values after these updates instead of the last values",
        )  # fmt: skip
        parser.add_argument(
            "--over-seeds",
            action="store_true",
            help=(
                "average runs that differ in the seed alone; the figure shows the range of "
                "the seeds, the table of --at the standard deviation"
            ),
        )

    def measure(self, folder: Path) -> dict[str, Any]:
        """Returns the curves of one run.

        `loss` is that of the main decoder for every run. fairseq logs the joint loss of a run with
        auxiliary decoders under that name: here `joint_loss`, so that no figure has both on one
        axis.

        Args:
            folder: of the run, with ``train.log``; or such a log

        Raises:
            UserError: no log, or nothing in it
        """
        log = folder if folder.is_file() else folder / "train.log"
        if not log.is_file():
            raise UserError(f"{folder}: has no train.log (the output of fairseq-train).")
        curves = read_curves(log)
        if not curves:
            raise UserError(f"{log}: has no numbers; it is not a log of --log-format json.")
        record = record_of(folder) if folder.is_dir() else None
        return {
            "seed": record.seed if record else None,
            "curves": {_comparable(name, curves): curve for name, curve in curves.items()},
        }

    def _rows(self, results: Results) -> dict[str, list[str]]:
        """Returns the labels of the runs of each row: of one run, or of all seeds of a system."""
        rows = {label: system_of(label, found["seed"]) for label, found in results.items()}
        return by_row(rows, self.args.over_seeds)

    def chosen(self, results: Results) -> list[str]:
        """Returns the names of the curves to show.

        Raises:
            UserError: a name that no run has
        """
        there = list(dict.fromkeys(name for found in results.values() for name in found["curves"]))
        wanted = self.args.numbers
        if wanted == ["all"]:
            return there
        if wanted:
            unknown = next((name for name in wanted if name not in there), None)
            if unknown is not None:
                raise UsageError(
                    f"--numbers: no run has {unknown!r}; there are {', '.join(there)}."
                )
            return list(wanted)
        diagnostics = [
            name
            for name in there
            if name.startswith("valid:") and name not in DEFAULT
            and not _OF_DECODERS.fullmatch(name.removeprefix("valid:"))
            # of each head: the entropy over heads says the same
            and not re.fullmatch(r"valid:head_weight_[0-9]+_[0-9]+", name)
            # of a layer, where the layers' mean is there: the mean alone
            and re.sub("_[0-9]+$", "", name) not in {*there} - {name}
        ]  # fmt: skip
        return [*(name for name in DEFAULT if name in there), *diagnostics]

    def tables(self, results: Results) -> list[Table]:
        """Returns the last and the best value of every curve, or with --at those at some updates.

        Raises:
            UserError: a name that no run has, or updates after which no run logged it
        """
        if self.args.at:
            rows = self.values_at(results)
            return [self._at(name, rows) for name in self.chosen(results)]
        table = Table(
            "curves at their ends", ["run", "number", "updates", "first", "last", "least", "most"]
        )
        for label, found in results.items():
            for name in self.chosen(results):
                if name in found["curves"]:
                    points = found["curves"][name]
                    values = [value for _, value in points]
                    cells = [values[0], values[-1], min(values), max(values)]
                    text = [f"{value:.4g}" for value in cells]
                    table.rows.append([label, name, f"{points[-1][0]:,}", *text])
        return [table]

    def _check_updates(self, names: list[str], results: Results) -> None:
        """
        Raises:
            UserError: updates after which no run logged any of the numbers
        """
        logged = {
            updates
            for found in results.values()
            for name in names
            for updates, _ in found["curves"].get(name, [])
        }
        for at in self.args.at:
            if at not in logged:
                nearest = min(logged, key=lambda updates: abs(updates - at))
                raise UsageError(
                    f"--at {at}: no run logged {' or '.join(names)} there; the nearest is {nearest}"
                    f" (from {min(logged)} to {max(logged)})."
                )

    def values_at(self, results: Results) -> list[dict[str, Any]]:
        """Returns every number after the updates of --at, for each run or (--over-seeds) system.

        Returns:
            rows ``{"number", "run", "updates", "mean", "deviation", "logged", "of"}``: mean and
            standard deviation (None of too few) over the runs that logged it there, how many these
            are, and of how many

        Raises:
            UserError: a name that no run has, or updates after which no run logged it
        """
        names = self.chosen(results)
        self._check_updates(names, results)
        rows = []
        for name in names:
            curves = {run: dict(found["curves"].get(name, [])) for run, found in results.items()}
            for system, runs in self._rows(results).items():
                for at in self.args.at:
                    values = [curves[run][at] for run in runs if at in curves[run]]
                    mean = statistics.fmean(values) if values else None
                    deviation = statistics.stdev(values) if len(values) > 1 else None
                    rows.append(
                        {"number": name, "run": system, "updates": at, "mean": mean,
                         "deviation": deviation, "logged": len(values), "of": len(runs)}
                    )  # fmt: skip
        return rows

    def _at(self, name: str, rows: list[dict[str, Any]]) -> Table:
        """Returns one number of :meth:`values_at`, with a row for each run or system."""
        table = Table(f"{name} by updates", ["run", *(f"{at:,}" for at in self.args.at)])
        cells: dict[str, list[str]] = {}
        for row in rows:
            if row["number"] == name:
                text = "" if row["mean"] is None else f"{row['mean']:.4g}"
                text += "" if row["deviation"] is None else f" ± {row['deviation']:.2g}"
                text += f" ({row['logged']})" if 0 < row["logged"] < row["of"] else ""
                cells.setdefault(row["run"], []).append(text)
        table.rows.extend([run, *texts] for run, texts in cells.items())
        return table

    def draw(self, figure: Any, results: Results) -> None:
        """Draws a panel for each number, a line for each run; over seeds, mean and range."""
        names = self.chosen(results)
        if self.args.numbers and len(names) > MOST:
            raise UsageError(
                f"--numbers: a figure has room for {MOST} of them, not for {len(names)}"
            )
        names = names[:MOST]
        rows = self._rows(results)
        # many lines of one number hide each other: each has a panel, the others grey behind it
        apart = len(names) == 1 and len(rows) > MOST_ALONE
        charts = []
        for name in names:
            curves = {run: dict(found["curves"].get(name, [])) for run, found in results.items()}
            unit = UNITS.get(re.sub("^aux[0-9]+_|_aux[0-9]+$", "", name.partition(":")[2]))
            charts.append(
                Chart(
                    "updates",
                    _in_words(name, unit),
                    {row: _line([curves[run] for run in runs]) for row, runs in rows.items()},
                    integers=True,
                    most=1 if apart else MOST_SERIES,
                    finish=_perplexities if unit == UNITS["ppl"] else _long_numbers,
                )
            )
        draw_charts(figure, charts)


def _line(curves: list[dict[int, float]]) -> Line:
    """Returns the mean of the curves where all have a value, with their range."""
    updates = [at for at in curves[0] if all(at in curve for curve in curves)]
    values = [[curve[at] for curve in curves] for at in updates]
    spread = ([min(several) for several in values], [max(several) for several in values])
    means = [statistics.fmean(several) for several in values]
    return Line(updates, means, spread if len(curves) > 1 else None)


def _long_numbers(axes: Any) -> None:
    axes.locator_params(axis="x", nbins=5)  # in narrow panels


def _perplexities(axes: Any) -> None:
    """Makes the vertical axis logarithmic: from hundreds to single digits."""
    from matplotlib.ticker import LogFormatter

    _long_numbers(axes)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))


def _in_words(name: str, unit: str | None) -> str:
    """Returns the name of an axis: ``valid:dv_encoder`` is the validation set's divergence."""
    split, _, number = name.partition(":")
    for start, words in WORDS.items():
        if number == start or number.startswith(f"{start}_"):
            return f"{split}: {words.format(number.removeprefix(f'{start}_').replace('_', ' '))}"
    return (
        f"{split}: {number} ({unit})" if unit and unit.lower() != number else f"{split}: {number}"
    )


def _comparable(name: str, curves: Mapping[str, object]) -> str:
    """Returns the name of a logged number that is comparable with those of other runs."""
    split, _, number = name.partition(":")
    if f"{split}:main_loss" not in curves:
        return name
    names = {"loss": "joint_loss", "best_loss": "best_joint_loss", "main_loss": "loss"}
    return f"{split}:{names.get(number, number)}"


def read_curves(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Reads the curves of a log: ``train:loss`` and so on → (updates, value), updates rising.

    A curve of training has one value for each logging interval. Logs of continued runs are read
    as one run.

    Args:
        path: output of ``fairseq-train --log-format json``
    """
    points: dict[str, dict[int, float]] = {}
    for line in read_log(path):
        parsed = parse_statistics(line)
        if parsed is None or parsed[0] == "train":
            continue
        split = "train" if parsed[0] == "train_inner" else parsed[0]
        values = {key.removeprefix(f"{split}_"): value for key, value in parsed[1].items()}
        if "num_updates" not in values:
            continue
        updates = int(values["num_updates"])
        for name, value in values.items():
            if name not in _BOOKKEEPING:
                try:
                    # the later value holds for updates that a continued run repeats
                    points.setdefault(f"{split}:{name}", {})[updates] = float(value)
                except (TypeError, ValueError):
                    continue
    return {name: sorted(curve.items()) for name, curve in points.items()}
