"""Trains the two-layer classifier of probing, and chooses it on validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor, nn

Data = dict[str, tuple[Tensor, Tensor]]
"""Split → vectors (N, C) and classes (N,)."""


@dataclass(frozen=True)
class Setting:
    """Holds the training settings of a classifier."""

    lr: float  # of RMSProp
    batch: int  # sentences
    epochs: int = 100  # maximum
    l2: float = 1e-4  # λ, factor of the squared weights of the hidden layer
    # hidden and dropout: the grid, from which validation chooses; not in the papers, so SentEval's
    hidden: Sequence[int] = (50, 100, 200)
    dropout: Sequence[float] = (0.0, 0.1, 0.2)
    # epochs without a better validation accuracy before training stops. The papers have such a
    # criterion without its value. SentEval validates every fourth epoch and stops at the sixth time
    patience: int = 5


SETTINGS = {
    "dual-context": Setting(lr=2.5e-4, batch=64),  # dual context, section 7.1
    "thesis": Setting(lr=1e-3, batch=512),  # thesis, section 4.5.4
}


class Probe(nn.Module):
    """Linear, dropout, sigmoid, linear: SentEval's classifier with a hidden layer."""

    def __init__(self, dim: int, hidden: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(dim, hidden)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Maps (N, dim) → logits (N, classes)."""
        logits: Tensor = self.output(torch.sigmoid(self.dropout(self.hidden(x))))
        return logits


@dataclass(frozen=True)
class Chosen:
    """Holds the classifier that validation chose: accuracies in %, and its settings."""

    valid: float
    test: float
    hidden: int
    dropout: float
    epochs: int
    # 95%, of the test accuracy, over the choice of test sentences
    interval: tuple[float, float] | None = None


def probe(data: Data, classes: int, setting: Setting, seed: int = 1) -> Chosen:
    """Trains every classifier of the grid, and returns the best on validation.

    `seed` decides the initial weights and the batches.
    """
    trained = [
        _train(data, classes, setting, hidden, dropout, seed)
        for hidden, dropout in product(setting.hidden, setting.dropout)
    ]
    best = max(trained, key=lambda chosen: chosen.valid)
    return replace(best, interval=accuracy_interval(best.test, len(data["te"][1])))


def accuracy_interval(accuracy: float, sentences: int) -> tuple[float, float]:
    """Returns Wilson's 95% interval of an accuracy, %, over the choice of sentences."""
    share, z = accuracy / 100, 1.96
    middle = share + z * z / (2 * sentences)
    half = z * math.sqrt(share * (1 - share) / sentences + (z / (2 * sentences)) ** 2)
    scale = 100 / (1 + z * z / sentences)
    return scale * (middle - half), scale * (middle + half)


def _train(
    data: Data, classes: int, setting: Setting, hidden: int, dropout: float, seed: int
) -> Chosen:
    """Trains with early stopping, and returns the test accuracy at the best validation."""
    x, y = data["tr"]
    generator = torch.Generator().manual_seed(seed)
    best, stale = Chosen(-1.0, 0.0, hidden, dropout, 0), 0
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Probe(x.size(1), hidden, classes, dropout).to(x.device)
        # Hinton's own decay; torch's 0.99 is for reinforcement learning
        optimiser = torch.optim.RMSprop(model.parameters(), lr=setting.lr, alpha=0.9)
        for epoch in range(1, setting.epochs + 1):
            model.train()
            for rows in torch.randperm(len(x), generator=generator).split(setting.batch):
                rows = rows.to(x.device)
                loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
                loss = loss + setting.l2 * model.hidden.weight.square().sum()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            valid = accuracy(model, *data["va"])
            stale += 1
            if valid > best.valid:
                test = accuracy(model, *data["te"])
                best, stale = Chosen(valid, test, hidden, dropout, epoch), 0
            if stale >= setting.patience:
                break
    return best


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """Returns the share of correct classes in %."""
    model.eval()
    return 100 * float((model(x).argmax(dim=1) == y).double().mean())
