"""Training and decoding speed against fairseq's own transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STOCK = "stock"  # the baseline: fairseq's transformer of the same size
PYTORCH = "pytorch"  # the baseline of recurrent models: the same one out of PyTorch's GRU cells
CTRANSLATE2 = "ctranslate2"  # the baseline: that engine, with the first model's weights
INT8 = " int8"  # end of the name of a row with 8-bit layers
LEAST_TYPES = 5  # of a dictionary: fairseq's four special symbols, and one to make text of
MODES = ("train", "decode", "validate")
USUAL = MODES[:2]
# axes of `dc-nmt bench --scaling`; scaling.py explains each
GROWING = ("length", "layers", "source-layers", "decoders", "beam", "vocabulary")


def conditions_text(report: Mapping[str, Any]) -> str:
    """Returns machine, threads and clock of a report in words."""
    return f"{report['machine']}; {report['threads']} thread(s), {report['clock']}"


def rounds_text(report: Mapping[str, Any]) -> str:
    """Returns the number of finished rounds; they differ by mode after an interrupt."""
    finished = sorted({row["rounds"] for row in report["results"]})
    return " to ".join(map(str, dict.fromkeys([finished[0], finished[-1]])))
