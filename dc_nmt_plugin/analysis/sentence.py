"""Prepares a sentence of the command line for the model."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from ..errors import UsageError
from ..text.pieces import MODEL, segmenter
from .loop import with_target
from .subject import Subject


def encoded_sentence(subject: Subject, text: str, target: str | None = None) -> dict[str, Any]:
    """Returns a batch of fairseq with one sentence.

    Args:
        subject: the model
        text: source, tokenised like the data; BPE is applied if the data's folder has codes
        target: target of the forced decoding; None for a batch without target side

    Raises:
        UserError: the sentence is empty
    """
    dictionaries = {"src": subject.task.source_dictionary, "tgt": subject.task.target_dictionary}
    languages = {"src": subject.source_lang, "tgt": subject.target_lang}
    rows = {}
    for side, line in {"src": text, "tgt": target}.items():
        if line is None:
            continue
        if not line.strip():
            raise UsageError(f"--{'sentence' if side == 'src' else 'target'}: is empty.")
        pieces = segment(line, subject.place.data, languages[side])
        rows[side] = dictionaries[side].encode_line(pieces, add_if_not_exist=False).long()
    source = rows["src"]
    dataset = subject.task.build_dataset_for_inference([source], torch.tensor([len(source)]))
    sample: dict[str, Any] = dataset.collater([dataset[0]])
    if target is not None:
        sample = with_target(subject, sample, [rows["tgt"]])
    return dict(subject.translation.to_device(sample))


def segment(line: str, data: Path, lang: str) -> str:
    """Returns the pieces of the line, by the codes beside the data; without codes, the line.

    Args:
        line: tokenised text, or pieces already
        data: folder made by fairseq-preprocess, ``bin`` or ``bin-NAME`` in recipes
        lang: two letters
    """
    codes = codes_of(data, lang)
    if codes is None or "@@" in line:
        return line
    return str(byte_pairs(codes).process_line(line))


def codes_of(data: Path, lang: str) -> Path | None:
    """Returns the file of a language's BPE codes, or sentencepiece model, beside the data.

    None without one.
    """
    folder = data.resolve().parent / data.resolve().name.replace("bin", "bpe", 1)
    names = (f"codes.{lang}", "codes", f"{lang}.{MODEL}", MODEL)
    return next((folder / name for name in names if (folder / name).is_file()), None)


@lru_cache(maxsize=4)
def byte_pairs(codes: Path) -> Any:
    """Returns an object whose ``process_line`` segments text: subword-nmt's ``BPE``, or
    sentencepiece's model."""
    if codes.name.endswith(MODEL):
        return segmenter(codes)
    from subword_nmt.apply_bpe import BPE

    with open(codes, encoding="utf-8") as stream:
        return BPE(stream)
