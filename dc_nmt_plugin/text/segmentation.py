"""Segmentation of words or raw text into pieces: how it is learnt, applied and undone."""

from __future__ import annotations

import html
import io
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import replacing, write_lines
from ..machine import usable_cpus
from ..steps import Line
from .lines import remove_bpe, stream_lines

CONTINUED = "@@"  # subword-nmt: at the end of every piece but a word's last
CHUNK = 10_000  # lines at a time
RICH = 1000  # characters; an alphabet with signs has fewer, Chinese and Japanese text more
MARK = "▁"  # sentencepiece: at the front of a word's first piece
_BYTES = re.compile(r"(?:(?<!\S)<0x[0-9A-F]{2}>(?:\s|$))+")  # sentencepiece: of a rare character


class Segmenter(ABC):
    """A program that segments text.

    Attributes:
        name: in a recipe
        label, unit: of its segmentation, for people
        joined_by: fairseq's name of what undoes it, for ``--remove-bpe``
        ending: of the names of its codes
    """

    name: str
    label: str
    unit: str
    joined_by: str
    ending = ""

    @abstractmethod
    def learn(self, texts: Sequence[str], codes: str, size: int) -> list[Line]:
        """Returns the command lines that write the codes of texts.

        Args:
            texts: files; one segmentation serves all of them
            codes: file to write
            size: number of BPE operations, or of pieces
        """

    def dictionary(self, codes: str) -> str | None:
        """Returns the file with fairseq's dictionary that `learn` writes; None: it writes none."""
        return None

    @abstractmethod
    def apply(self, codes: str, text: str, to: str) -> Line:
        """Returns the command line that segments a file."""

    @abstractmethod
    def load(self, codes: Path) -> Callable[[str], str]:
        """Returns what segments one line."""

    @abstractmethod
    def join(self, line: str) -> str:
        """Undoes the segmentation of a line."""


class SubwordNMT(Segmenter):
    """BPE inside words."""

    name, joined_by = "subword-nmt", "subword_nmt"
    label, unit = "BPE", "operations"

    def learn(self, texts: Sequence[str], codes: str, size: int) -> list[Line]:
        words = ("subword-nmt", "learn-bpe", "-s", str(size), "-i")
        if len(texts) == 1:
            return [Line((*words, texts[0], "-o", codes))]
        both = f"{codes.rpartition('/')[0]}/both"
        return [
            Line(("cat", *texts), output=both),
            Line((*words, both, "-o", codes)),
            Line(("rm", both)),
        ]

    def apply(self, codes: str, text: str, to: str) -> Line:
        words = ("subword-nmt", "apply-bpe", "-c", codes, "--num-workers", "$WORKERS")
        return Line((*words, "-i", text, "-o", to))

    def load(self, codes: Path) -> Callable[[str], str]:
        from subword_nmt.apply_bpe import BPE

        with open(codes, encoding="utf-8") as stream:
            bpe: Any = BPE(stream)
        return lambda line: str(bpe.process_line(line))

    def join(self, line: str) -> str:
        return remove_bpe(line)


class SentencePiece(Segmenter):
    """Pieces of raw text, spaces included; a rare character is the bytes of its UTF-8."""

    name, joined_by, ending = "sentencepiece", "sentencepiece", ".model"
    label, unit = "sentencepiece", "pieces"

    def learn(self, texts: Sequence[str], codes: str, size: int) -> list[Line]:
        words = ("dc-nmt", "recipe", "learn-pieces", str(size), codes, self.dictionary(codes))
        return [Line((*words, *texts), shown=True)]

    def dictionary(self, codes: str) -> str:
        # the training text need not have every byte
        folder, _, name = codes.rpartition("/")
        return f"{folder}/{name.replace('codes', 'pieces').removesuffix(self.ending)}.txt"

    def apply(self, codes: str, text: str, to: str) -> Line:
        return Line(("dc-nmt", "recipe", "apply-pieces", codes, text, to))

    def load(self, codes: Path) -> Callable[[str], str]:
        processor = _processor(codes)
        return lambda line: " ".join(processor.encode(line, out_type=str))

    def join(self, line: str) -> str:
        """Joins the pieces of a line, and bytes to characters.

        >>> SENTENCEPIECE.join("▁Wald weg ▁ <0xC3> <0xA9> s")
        'Waldweg és'
        """
        text = _BYTES.sub(lambda match: _decoded(match[0]), line)
        return "".join(text.split()).replace(MARK, " ").strip()


