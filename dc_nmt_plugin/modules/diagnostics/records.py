"""Finding what the layers recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from ..core.recording import Records

_LAYER = re.compile(r"(encoder|decoder)\.stack\.layers\.(\d+)\.(\w+)$")


def layer_records(records: Records, sublayer: str) -> Iterator[tuple[str, int, dict[str, Tensor]]]:
    """Side, layer (1-based) and tensors of every main-stack `sublayer` that recorded something."""
    for name, tensors in records.items():
        found = _LAYER.search(name)
        if found and found[3] == sublayer and tensors:
            yield found[1], int(found[2]) + 1, tensors


def padding_of(sample: dict[str, Any], side: str, padding_idx: int) -> Tensor:
    """(B, T) bool, True at padding, of the sequences that the side's layers see."""
    key = "src_tokens" if side == "encoder" else "prev_output_tokens"
    padding: Tensor = sample["net_input"][key].eq(padding_idx)
    return padding
