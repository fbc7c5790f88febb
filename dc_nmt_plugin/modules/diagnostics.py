"""Diagnostics: reductions of the tensors that the mechanisms record to the numbers of their papers.

A model has the diagnostics of all mechanisms that it contains. They are selected by the recorded
tensors, not by the name of the architecture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from .core.recording import Recorded, Records

Totals = dict[tuple[str | int, ...], tuple[Any, Any]]
"""parts of a name → (sum, count), to be added up over batches and workers and divided once."""

Key = TypeVar("Key")


@dataclass(frozen=True)
class Batch:
    """Describes a batch for a diagnostic, in addition to the records.

    Attributes:
        source: (B, M) tokens that the encoder reads; a language model's own words
        prefix: (B, T) tokens that the decoder reads; None for a language model
        target: (B, T) tokens to predict
        padding_idx: the padding's number
    """

    source: Tensor
    prefix: Tensor | None
    target: Tensor
    padding_idx: int

    def padding(self, side: str) -> Tensor:
        """Returns the padding (B, T) of the ``encoder`` or a decoder: bool, True at padding."""
        tokens = self.source if side == "encoder" or self.prefix is None else self.prefix
        return tokens.eq(self.padding_idx)

    @property
    def target_lengths(self) -> Tensor:
        """Returns the number of predictions (B) of each sentence, including the end of sentence."""
        return self.target.ne(self.padding_idx).sum(dim=1)


def self_attentions(records: Records) -> Iterator[tuple[str, int, Recorded]]:
    """Yields side, layer (1-based) and tensors of every self-attention of the main stacks."""
    for tensors in records.values():
        place = tensors.place
        if tensors and place and place.reads == "self" and not place.auxiliary:
            yield place.side, place.layer, tensors


def pool(totals: dict[Key, tuple[Any, Any]], key: Key, total: Any, count: Any) -> None:
    """Adds a sum and a count to the entry `key` of `totals`."""
    so_far = totals.get(key, (0, 0))
    totals[key] = (so_far[0] + total, so_far[1] + count)


def token_total(values: Tensor, padding: Tensor | None) -> tuple[float, int]:
    """Returns sum and number of the values at real tokens.

    Args:
        values: (B, T), one number per token
        padding: (B, T) bool, True at padding, or None
    """
    values = values.double()
    if padding is None:
        return float(values.sum()), values.numel()
    return float(values.masked_fill(padding, 0.0).sum()), int((~padding).sum())


# -- dual context (Ampomah et al., 7.2) ------------------------------------------------------------


def attention_divergence(
    global_weights: Tensor, local_weights: Tensor, padding: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the Jensen-Shannon divergence between α_g and α_l in nats, eqs (10)-(12).

    α is the element-wise maximum over heads, its rows not renormalised (the literal eq. 10).

    Args:
        global_weights, local_weights: (B, H, T, S)
        padding: (B, T) bool, True at query rows to leave out, or None

    Returns:
        the sum over query rows and their number, so that a corpus mean adds up exactly
    """
    alpha_g = global_weights.amax(dim=1).float()  # Eq. (10), (B, T, S)
    alpha_l = local_weights.amax(dim=1).float()
    mixture = 0.5 * (alpha_g + alpha_l)  # m of Eq. (11)
    rows = 0.5 * kl(alpha_g, mixture) + 0.5 * kl(alpha_l, mixture)  # Eq. (11), (B, T)
    if padding is None:
        return rows.sum(), torch.tensor(rows.numel(), device=rows.device)
    return rows.masked_fill(padding, 0.0).sum(), (~padding).sum()


def kl(p: Tensor, q: Tensor) -> Tensor:
    """Returns D_KL(P ‖ Q) over the last axis in nats, with 0 log 0 = 0: Eq. (12)."""
    precise = torch.promote_types(p.dtype, torch.float32)  # --fp16: a difference of large terms
    p, q = p.to(precise), q.to(precise)
    tiny = torch.finfo(q.dtype).tiny  # a softmax that came out as 0 is not exactly 0
    return (torch.xlogy(p, p) - torch.xlogy(p, q.clamp(min=tiny))).sum(dim=-1)


def layer_divergences(records: Records, batch: Batch) -> Totals:
    """``dv_encoder_l`` is eq. (11) for layer l, per query row; ``dv_encoder`` the mean over the
    side's layers, E_d of eq. (13).
    """
    totals: Totals = {}
    for side, layer, tensors in self_attentions(records):
        if "local_weights" in tensors:
            total, rows = attention_divergence(
                tensors["global_weights"], tensors["local_weights"], batch.padding(side)
            )
            totals["dv", side, layer] = (total, rows)
            # every layer has the same rows, so the pooled mean is the mean over layers, Eq. (13)
            pool(totals, ("dv", side), total, rows)
    return totals