def _decoded(pieces: str) -> str:
    # a model may write bytes that are no character; they are left out
    return bytes.fromhex("".join(re.findall("0x(..)", pieces))).decode("utf-8", "ignore")


SUBWORD_NMT, SENTENCEPIECE = SubwordNMT(), SentencePiece()
SEGMENTERS: dict[str, Segmenter] = {each.name: each for each in (SUBWORD_NMT, SENTENCEPIECE)}


# -- sentencepiece, whose package has no programs ----------------------------------------------


def sentencepiece() -> Any:
    """Returns the package.

    Raises:
        UserError: it is not installed
    """
    try:
        import sentencepiece as package
    except ImportError as error:
        raise UserError(
            "sentencepiece is not installed: pip install 'dc_nmt_plugin[sentencepiece]'"
        ) from error
    return package


def learn_pieces(texts: Sequence[Path], codes: Path, dictionary: Path, size: int) -> int:
    """Writes the codes of texts, and fairseq's dictionary of all pieces, the frequent ones first.

    Returns:
        the number of pieces: `size`, or all that the texts have

    Raises:
        UserError: the characters of the texts are more than `size`
    """
    model = io.BytesIO()
    characters: set[str] = set()
    for line in chain.from_iterable(map(stream_lines, texts)):
        characters.update(line)
    try:
        sentencepiece().SentencePieceTrainer.train(
            sentence_iterator=chain.from_iterable(map(stream_lines, texts)),
            model_writer=model,
            vocab_size=size,
            hard_vocab_limit=False,
            # of thousands of characters the rarest are bytes; of an alphabet no letter is
            character_coverage=0.9995 if len(characters) > RICH else 1.0,
            byte_fallback=True,
            normalization_rule_name="identity",  # joined pieces are the text again
            pad_id=3,  # otherwise a piece may be fairseq's symbol <pad>
            minloglevel=2,
        )
    except RuntimeError as error:
        least = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
        problem = f"too few for the characters; give at least {least[1]}" if least else str(error)
        raise UserError(
            f"{size} pieces (operations in the recipe, --bpe of dc-nmt new): {problem}"
        ) from error
    with replacing(codes) as temporary:
        temporary.write_bytes(model.getvalue())
    processor = _processor(codes)
    numbers = range(processor.get_piece_size())
    # fairseq has its own symbols
    pieces = [n for n in numbers if not (processor.is_control(n) or processor.is_unknown(n))]
    counts = Counter(dict.fromkeys(map(processor.id_to_piece, pieces), 0))
    for text in texts:
        for row in _rows(codes, text):
            counts.update(row)
    write_lines(dictionary, (f"{piece} {count}" for piece, count in counts.most_common()))
    return len(numbers)


def apply_pieces(codes: Path, text: Path, to: Path) -> None:
    """Writes the pieces of a file."""
    write_lines(to, map(" ".join, _rows(codes, text)))


def _rows(codes: Path, text: Path) -> Iterator[list[str]]:
    processor, lines = _processor(codes), stream_lines(text)
    while chunk := list(islice(lines, CHUNK)):
        yield from processor.encode(chunk, out_type=str, num_threads=usable_cpus())


def _processor(codes: Path) -> Any:
    try:
        return sentencepiece().SentencePieceProcessor(model_file=os.fspath(codes))
    except (OSError, RuntimeError) as error:
        raise UserError(f"{codes}: is no model of sentencepiece") from error


