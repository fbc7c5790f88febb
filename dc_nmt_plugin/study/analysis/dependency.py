"""Contribution of the auxiliary decoders to the main one: thesis 4.5.5, eqs (4.4)-(4.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...laboratory.inference.attention import ForcedBatch, attentions
from ...modules.core.recording import Records
from ...modules.diagnostics import kl
from .figure import Chart, draw_charts
from .forced import reduced_batch, samples
from .report import Table, by_layer, layer_table
from .subject import Subject


def output_dependency(main: Tensor, independent: Tensor) -> Tensor:
    """Returns D_{y_t} of eq. (4.4): divergence of two output distributions given by their logits.

    Args:
        main, independent: (…, V) logits of the main decoder and of the ind-decoder

    Returns:
        (…)
    """
    precise = torch.promote_types(main.dtype, torch.float32)
    p = torch.log_softmax(main, dim=-1, dtype=precise)
    q = torch.log_softmax(independent, dim=-1, dtype=precise)
    return (p.exp() * (p - q)).sum(dim=-1)


def head_dependency(main: Tensor, independent: Tensor, padding: Tensor) -> Tensor:
    """Returns D_h^l of eq. (4.6) for every sentence: mean over its target rows.

    Args:
        main, independent: (B, H, T, M) attention weights to the source
        padding: (B, T) bool, True at rows to leave out

    Returns:
        (B, H)
    """
    rows = kl(main, independent).masked_fill(padding[:, None], 0.0)  # (B, H, T)
    return rows.sum(dim=-1) / (~padding).sum(dim=-1)[:, None]


@dataclass(frozen=True)
class LayerDependency:
    layer: int
    heads: list[float]  # D_h^l, eq. (4.6)
    mean: float  # eq. (4.7)


@dataclass(frozen=True)
class SentenceDependency:
    """Dependency of each piece of one translation."""

    index: int  # of the sentence, from 1
    source: str  # its pieces
    pieces: list[str]  # of the translation, with <EOS>
    dependency: list[float]  # D_{y_t} of each piece, eq. (4.4), nats


@dataclass(frozen=True)
class Dependency:
    """Dependency of one model on its fusion with auxiliary decoders."""

    sentences: int  # number of translations
    output: float  # D_Y, eq. (4.5), nats
    layers: list[LayerDependency]
    sentence: SentenceDependency  # the shown one


@torch.no_grad()
def measure(subject: Subject, *, index: int | None = None) -> Dependency:
    """Returns the divergence of the main decoder from itself without fusion.

    Translates greedily, then forces the translation with and without fusion. The means over heads
    and sentences are eqs (4.5) and (4.7).

    Raises:
        UserError: a model without fusion
    """
    can_fuse = getattr(subject.model.decoder, "can_fuse", False)
    subject.require(can_fuse, "fusion with auxiliary decoders (--aux-fusion)")
    shown = subject.numbers[0] if index is None else index - 1
    batches = [*subject.batches]
    if shown not in subject.numbers:
        batches += subject.batch_of(shown + 1)
    output_total = 0.0
    totals: dict[int, Tensor] = {}  # layer → sum over sentences of D_h, (H,)
    sentence = SentenceDependency(shown + 1, "", [], [])
    used = set(subject.numbers)
    for sample in samples(subject, "greedy", batches):
        batch = ForcedBatch.of(subject, sample)
        by_token, heads = _of_batch(subject, sample, batch.padding("decoder"))
        if shown in batch.numbers:
            row = batch.numbers.index(shown)
            sentence = _sentence_dependency(subject, shown, by_token[row], batch.target[row])
        if not set(batch.numbers) <= used:
            continue
        by_sentence = by_token.double().sum(dim=1) / batch.target_lengths  # eq. (4.5)
        output_total += float(by_sentence.sum())
        for layer, by_sentence_and_head in heads.items():
            totals[layer] = totals.get(layer, 0) + by_sentence_and_head.double().sum(dim=0)
    sentences = len(subject.numbers)
    layers = []
    for layer, total in sorted(totals.items()):
        by_head = total / sentences
        layers.append(LayerDependency(layer, by_head.tolist(), float(by_head.mean())))
    return Dependency(sentences, output_total / sentences, layers, sentence)


def _of_batch(
    subject: Subject, sample: dict[str, Any], padding: Tensor
) -> tuple[Tensor, dict[int, Tensor]]:
    """Forces a batch with and without fusion.

    Returns:
        D_{y_t} of every token (B, T), zero at padding, and layer → D_h^l of every sentence (B, H)
    """
    weights: dict[int, Tensor] = {}  # of the main decoder, until the ind-decoder's layer has run
    heads: dict[int, Tensor] = {}

    def keep(layer: int, main: Tensor) -> None:
        weights[layer] = main

    def compare(layer: int, independent: Tensor) -> None:
        heads[layer] = head_dependency(weights.pop(layer), independent, padding)

    states = _states(subject, sample, keep)
    with without_fusion(subject.model):
        independent_states = _states(subject, sample, compare)
    project = subject.model.decoder.output_layer
    rows = []
    # one sentence at a time, because logits are large
    for main, independent in zip(states, independent_states, strict=True):
        rows.append(output_dependency(project(main), project(independent)))
    return torch.stack(rows).masked_fill(padding, 0.0), heads


def _states(
    subject: Subject, sample: dict[str, Any], take: Callable[[int, Tensor], None]
) -> Tensor:
    """Returns the main decoder's states (B, T, C); gives `take` each layer's source attention.

    `take` gets the number of a layer and its weights (B, H, T, M), right after the layer has run.
    With one softmax for each source layer, their heads are further heads.
    """

    def of_module(records: Records, batch: ForcedBatch) -> None:
        weights_by_layer: dict[int, list[Tensor]] = {}
        for site, weights in attentions(records, subject.source_layers):
            if (site.side, site.reads) == ("decoder", "source"):
                weights_by_layer.setdefault(site.layer, []).append(weights)
        for layer, parts in weights_by_layer.items():
            take(layer, torch.cat(parts, dim=1))

    return reduced_batch(subject, sample, ("weights",), of_module)


@contextmanager
def without_fusion(model: Any) -> Iterator[None]:
    """Context in which the main decoder acts as if the fusion's weights were zero (ind-decoder)."""
    model.decoder.fuse = False
    try:
        yield
    finally:
        model.decoder.fuse = True