# -- context-aware self-attention (AAAI 2019, Figs 2-4) --------------------------------------------

LAMBDAS = ("lambda_q", "lambda_k")


def mean_gates(records: Records, batch: Batch) -> Totals:
    """``lambda_q_encoder_l`` and ``lambda_k_encoder_l`` are layer l's gates over real tokens;
    ``lambda_q_encoder`` and ``lambda_k_encoder`` the mean over the side's layers.
    """
    totals: Totals = {}
    for side, layer, tensors in self_attentions(records):
        for gate in LAMBDAS:
            if gate in tensors:
                total, count = token_total(tensors[gate].squeeze(-1), batch.padding(side))
                totals[gate, side, layer] = (total, count)
                pool(totals, (gate, side), total, count)
    return totals


# -- cross aggregation (NLPCC 2019) ----------------------------------------------------------------


def head_weight_entropy(head_weights: Tensor) -> Tensor:
    """Returns the entropy (B,) of Λ (B, H) in nats; it is log H for equal weights."""
    entropies: Tensor = torch.special.entr(head_weights.double())
    return entropies.sum(dim=-1)


def routing_totals(records: Records, batch: Batch) -> Totals:
    """``head_weight_l_h`` is layer l's mean weight of head h (eq. 13), ``head_entropy_l`` the mean
    entropy of Λ in nats, ``added_norm_l`` the mean norm of Ω over heads and real positions.
    """
    totals: Totals = {}
    for side, layer, tensors in self_attentions(records):
        if "added_norm" in tensors:
            of_heads = tensors["added_norm"].double().mean(dim=1)  # (B, T)
            totals["added_norm", layer] = token_total(of_heads, batch.padding(side))
        if "head_weights" in tensors:
            weights = tensors["head_weights"]  # (B, H)
            sentences = weights.size(0)
            for head, total in enumerate(weights.double().sum(dim=0).tolist(), start=1):
                totals["head_weight", layer, head] = (total, sentences)
            totals["head_entropy", layer] = (float(head_weight_entropy(weights).sum()), sentences)
    return totals


# -- residual decoder (Miculicich Werlen et al. 2018, section 8.1) ---------------------------------


def previous_word_weights(records: Records) -> Tensor | None:
    """Returns the weights (B, T, T) of earlier words; None for a readout without such attention.

    Row t is for the prediction at position t, column i for the word read at position i ≤ t;
    padding is on the right.
    """
    for tensors in records.values():
        if "previous_words" in tensors:
            return tensors["previous_words"]
    return None


def attending(weights: Tensor, lengths: Tensor) -> Tensor:
    """Returns the predictions (B, T) that attend to something, of weights (B, T, T).

    Attention over states has nothing to attend to at the first position, so its row is zero.
    """
    real = torch.arange(weights.size(1), device=weights.device) < lengths[:, None]
    return real & (weights.sum(dim=-1) > 0.5)


def previous_word_totals(records: Records, batch: Batch) -> Totals:
    """``previous_entropy`` is the mean entropy of the weights in nats, ``previous_last`` the mean
    share of the last word, over all predictions that attend to something.
    """
    recorded = previous_word_weights(records)
    if recorded is None:
        return {}
    weights = recorded.double()
    counted = attending(weights, batch.target_lengths)
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)  # (B, T)
    last = weights.diagonal(dim1=1, dim2=2)  # (B, T)
    count = counted.sum()
    return {
        ("previous_entropy",): (entropy[counted].sum(), count),
        ("previous_last",): (last[counted].sum(), count),
    }


# -- all of them -----------------------------------------------------------------------------------


class Diagnostic(NamedTuple):
    """Reduces recorded tensors to the numbers of one mechanism's paper.

    Attributes:
        needs: names of the recorded tensors that it reduces
        totals: function of the records of one batch; returns nothing if no module recorded them
    """

    needs: tuple[str, ...]
    totals: Callable[[Records, Batch], Totals]


DIVERGENCE = Diagnostic(("global_weights", "local_weights"), layer_divergences)
MEAN_GATES = Diagnostic(LAMBDAS, mean_gates)
ROUTING = Diagnostic(("added_norm", "head_weights"), routing_totals)
PREVIOUS_WORDS = Diagnostic(("previous_words",), previous_word_totals)
DIAGNOSTICS = (DIVERGENCE, MEAN_GATES, ROUTING, PREVIOUS_WORDS)
NEEDED = frozenset(name for diagnostic in DIAGNOSTICS for name in diagnostic.needs)
"""The tensors to record for all of them; attention whose weights none needs stays fused."""


def diagnose(recorded: Recorded, batch: Batch, totals: Totals) -> None:
    """Adds every diagnostic of what one module recorded to `totals`."""
    for diagnostic in DIAGNOSTICS:
        for parts, (total, count) in diagnostic.totals({"": recorded}, batch).items():
            pool(totals, parts, total, count)
