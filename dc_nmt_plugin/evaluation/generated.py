"""Reads hypotheses in order from the output of ``fairseq-generate``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from ..errors import UserError
from ..text.lines import read_lines, read_log
from ..text.pieces import remove_bpe

HYPOTHESIS = re.compile(r"H-(\d+)\t(\S+)\t?(.*)")
SOURCE = re.compile(r"S-(\d+)\t(.*)")
LEFT_OUT = re.compile(r"([\d,]+) samples have invalid sizes and will be skipped")
SPEED = re.compile(r"Translated ([\d,]+) sentences .* in ([\d.]+)s \(([\d.]+) sentences/s")


@dataclass(frozen=True)
class Generated:
    """Best hypotheses by sentence number, without BPE, still tokenised."""

    hypotheses: list[str]
    sentences_per_second: float | None  # inference alone; None where the summary is missing


def read_generated(
    path: str | os.PathLike[str], log: str | os.PathLike[str] | None = None
) -> Generated:
    """Read the output of ``fairseq-generate``, with or without ``--results-path``.

    With ``--results-path`` the summary with the speed may be in the log instead. Of an n-best
    list the first hypothesis counts. The batches come sorted by length, so lines are put back
    into the order of their numbers.

    Raises:
        UserError: no hypotheses, a sentence number is missing, sentences were left out, or a
            hypothesis's score is no number.
    """
    best: dict[int, str] = {}
    speed = None
    for line in [*read_lines(path, mend=True), *(read_log(log) if log else [])]:
        if match := HYPOTHESIS.fullmatch(line):
            if match[2] == "nan":
                raise UserError(
                    f"{path}: the score of sentence {match[1]} (H-{match[1]}) is not a number: the "
                    "model is broken, and so is its translation"
                )
            best.setdefault(int(match[1]), remove_bpe(match[3]))
        elif match := LEFT_OUT.search(line):
            raise UserError(
                f"{path}: fairseq-generate left out {match[1]} sentences that are too long: a "
                "score of the others would not be one of this test set"
            )
        elif match := SPEED.search(line):
            speed = float(match[3])
    if not best:
        raise UserError(f"{path}: no hypotheses (H- lines) of fairseq-generate in it")
    missing = sorted(set(range(max(best) + 1)) - best.keys())
    if missing:
        raise UserError(f"{path}: no hypothesis for sentence {missing[0]} (H-{missing[0]})")
    return Generated([best[number] for number in sorted(best)], speed)


def read_pieces(path: str | os.PathLike[str]) -> list[str]:
    """Reads the source sentences in subword tokens, in the order of the text.

    Raises:
        UserError: the file has none
    """
    found = {}
    for line in read_lines(path, mend=True):
        if match := SOURCE.fullmatch(line):
            found[int(match[1])] = match[2]
    if not found:
        raise UserError(f"{path}: no source sentences (S- lines) of fairseq-generate in it")
    return [found[number] for number in sorted(found)]
