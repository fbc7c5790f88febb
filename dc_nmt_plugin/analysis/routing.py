"""Head weights and added logits of cross aggregation, from what its modules record.

Everything comes as (sum, count), so that the totals of batches and of workers can be added and
divided once, exactly. ``python -m dc_nmt_plugin.analysis.routing`` measures how the softmax of the
head weights Λ (Eq. 13) saturates with length at initialisation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..modules.cross_aggregation import HEAD_WEIGHTS, CrossAggregationSelfAttention
from ..modules.masks import SequenceMask
from ..modules.recording import recording


def head_weight_totals(head_weights: Tensor) -> tuple[list[float], int]:
    """Sum of Λ over sentences, head by head, and the number of sentences.

    Args:
        head_weights: (B, H) as recorded
    """
    return head_weights.double().sum(dim=0).tolist(), head_weights.size(0)


def head_weight_entropy(head_weights: Tensor) -> Tensor:
    """Entropy in nats (B,) of every sentence's Λ (B, H); log H where all heads weigh the same."""
    entropies: Tensor = torch.special.entr(head_weights.double())
    return entropies.sum(dim=-1)


def entropy_total(head_weights: Tensor) -> tuple[float, int]:
    """Sum of the entropy of Λ (B, H) over sentences, in nats, and the number of sentences."""
    return float(head_weight_entropy(head_weights).sum()), head_weights.size(0)


def added_norm_total(added_norm: Tensor, padding: Tensor | None) -> tuple[float, int]:
    """Sum of the norms of the added logits over heads and real queries, and their number.

    Args:
        added_norm: (B, H, T) as recorded
        padding: (B, T) bool, True at padding, or None
    """
    values = added_norm.double()
    if padding is None:
        return float(values.sum()), values.numel()
    real = int((~padding).sum()) * values.size(1)
    return float(values.masked_fill(padding[:, None, :], 0.0).sum()), real


class EntropyByLength:
    """Mean entropy of Λ by sentence length, added up batch by batch.

    Args:
        bounds: upper bounds of the length buckets, ascending, inclusive; longer sentences make
            one more bucket
    """

    def __init__(self, bounds: Sequence[int] = (10, 30, 100)) -> None:
        self.bounds = list(bounds)
        self.totals = [0.0] * (len(self.bounds) + 1)
        self.counts = [0] * (len(self.bounds) + 1)

    def add(self, head_weights: Tensor, padding: Tensor | None, length: int) -> None:
        """Add one layer's record of one batch.

        Args:
            head_weights: (B, H)
            padding: (B, T) bool, True at padding, or None
            length: T, the length of all sentences where there is no padding
        """
        entropies = head_weight_entropy(head_weights).tolist()
        lengths = [length] * len(entropies) if padding is None else (~padding).sum(1).tolist()
        for entropy, tokens in zip(entropies, lengths, strict=True):
            bucket = bisect_left(self.bounds, tokens)
            self.totals[bucket] += entropy
            self.counts[bucket] += 1

    def means(self) -> dict[str, float]:
        """{"≤ 10": nats, …, "> 100": nats} of the buckets that have sentences."""
        names = [f"≤ {bound}" for bound in self.bounds] + [f"> {self.bounds[-1]}"]
        rows = zip(names, self.totals, self.counts, strict=True)
        return {name: total / count for name, total, count in rows if count}


@torch.no_grad()
def initial_entropy(
    *, embed_dim: int, num_heads: int, head_weights: str, length: int, modules: int = 8
) -> float:
    """Mean entropy (nats) of Λ in untrained modules, on layer-normalised Gaussian sentences.

    Args:
        embed_dim: model width C
        num_heads: heads H
        head_weights: "mean" or "sum"
        length: positions a sentence
        modules: how many fresh modules are measured, on four sentences each
    """
    total, count = 0.0, 0
    for _ in range(modules):
        attention = CrossAggregationSelfAttention(
            embed_dim=embed_dim, num_heads=num_heads, head_weights=head_weights
        )
        x = nn.functional.layer_norm(torch.randn(4, length, embed_dim), (embed_dim,))
        with recording(attention) as records:
            attention(x, SequenceMask())
        entropy, sentences = entropy_total(records[""]["head_weights"])
        total, count = total + entropy, count + sentences
    return total / count


def main() -> None:
    """Print the table that the default of `head_weights` rests on."""
    torch.manual_seed(1)
    lengths = (10, 30, 100)
    print("entropy of the head weights at initialisation, nats, at lengths", *lengths)
    for num_heads, embed_dim in ((4, 256), (8, 512)):
        print(f"{num_heads} heads, width {embed_dim}; at most", end=" ")
        print(f"{float(torch.tensor(float(num_heads)).log()):.2f}")
        for kind in HEAD_WEIGHTS:
            row = [
                initial_entropy(
                    embed_dim=embed_dim,
                    num_heads=num_heads,
                    head_weights=kind,
                    length=length,
                    modules=25,
                )
                for length in lengths
            ]
            print(f"  {kind:5}", *(f"{entropy:5.2f}" for entropy in row))


if __name__ == "__main__":
    main()
