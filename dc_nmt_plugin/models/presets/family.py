"""Definition of a preset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Family:
    """Describes the architecture of one paper.

    Attributes:
        name: of the architecture, its criterion and its task
        about: its change to the usual model, in one line
        cites: publication (key in REFERENCES.bib, and section)
        variants: suffix → settings on top of a size; "" is the default variant
        sizes: suffix → settings of a size; "" is the published one
        model: registered model name
        criterion, task: registered names; "" for the architecture's own
    """

    name: str
    about: str
    cites: str
    variants: dict[str, dict[str, Any]]
    sizes: dict[str, dict[str, Any]]
    model: str
    criterion: str = ""
    task: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "criterion", self.criterion or self.name)
        object.__setattr__(self, "task", self.task or self.name)


# stock fairseq's, which the same recipes can train as a baseline; flags give its size
STOCK = Family(
    name="transformer",
    about="fairseq's own Transformer",
    cites="vaswani2017attention, as fairseq has it",
    variants={"": {}},
    sizes={"": {}},
    model="transformer",
    criterion="label_smoothed_cross_entropy",
    task="translation_dc_nmt",
)
