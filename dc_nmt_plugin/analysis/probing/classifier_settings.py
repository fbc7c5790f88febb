"""The printed settings of the probing classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """Holds the training settings of a classifier.

    Attributes:
        lr: of RMSProp
        batch: sentences
        epochs: maximum
        l2: λ, factor of the squared weights of the hidden layer
        hidden, dropout: the grid, from which validation chooses; not in the papers, so SentEval's
        patience: epochs without a better validation accuracy before training stops; the papers
            have such a criterion without its value (SentEval validates every fourth epoch and
            stops at the sixth time)
    """

    lr: float
    batch: int
    epochs: int = 100
    l2: float = 1e-4
    hidden: Sequence[int] = (50, 100, 200)
    dropout: Sequence[float] = (0.0, 0.1, 0.2)
    patience: int = 5


SETTINGS = {
    "dual-context": Setting(lr=2.5e-4, batch=64),  # dual context, section 7.1
    "thesis": Setting(lr=1e-3, batch=512),  # thesis, section 4.5.4
}
