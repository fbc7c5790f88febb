"""Distance and entropy of attention heads: thesis 3.5.3, Figs 3.8-3.12."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor

from ..errors import UserError
from ..inference.attention import ATTENTIONS, Site, attentions
from ..inference.forced_batch import ForcedBatch
from ..inference.subject import STOCK_RECORDS_NOTHING, Subject
from ..modules.core.recording import Records
from ..modules.diagnostics import pool
from .figure import HEAT, Chart, draw_charts
from .forced import force
from .options import ATTENTION_KINDS
from .report import Results, Table


def span_sums(weights: Tensor, padding: Tensor, keys: str = "lower") -> tuple[Tensor, int]:
    """Returns the sums of distance, weight and entropy of each head over real query rows.

    After J. Vig, Y. Belinkov, "Analyzing the Structure of Attention in a Transformer Language
    Model", BlackboxNLP 2019. Entropy in nats; rows are not renormalised.

    Args:
        weights: (B, H, T, S), zero at padded keys
        padding: (B, T) bool, True at query rows to leave out
        keys: "lower" sums over keys j ≤ i, as the thesis prints; "all" over all of them, with the
            distance |i - j|. Where attention is causal both are the same

    Returns:
        Σ w·(i - j), Σ w, Σ -w log w, (3, H) in float64, and the number of rows
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


def measure(subject: Subject, args: argparse.Namespace) -> dict[str, Any]:
    """Returns means by head and layer; distances only where both sides have the same positions.

    Raises:
        UserError: fairseq's own model, or a recurrent one without self-attention
    """
    if not subject.records:
        raise UserError(f"{subject.label}: {STOCK_RECORDS_NOTHING}")
    recurrent = not hasattr(subject.model.encoder, "stack")
    of = args.of or ("source" if recurrent else "encoder")
    if recurrent and of != "source":
        raise UserError(f"{subject.label}: has no {ATTENTION_KINDS[of]} (--of {of}).")
    side, reads = ("decoder", "source") if of == "source" else (of, "self")
    keys = "all" if of == "source" else "lower"
    totals: dict[Site, tuple[Tensor, int]] = {}  # of span_sums

    def add(records: Records, batch: ForcedBatch) -> None:
        for site, weights in attentions(records, subject.source_layers):
            if (site.side, site.reads) == (side, reads):
                sums, rows = span_sums(weights, batch.padding(side), keys)
                pool(totals, site, sums.cpu(), rows)

    force(subject, ATTENTIONS, add)
    layers = []
    for site in sorted(totals, key=lambda site: (site.layer, site.part)):
        (distance, mass, entropy), rows = totals[site]
        entropies = (entropy / rows).tolist()
        row = {
            "name": site.name,
            "layer": site.layer,
            "part": site.part,
            "label": f"{site.layer} {site.part}".strip(),
            "rows": rows,
            "entropy": sum(entropies) / len(entropies),
            "entropies": entropies,
        }
        if of != "source":
            # a head that looks at nothing before the query spans no distance
            distances = (distance / mass.clamp(min=1e-30)).tolist()
            row |= {"distance": sum(distances) / len(distances), "distances": distances}
        layers.append(row)
    return {"of": of, "keys": keys, "layers": layers}


def tables(results: Results, args: argparse.Namespace) -> list[Table]:
    """Returns a table with the means of the layers, and the numbers of their heads."""
    kinds = sorted({ATTENTION_KINDS[result["of"]] for result in results.values()})
    table = Table(
        f"{' and '.join(kinds)}, means over heads",
        ["run", "layer", "mean distance, tokens", "mean entropy, nats", "distance by head",
         "entropy by head"],
    )  # fmt: skip
    for label, result in results.items():
        for row in result["layers"]:
            distance = f"{row['distance']:.3f}" if "distance" in row else ""
            distances = " ".join(f"{value:.2f}" for value in row.get("distances", []))
            entropies = " ".join(f"{value:.2f}" for value in row["entropies"])
            entropy = f"{row['entropy']:.3f}"
            table.rows.append([label, row["name"], distance, entropy, distances, entropies])
    return [table]


def draw(figure: Any, results: Results, args: argparse.Namespace) -> None:
    """Draws heads by layers for one run (Fig. 3.8), means by layer for several (3.11, 3.12)."""
    names = [("distance", "distances", "mean distance, tokens")]
    names += [("entropy", "entropies", "mean entropy, nats")]
    if any(result["of"] == "source" for result in results.values()):
        names = names[1:]
    if len(results) > 1:
        charts = []
        for key, _, axis in names:
            charts.append(Chart("layer", axis, _by_layer(results, key)))
        draw_charts(figure, charts)
        return
    (result,) = results.values()
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for (_, key, axis), axes in zip(names, panels, strict=True):
        values = [row[key] for row in result["layers"]]
        _heat_map(figure, axes, values, axis)
        axes.set_yticks(range(len(values)), [row["label"] for row in result["layers"]])


def _by_layer(results: Results, key: str) -> dict[str, dict[int, float]]:
    """Returns the means of a number by layer, of each part of each run."""
    lines = {}
    for label, result in results.items():
        for part in dict.fromkeys(row["part"] for row in result["layers"]):
            rows = [row for row in result["layers"] if row["part"] == part]
            lines[f"{label} {part}".strip()] = {row["layer"]: row[key] for row in rows}
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
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade,
                      fontsize=8)  # fmt: skip