# -- the segmentation of a data folder ---------------------------------------------------------


def codes_of(data: Path, lang: str) -> Path | None:
    """Returns the file of a language's codes beside the data, or None."""
    folder = codes_folder(data)
    for segmenter in SEGMENTERS.values():
        for name in (f"codes.{lang}{segmenter.ending}", f"codes{segmenter.ending}"):
            if (folder / name).is_file():
                return folder / name
    return None


def codes_folder(data: Path) -> Path:
    """Returns the folder beside the data that has its codes: ``bpe-NAME`` for ``bin-NAME``."""
    full = data.resolve()
    return full.parent / full.name.replace("bin", "bpe", 1)


def segmenter_of_codes(codes: Path) -> Segmenter:
    """Returns the program that wrote a file of codes; subword-nmt's have no empty first line."""
    with open(codes, "rb") as stream:
        return SENTENCEPIECE if stream.read(1) == b"\n" else SUBWORD_NMT


def segmenter_of(data: Path, lang: str) -> Segmenter | None:
    """Returns what segmented a language's text, by its codes or its dictionary; None for words."""
    codes = codes_of(data, lang)
    if codes is not None:
        return segmenter_of_codes(codes)
    path = data / f"dict.{lang}.txt"
    kind = _kind_of(line.rpartition(" ")[0] for line in stream_lines(path))
    return next((each for each in SEGMENTERS.values() if each.joined_by == kind), None)


@lru_cache(maxsize=4)
def load_codes(codes: Path) -> Callable[[str], str]:
    """Returns what segments one line."""
    return segmenter_of_codes(codes).load(codes)


def segment(line: str, data: Path, lang: str) -> str:
    """Returns the pieces of the line, by the codes beside the data; without codes, the line.

    Args:
        line: text as it was segmented, or pieces already
        data: folder made by fairseq-preprocess, ``bin`` or ``bin-NAME`` in recipes
        lang: two letters
    """
    codes = codes_of(data, lang)
    if codes is None:
        return line
    mark = MARK if segmenter_of_codes(codes) is SENTENCEPIECE else CONTINUED
    return line if mark in line else load_codes(codes)(line)


# -- pieces of words ---------------------------------------------------------------------------


def piece_kind(dictionary: Any) -> str:
    """Returns how a dictionary's symbols are segmented: as fairseq's ``--remove-bpe``, or none."""
    return _kind_of(dictionary.symbols[dictionary.nspecial :])


def _kind_of(symbols: Iterable[str]) -> str:
    marked = False
    for symbol in symbols:
        if symbol.endswith(CONTINUED):
            return SUBWORD_NMT.joined_by
        marked = marked or symbol.startswith(MARK)
    return SENTENCEPIECE.joined_by if marked else "none"


def word_spans(pieces: Sequence[str], kind: str) -> list[tuple[int, int]]:
    """Returns for every word its first piece and the first piece after it.

    Args:
        pieces: of one sentence, without the end token
        kind: of :func:`piece_kind`
    """
    starts = []
    for i, piece in enumerate(pieces):
        if kind == "subword_nmt":
            begins = i == 0 or not pieces[i - 1].endswith(CONTINUED)
        else:
            begins = kind == "none" or i == 0 or piece.startswith(MARK)
        if begins:
            starts.append(i)
    ends = [*starts[1:], len(pieces)]
    return list(zip(starts, ends, strict=False))  # no word: one end is left over


def words_of(pieces: Sequence[str], kind: str) -> list[str]:
    """Returns words in plain text: pieces joined, Moses' escapes undone."""
    words = []
    for begin, end in word_spans(pieces, kind):
        word = " ".join(pieces[begin:end])
        if kind == "subword_nmt":
            word = "".join(piece.removesuffix(CONTINUED) for piece in pieces[begin:end])
        elif kind == "sentencepiece":
            word = SENTENCEPIECE.join(word)
        words.append(html.unescape(word))
    return words
