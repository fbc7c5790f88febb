"""Filters training text after BPE: drops long and uneven pairs, and stores lengths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ..errors import UserError
from ..files import load_json, write_json, write_parallel
from ..text.pieces import remove_bpe
from ..text.preparation import fits
from .recipe import SPLITS

LENGTHS = "lengths.json"
PAIRS = "pairs.json"
POSITIONS = 1024  # default of --max-source-positions and --max-target-positions


def clean_pieces(
    folder: Path, languages: tuple[str, str], max_tokens: int, ratio: float, max_words: int = 0
) -> tuple[int, int]:
    """Cleans ``folder/train.LANG``; stores every split's longest sentence in ``lengths.json``.

    Args:
        folder: text after BPE
        languages: of the files
        max_tokens, ratio: as in ``clean-corpus-n.perl``; 0 for no limit
        max_words: the same before BPE

    Returns:
        training pairs before and after
    """
    before = 0
    paths = [folder / f"train.{language}" for language in languages]

    def kept(sides: Iterable[Iterable[str]]) -> Iterator[list[str]]:
        nonlocal before
        for pair in zip(*sides, strict=True):
            before += 1
            first, second = (remove_bpe(side) if max_words else side for side in pair)
            if fits(pair[0], pair[1], max_tokens, ratio) and fits(first, second, max_words, 0):
                yield [line.removesuffix("\n") for line in pair]

    with ExitStack() as stack:
        sides = [stack.enter_context(open(p, encoding="utf-8", newline="\n")) for p in paths]
        after = write_parallel(paths, kept(sides))
    if not after:
        raise UserError(f"{folder}: no training pair has at most {max_tokens} pieces")
    longest = {
        f"{split}.{language}": _longest(folder / f"{split}.{language}")
        for split in SPLITS
        for language in languages
    }
    write_json(folder / LENGTHS, longest)
    write_json(folder / PAIRS, {"before": before, "after": after})
    return before, after


def longest_pieces(folder: Path) -> dict[str, int]:
    """Returns the stored tokens of the longest sentences; empty before the first cleaning."""
    return _noted(folder / LENGTHS)


def pairs_kept(folder: Path) -> tuple[int, int] | None:
    """Returns the stored training pairs before and after; None before the first cleaning."""
    noted = _noted(folder / PAIRS)
    return (noted["before"], noted["after"]) if noted else None


def _noted(path: Path) -> dict[str, int]:
    return dict(load_json(path)) if path.is_file() else {}


def check_positions(lengths: dict[str, int], limits: dict[str, int], folder: Path) -> None:
    """
    Args:
        lengths: of :func:`longest_pieces`
        limits: language → positions of the model
        folder: named in the message

    Raises:
        UserError: a sentence, its end token counted, is longer than the model's positions
    """
    for name, length in lengths.items():
        limit = limits.get(name.rpartition(".")[2])
        if limit is not None and length + 1 > limit:
            raise UserError(
                f"{folder / name}: its longest sentence has {length + 1} tokens and the model "
                f"{limit} positions: raise --max-source-positions and --max-target-positions"
            )


def _longest(path: Path) -> int:
    with open(path, encoding="utf-8", newline="\n") as lines:
        return max((len(line.split()) for line in lines), default=0)
