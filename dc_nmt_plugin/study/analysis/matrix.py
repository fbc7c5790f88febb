"""Shows the attention matrices of one sentence, for any attention; residual decoder, Fig. 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from torch import Tensor

from ...errors import UsageError, printable
from ...laboratory.inference.attention import Site, attentions_of
from ...text.segmentation import segment
from .figure import HEAT, shown_labels
from .report import Table
from .subject import Subject

INCHES = 0.13  # of a label
MOST = 120  # panels; programs cannot open a larger picture


@dataclass(frozen=True)
class HeadWeights:
    """The weights of one attention, of a head or of their mean."""

    attention: str  # its name, such as decoder.4.source
    head: str  # such as head 2; empty where there is one head
    queries: list[str]  # pieces of the rows
    keys: list[str]  # pieces of the columns
    weights: list[list[float]]


@dataclass(frozen=True)
class Matrices:
    attentions: list[str]  # names of all attentions of the model
    matrices: list[HeadWeights]  # the chosen ones


def measure(
    subject: Subject,
    *,
    sentence: str | None = None,
    index: int | None = None,
    of: Sequence[str] | None = None,
    heads: str = "mean",
) -> Matrices:
    """Runs one sentence, and returns the chosen matrices."""
    if sentence is None:
        dataset, row = subject.dataset, (index or 1) - 1
        name = f"sentence {row + 1}"
    else:
        pieces = segment(sentence, subject.run.data, subject.source_lang)
        dataset, row, name = subject.encoded([pieces]), 0, "--sentence"
    attention_at = attentions_of(subject, dataset, row, name=name)
    matrices = []
    for site in _chosen(list(attention_at), of, subject.label):
        queries, keys, weights = attention_at[site]
        for head, matrix in _heads(weights, heads, subject.label):
            rows = matrix.double().tolist()
            matrices.append(HeadWeights(site.name, head, queries, keys, rows))
    return Matrices([site.name for site in attention_at], matrices)


def _chosen(sites: Sequence[Site], patterns: Sequence[str] | None, label: str) -> list[Site]:
    if patterns is None:  # the last layer of every kind
        last = {}
        for site in sites:
            if not site.side.startswith("aux"):
                last[site.side, site.reads, site.part] = site
        return list(last.values())
    chosen = []
    for pattern in patterns:
        for site in sites:
            if fnmatch(site.name, pattern) and site not in chosen:
                chosen.append(site)
    if not chosen:
        names = ", ".join(site.name for site in sites)
        raise UsageError(f"--of: {label} has no attention {' or '.join(patterns)}; it has {names}.")
    return chosen


def _heads(weights: Tensor, heads: str, label: str) -> list[tuple[str, Tensor]]:
    """Returns names and matrices of the chosen heads of weights (H, T, S)."""
    number = weights.size(0)
    if heads == "mean":
        return [("mean of heads" if number > 1 else "", weights.mean(dim=0))]
    if heads == "all":
        return [(f"head {head + 1}", weights[head]) for head in range(number)]
    if heads.isdecimal() and 1 <= int(heads) <= number:
        return [(f"head {heads}", weights[int(heads) - 1])]
    raise UsageError(f"--heads: {heads!r} is not mean, all or a head from 1 to {number} ({label}).")


def tables(results: Mapping[str, Matrices]) -> list[Table]:
    """Returns the names of all attentions, and each chosen matrix with queries as rows."""
    names = Table("attentions", ["run", "names"])
    all_tables = [names]
    for label, result in results.items():
        names.rows.append([label, " ".join(result.attentions)])
        for matrix in result.matrices:
            title = f"{label}: {matrix.attention} {matrix.head}".rstrip()
            table = Table(f"{title}, weights", ["query", *matrix.keys])
            for query, weights in zip(matrix.queries, matrix.weights, strict=True):
                table.rows.append([query, *(f"{weight:.2f}" for weight in weights)])
            all_tables.append(table)
    return all_tables


def draw(figure: Any, results: Mapping[str, Matrices]) -> None:
    """Draws a panel for each matrix; a darker shade is a greater weight."""
    panels = [(label, matrix) for label, result in results.items() for matrix in result.matrices]
    columns = min(len(panels), 2 if len(panels) < 5 else 3)  # four are two by two
    rows = -(-len(panels) // columns)  # rounded up
    width = max(4.2, *(INCHES * len(shown_labels(len(matrix.keys))) for _, matrix in panels))
    height = max(3.8, *(INCHES * len(shown_labels(len(matrix.queries))) for _, matrix in panels))
    figure.set_size_inches(width * columns, height * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    greatest = max(max(map(max, matrix.weights)) for _, matrix in panels)
    for (label, matrix), axes in zip(panels, grid.flat, strict=False):
        # an SVG has a point for each weight, which the viewer enlarges
        look = {"cmap": HEAT, "aspect": "auto", "interpolation": "none"}
        shades = axes.imshow(matrix.weights, vmin=0, vmax=greatest, **look)
        shown = shown_labels(len(matrix.keys))
        axes.set_xticks(shown, [matrix.keys[i] for i in shown], rotation=90, fontsize=7)
        shown = shown_labels(len(matrix.queries))
        axes.set_yticks(shown, [matrix.queries[i] for i in shown], fontsize=7)
        axes.tick_params(left=False, bottom=False)
        title = f"{printable(label)}\n{matrix.attention} {matrix.head}"  # no wider than its panel
        axes.set_title(title.rstrip(), fontsize=9)
        axes.set_xlabel("attended piece")
        axes.set_ylabel("piece that attends")
    figure.colorbar(shades, ax=grid, label="attention weight")
