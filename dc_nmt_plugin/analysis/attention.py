"""Distance and entropy of attention heads: thesis 3.5.3, Figs 3.8-3.12."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch import Tensor

from ..charts import Chart, Line, draw_charts
from ..figure import heat_map
from ..modules.core.recording import Records
from .base import Analysis, Results, Table
from .loop import ForcedBatch
from .sites import ATTENTIONS, Site, attentions
from .subject import STOCK_RECORDS_NOTHING, Subject

OF = {
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
    "source": "attention of the decoder to the source",
}


def span_sums(
    weights: Tensor, padding: Tensor, keys: str = "lower"
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Returns the sums of distance, weight and entropy of each head over real query rows.

    After J. Vig, Y. Belinkov, "Analyzing the Structure of Attention in a Transformer Language
    Model", BlackboxNLP 2019. Entropy in nats; rows are not renormalised.

    Args:
        weights: (B, H, T, S), zero at padded keys
        padding: (B, T) bool, True at query rows to leave out
        keys: "lower" sums over keys j ≤ i, as the thesis prints; "all" over all of them, with the
            distance |i - j|. Where attention is causal both are the same

    Returns:
        Σ w·(i - j), Σ w, Σ -w log w, (H,) each in float64, and the number of rows
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
    return sums[0], sums[1], sums[2], int((~padding).sum())


class AttentionSpans(Analysis):
    """Computes distance and entropy by head and layer."""

    name = "attention"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --of and --keys."""
        parser.add_argument(
            "--of",
            choices=OF,
            help="which attention (default: encoder; for recurrent models: source)",
        )
        parser.add_argument(
            "--keys",
            choices=("lower", "all"),
            default="lower",
            help=(
                "keys to sum over: those up to the query, as in the thesis, or all keys "
                "(default: lower)"
            ),
        )

    def _of(self, subject: Subject) -> str:
        recurrent = not hasattr(subject.model.encoder, "stack")
        return self.args.of or ("source" if recurrent else "encoder")

    def missing(self, subject: Subject) -> str | None:
        """Returns why a model does not fit: fairseq's own, or without self-attention."""
        if not subject.records:
            return STOCK_RECORDS_NOTHING
        if self._of(subject) == "source" or hasattr(subject.model.encoder, "stack"):
            return None
        return f"has no {OF[self._of(subject)]} (--of {self._of(subject)})."

    def collector(self, subject: Subject) -> SpanSums:
        """Returns the collector of the sums of every head."""
        return SpanSums(self._of(subject), self.args.keys, subject.source_layers)

    def tables(self, results: Results) -> list[Table]:
        """Returns a table by head, and one with the means of the layers."""
        distance = any("distance" in row for found in results.values() for row in found["layers"])
        header = ["run", "layer", *(["mean distance, tokens"] if distance else [])]
        header += ["mean entropy, nats", "distance by head" if distance else "", "entropy by head"]
        rows = []
        for label, found in results.items():
            for row in found["layers"]:
                cells = [f"{row['distance']:.3f}" if "distance" in row else ""] if distance else []
                cells += [f"{row['entropy']:.3f}"]
                cells += [" ".join(f"{value:.2f}" for value in row.get("distances", []))]
                cells += [" ".join(f"{value:.2f}" for value in row["entropies"])]
                rows.append([label, row["name"], *cells])
        kinds = sorted({OF[found["of"]] for found in results.values()})
        return [Table(f"{' and '.join(kinds)}, means over heads", header, rows)]

    def draw(self, figure: Any, results: Results) -> None:
        """Draws heads by layers for one run (Fig. 3.8), means by layer for several (3.11, 3.12)."""
        has_distance = all(found["of"] != "source" for found in results.values())
        names = [("distance", "mean distance, tokens")] if has_distance else []
        names += [("entropy", "mean entropy, nats")]
        if len(results) > 1:
            draw_charts(figure, [Chart("layer", axis, _by_layer(results, key), integers=True)
                                 for key, axis in names])  # fmt: skip
            return
        (found,) = results.values()
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for (key, axis), axes in zip(names, panels, strict=True):
            plural = "distances" if key == "distance" else "entropies"
            values = [row[plural] for row in found["layers"]]
            heat_map(figure, axes, values, x="head", y="layer", colour=axis, numbers=".2f")
            axes.set_xticks(range(len(values[0])), range(1, len(values[0]) + 1))
            axes.set_yticks(range(len(values)), [row["label"] for row in found["layers"]])


def _by_layer(results: Results, key: str) -> dict[str, Line]:
    """Returns the means of a number by layer; both parts of a run share their colour."""
    lines = {}
    for label, found in results.items():
        for part in dict.fromkeys(row["part"] for row in found["layers"]):
            rows = [row for row in found["layers"] if row["part"] == part]
            fill = {"fillstyle": "none" if part == "local" else "full"}
            lines[f"{label} {part}".strip()] = Line(
                [row["layer"] for row in rows], [row[key] for row in rows], like=label, more=fill
            )
    return lines


class SpanSums:
    """Collects :func:`span_sums` of every attention of one kind.

    Args:
        of: a key of :data:`OF`
        keys: see :func:`span_sums`
        source_layers: numbers of the encoder layers that the main decoder reads
    """

    needs = ATTENTIONS

    def __init__(self, of: str, keys: str, source_layers: list[int]) -> None:
        self.of = of
        self.keys = "all" if of == "source" else keys
        self.source_layers = source_layers
        self.sums: dict[Site, Tensor] = {}
        self.rows: dict[Site, int] = {}

    def add(self, records: Records, batch: ForcedBatch) -> None:
        """Adds one module."""
        side, reads = ("decoder", "source") if self.of == "source" else (self.of, "self")
        for site, weights in attentions(records, self.source_layers):
            if (site.side, site.reads) == (side, reads):
                *sums, rows = span_sums(weights, batch.padding(side), self.keys)
                self.sums[site] = self.sums.get(site, 0) + torch.stack(sums).cpu()
                self.rows[site] = self.rows.get(site, 0) + rows

    def result(self) -> dict[str, Any]:
        """Returns means by head and layer; distances only if both sides have the same positions."""
        layers = []
        for site in sorted(self.sums, key=lambda site: (site.layer, site.part)):
            distance, mass, entropy = self.sums[site]
            entropies = (entropy / self.rows[site]).tolist()
            row = {
                "name": site.name,
                "layer": site.layer,
                "part": site.part,
                "label": f"{site.layer} {site.part}".strip(),
                "rows": self.rows[site],
                "entropy": sum(entropies) / len(entropies),
                "entropies": entropies,
            }
            if self.of != "source":
                # a head that looks at nothing before the query spans no distance
                distances = (distance / mass.clamp(min=1e-30)).tolist()
                row |= {"distance": sum(distances) / len(distances), "distances": distances}
            layers.append(row)
        return {"of": self.of, "keys": self.keys, "layers": layers}