def _sentence_dependency(
    subject: Subject, number: int, dependency: Tensor, target: Tensor
) -> SentenceDependency:
    """Returns the dependency of each piece of one translation, without padding."""
    dictionary = subject.task.target_dictionary
    real = target.ne(dictionary.pad())
    pieces = []
    for token in target[real].tolist():
        pieces.append("<EOS>" if token == dictionary.eos() else dictionary[token])
    source = " ".join(subject.pieces(subject.dataset.src[number], "encoder"))
    return SentenceDependency(number + 1, source, pieces, dependency[real].tolist())


def tables(results: Mapping[str, Dependency]) -> list[Table]:
    """Returns tables by model and layer, and by word of one sentence."""
    rows = []
    words = Table("dependency of each piece of one translation, nats", ["run", "sentence", ""])
    for label, result in results.items():
        rows.append(([label, f"{result.output:.4f}"], by_layer(result.layers, "mean")))
        shown = result.sentence
        pairs = zip(shown.pieces, shown.dependency, strict=True)
        text = "  ".join(f"{piece} {value:.3f}" for piece, value in pairs)
        words.rows.append([label, str(shown.index), text])
    title = "mean dependency on fusion, nats (greedy translations)"
    return [layer_table(title, ["run", "output D_Y"], rows, ".4f"), words]


def draw(figure: Any, results: Mapping[str, Dependency]) -> None:
    """Draws Figs 4.7a, 4.7b and 4.8."""
    lines = {label: by_layer(result.layers, "mean") for label, result in results.items()}
    outputs = [result.output for result in results.values()]
    charts = [
        Chart("model", "mean dependency $D_Y$, nats", bars={"": outputs}, groups=[*results]),
        Chart("decoder layer", "mean dependency $D^l$, nats", lines),
    ]
    for label, result in results.items():
        charts.append(
            Chart(
                "piece of the translation",
                "$D_{y_t}$, nats",
                bars={"": result.sentence.dependency},
                groups=result.sentence.pieces,
                title=f"{label}: {result.sentence.source}",
                finish=_turn_labels,
            )
        )
    columns = 2 if len(charts) == 2 else 1  # the pieces of a sentence need the width
    draw_charts(figure, charts, columns=columns, size=(9 / columns, 2.6))


def _turn_labels(axes: Any) -> None:
    axes.tick_params(axis="x", labelrotation=45)
