"""Distance and entropy of attention heads: thesis 3.5.3, Figs 3.8-3.12."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...errors import UserError
from ...laboratory.inference.attention import ATTENTIONS, ForcedBatch, Site, attentions
from ...laboratory.inference.model import STOCK_RECORDS_NOTHING
from ...laboratory.table import number_cell
from ...modules.core.recording import Records
from ...modules.diagnostics import pool
from . import ATTENTION_KINDS, KEYS
from .figure import HEAT, Chart, draw_charts
from .forced import force
from .report import Table, by_layer
from .subject import Subject


def span_sums(weights: Tensor, padding: Tensor, keys: str = "all") -> tuple[Tensor, int]:
    """Returns the sums of distance, weight and entropy of each head over real query rows.

    After J. Vig, Y. Belinkov, "Analyzing the Structure of Attention in a Transformer Language
    Model", BlackboxNLP 2019. Entropy in nats; rows are not renormalised.

    Args:
        weights: (B, H, T, S), zero at padded keys
        padding: (B, T) bool, True at query rows to leave out
        keys: a key of :data:`.KEYS`: "all" of them, or "lower" for j ≤ i, as the thesis prints;
            where attention is causal both are the same

    Returns:
        Σ w·|i - j|, Σ w, Σ -w log w, (3, H) in float64, and the number of rows
    """
    weights = weights.to(torch.promote_types(weights.dtype, torch.float32))  # --fp16
    if keys == "lower":
        weights = weights.tril()
    queries = torch.arange(weights.size(2), device=weights.device)[:, None]
    offset = (queries - torch.arange(weights.size(3), device=weights.device)).abs()
    rows = torch.stack(
        [
            torch.einsum("bhts,ts->bht", weights, offset.to(weights.dtype)),
            weights.sum(dim=-1),
            torch.special.entr(weights).sum(dim=-1),
        ]
    )  # (3, B, H, T)
    sums = rows.masked_fill(padding[:, None], 0.0).double().sum(dim=(1, 3))  # (3, H)
    return sums, int((~padding).sum())


@dataclass(frozen=True)
class LayerSpans:
    """Means of the heads of one layer, over all real queries."""

    name: str  # of the attention, such as encoder.2.self.local
    layer: int
    part: str  # global or local of dual contexts, f3 for source layer 3, or nothing
    label: str  # layer and part
    rows: int  # number of queries
    entropy: float  # nats
    entropies: list[float]
    distance: float | None = None  # tokens; None where queries and keys are of two sentences
    distances: list[float] | None = None


@dataclass(frozen=True)
class AttentionSpans:
    """Distance and entropy of one kind of attention, by layer."""

    of: str  # a key of ATTENTION_KINDS
    keys: str  # those of the sums, a key of KEYS
    layers: list[LayerSpans]


def measure(subject: Subject, *, of: str | None = None, keys: str = "all") -> AttentionSpans:
    """Returns means by head and layer; distances only where both sides have the same positions.

    Raises:
        UserError: fairseq's own model, or a recurrent one without self-attention
    """
    if not subject.records:
        raise UserError(f"{subject.label}: {STOCK_RECORDS_NOTHING}")
    recurrent = not hasattr(subject.model.encoder, "stack")
    if of is None:
        of = "source" if recurrent else "encoder"
    subject.require(not recurrent or of == "source", f"{ATTENTION_KINDS[of]} (--of {of})")
    side, reads = ("decoder", "source") if of == "source" else (of, "self")
    totals: dict[Site, tuple[Tensor, int]] = {}  # of span_sums

    def add(records: Records, batch: ForcedBatch) -> None:
        for site, weights in attentions(records, subject.source_layers):
            if (site.side, site.reads) == (side, reads):
                sums, rows = span_sums(weights, batch.padding(side), keys)
                pool(totals, site, sums.cpu(), rows)

    force(subject, ATTENTIONS, add)
    sites = sorted(totals, key=lambda site: (site.layer, site.part))
    layers = [_layer_spans(site, *totals[site], with_distance=of != "source") for site in sites]
    return AttentionSpans(of, keys, layers)


def _layer_spans(site: Site, sums: Tensor, rows: int, with_distance: bool) -> LayerSpans:
    distance, mass, entropy = sums
    entropies = (entropy / rows).tolist()
    # a head that looks at nothing before the query spans no distance
    distances = (distance / mass.clamp(min=1e-30)).tolist() if with_distance else None
    return LayerSpans(
        name=site.name,
        layer=site.layer,
        part=site.part,
        label=f"{site.layer} {site.part}".strip(),
        rows=rows,
        entropy=sum(entropies) / len(entropies),
        entropies=entropies,
        distance=sum(distances) / len(distances) if distances else None,
        distances=distances,
    )


def tables(results: Mapping[str, AttentionSpans]) -> list[Table]:
    """Returns a table with the means of the layers, and the numbers of their heads."""
    kinds = sorted({ATTENTION_KINDS[result.of] for result in results.values()})
    header = ["run", "layer", "mean distance, tokens", "mean entropy, nats"]
    header += ["distance by head", "entropy by head"]
    keys = KEYS[next(iter(results.values())).keys]
    table = Table(f"{' and '.join(kinds)}, means over heads and {keys}", header)
    for label, result in results.items():
        for row in result.layers:
            distance = number_cell(row.distance, ".3f")
            distances = " ".join(f"{value:.2f}" for value in row.distances or ())
            entropies = " ".join(f"{value:.2f}" for value in row.entropies)
            entropy = f"{row.entropy:.3f}"
            table.rows.append([label, row.name, distance, entropy, distances, entropies])
    return [table]


def draw(figure: Any, results: Mapping[str, AttentionSpans]) -> None:
    """Draws heads by layers for one run (Fig. 3.8), means by layer for several (3.11, 3.12)."""
    names = [("distance", "distances", "mean distance, tokens")]
    names += [("entropy", "entropies", "mean entropy, nats")]
    if any(result.of == "source" for result in results.values()):
        names = names[1:]
    if any(result.keys == "lower" for result in results.values()):
        names = [(mean, of_heads, f"{axis}, keys j ≤ i") for mean, of_heads, axis in names]
    if len(results) > 1:
        charts = [Chart("layer", axis, _by_layer(results, key)) for key, _, axis in names]
        draw_charts(figure, charts, runs=[*results])
        return
    (result,) = results.values()
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for (_, key, axis), axes in zip(names, panels, strict=True):
        values = [getattr(row, key) for row in result.layers]
        _heat_map(figure, axes, values, axis)
        axes.set_title(ATTENTION_KINDS[result.of], fontsize=9)
        axes.set_yticks(range(len(values)), [row.label for row in result.layers])


def _by_layer(results: Mapping[str, AttentionSpans], key: str) -> dict[str, dict[int, float]]:
    """Returns the means of a number by layer, of each part of each run."""
    lines = {}
    for label, result in results.items():
        for part in dict.fromkeys(row.part for row in result.layers):
            name = f"{label} ({ATTENTION_KINDS[result.of]}) {part}".strip()
            lines[name] = by_layer(result.layers, key, part=part)
    return lines


def _heat_map(figure: Any, axes: Any, values: list[list[float]], colour: str) -> None:
    """Draws layers by heads as shades, with their numbers."""
    image = axes.imshow(values, cmap=HEAT, aspect="auto")
    figure.colorbar(image, ax=axes, label=colour)
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    axes.set_xticks(range(len(values[0])), range(1, len(values[0]) + 1))
    middle = sum(image.get_clim()) / 2
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            shade = "white" if value > middle else "black"
            text = f"{value:.2f}"
            axes.text(column, row, text, ha="center", va="center", color=shade, fontsize=8)
