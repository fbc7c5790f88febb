"""Converts a standard Transformer to CTranslate2's format, by CTranslate2's own converter."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import torch
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from ...checkpoints.dictionaries import check_text


def to_ctranslate2(
    stock: dict[str, Any], data: Path, output: Path, quantization: str | None, name: str
) -> None:
    """Writes a folder that ``ctranslate2.Translator`` loads; the input is pieces after BPE.

    Args:
        stock: from ``models.transformer.stock.to_stock``
        data: folder with the dictionaries that the model was trained with
        output: an empty folder
        quantization: number format, as CTranslate2 names it; None keeps float32
        name: of the checkpoint, for messages

    Raises:
        UserError: `data` has other dictionaries than the training
    """
    from ctranslate2.converters import FairseqConverter

    saved = stock["cfg"]["task"]
    config = TranslationConfig(
        data=str(data), source_lang=saved.get("source_lang"), target_lang=saved.get("target_lang")
    )
    check_text(name, stock, TranslationTask.setup_task(config))
    # the converter reads fairseq's older form, in which all settings are one Namespace
    settings = argparse.Namespace(**{**saved, **stock["cfg"]["model"], "task": "translation"})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint.pt")
        torch.save({"args": settings, "model": stock["model"]}, path)
        converter = FairseqConverter(str(path), str(data), config.source_lang, config.target_lang)
        converter.convert(str(output), quantization=quantization, force=True)
