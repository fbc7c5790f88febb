"""Learning curves of runs: losses, BLEU and diagnostics against updates."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..evaluation.logs import parse_statistics
from ..text.lines import read_lines
from .base import Report, Results, Table
from .figure import finish_axes, styles

UNITS = {
    "loss": "bits a token", "nll_loss": "bits a token", "main_loss": "bits a token",
    "ppl": "perplexity", "bleu": "BLEU",
}  # fmt: skip
DEFAULT = ("train:loss", "valid:loss", "valid:bleu")
_BOOKKEEPING = frozenset(
    ("epoch", "num_updates", "wps", "wpb", "bsz", "ups", "lr", "gnorm", "clip", "train_wall",
     "gb_free", "wall", "update", "loss_scale", "uncertain", "oom")
)  # fmt: skip
MOST = 12  # panels


class Curves(Report):
    """What runs logged while they were trained; needs no model."""

    name = "curves"
    size = (10.0, 3.4)

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """--numbers."""
        parser.add_argument(
            "--numbers",
            nargs="+",
            metavar="NAME",
            help="what to draw, such as valid:bleu or valid:dv_encoder; all for everything "
            f"(default: {' '.join(DEFAULT)}, those there are, and the diagnostics' means)",
        )

    def measure(self, folder: Path) -> dict[str, Any]:
        """The curves of one run.

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
        return {"curves": curves}

    def chosen(self, results: Results) -> list[str]:
        """Names of the curves that are shown.

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
                raise UserError(f"--numbers: no run has {unknown!r}; there are {', '.join(there)}.")
            return list(wanted)
        diagnostics = [
            name
            for name in there
            if name.startswith("valid:") and not name[-1].isdigit() and name not in DEFAULT
            and name.removeprefix("valid:") not in (*UNITS, "best_loss", "best_bleu", "accuracy")
        ]  # fmt: skip
        return [*(name for name in DEFAULT if name in there), *diagnostics]

    def tables(self, results: Results) -> list[Table]:
        """The last and the best value of every curve."""
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

    def draw(self, figure: Any, results: Results) -> None:
        """A panel a number, a line a run."""
        from matplotlib.ticker import LogFormatter

        names = self.chosen(results)[:MOST]
        columns = min(3, len(names))
        rows = -(-len(names) // columns)
        figure.set_size_inches(3.4 * columns, 2.8 * rows)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat[len(names) :]:
            axes.set_visible(False)
        for name, axes in zip(names, grid.flat, strict=False):
            for (label, found), style in zip(results.items(), styles(), strict=False):
                points = found["curves"].get(name, [])
                few = {"marker": None} if len(points) > 30 else {"markersize": 3}
                updates, values = [x for x, _ in points], [y for _, y in points]
                axes.plot(updates, values, label=label, **{**style, **few})
            split, _, number = name.partition(":")
            unit = UNITS.get(number)
            shown = f"{number} ({unit})" if unit and unit.lower() != number else number
            finish_axes(axes, "updates", f"{split}: {shown}", integers=True)
            axes.locator_params(axis="x", nbins=5)  # long numbers in narrow panels
            if number == "ppl":  # from hundreds to single digits
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
                axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        grid.flat[0].legend(fontsize=8)


def read_curves(path: Path) -> dict[str, list[tuple[int, float]]]:
    """``train:loss`` and so on → (updates, value), rising; of resumed trainings too.

    Training's are those of every logging interval.

    Args:
        path: output of ``fairseq-train --log-format json``
    """
    points: dict[str, dict[int, float]] = {}
    for line in read_lines(path):
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
                    # a resumed training overwrites what it repeats
                    points.setdefault(f"{split}:{name}", {})[updates] = float(value)
                except (TypeError, ValueError):
                    continue
    return {name: sorted(curve.items()) for name, curve in points.items()}
