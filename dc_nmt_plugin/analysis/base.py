"""Base of all analyses: recording, reduction, tables and a figure."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import UserError
from ..table import number_cell
from .loop import Collector, force
from .names import ABOUT
from .subject import Subject

Results = dict[str, dict[str, Any]]
"""label of a run → what was found, ready for JSON."""


@dataclass(frozen=True)
class Table:
    """Holds a table of text cells.

    Attributes:
        title: above it, with the quantity and units
        header: names of the columns
        rows: cells
        notes: lines under it
    """

    title: str
    header: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def layer_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[tuple[list[str], Mapping[int, float]]],
    form: str,
) -> Table:
    """Returns a table with a column for each layer.

    Args:
        title: of the table
        header: names of the columns before the layers
        rows: first cells, and layer → value
        form: of the values, as for :func:`format`
    """
    layers = sorted({layer for _, values in rows for layer in values})
    cells = [
        [*first, *(number_cell(values.get(layer), form) for layer in layers)]
        for first, values in rows
    ]
    return Table(title, [*header, *(f"layer {layer}" for layer in layers)], cells)


class Report:
    """Base of reports: results of one or several runs as tables and a figure.

    Args:
        args: the command's options, those of :meth:`options` among them

    Attributes:
        name: on the command line, one of ABOUT
        title: one line for lists and pages, from ABOUT
        source: the paper and the figure that it draws, from ABOUT
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            cls.title, cls.source = ABOUT[cls.name]

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds the options of the report."""

    def tables(self, results: Results) -> list[Table]:
        """Returns the results of all runs as text tables."""
        raise NotImplementedError

    def draw(self, figure: Any, results: Results) -> None:
        """Draws the results of all runs into an empty matplotlib figure."""
        raise NotImplementedError


class Analysis(Report):
    """Base of analyses of models.

    Attributes:
        text: target of the forced decoding, one of :data:`.loop.TEXTS`
    """

    text: str = "reference"

    def missing(self, subject: Subject) -> str | None:
        """Returns why this model cannot be analysed, as the end of a sentence; None if it can."""
        return None

    def collector(self, subject: Subject) -> Collector | None:
        """Returns the collector for a forced decoding; None if the analysis needs none."""
        return None

    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Completes the result of the collector, for analyses with more than one pass.

        Raises:
            UserError: options that do not fit the subset, such as tags of another length
        """
        return found


def require(analysis: Analysis, subject: Subject) -> None:
    """
    Raises:
        UserError: the model lacks a part that the analysis needs
    """
    why = analysis.missing(subject)
    if why is not None:
        raise UserError(f"{subject.label}: {why}")


def measure(analysis: Analysis, subject: Subject) -> dict[str, Any]:
    """Returns the result of one model.

    Raises:
        UserError: the model or the subset lacks a part that the analysis needs
    """
    require(analysis, subject)
    collector = analysis.collector(subject)
    if collector is None:
        return analysis.finish(subject, {})
    force(subject, [collector], analysis.text)
    return analysis.finish(subject, collector.result())
