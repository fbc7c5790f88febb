"""Segmentation of a task's text: the command lines, and what sentencepiece has no program for."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from ...errors import UserError
from ...files import replacing, write_lines
from ...machine import usable_cpus
from ...text.lines import stream_lines
from ...text.segmentation import SENTENCEPIECE, Segmenter, load_processor, sentencepiece
from ..steps import Line

CHUNK = 10_000  # lines at a time
RICH = 1000  # characters; an alphabet with signs has fewer, Chinese and Japanese text more


def learning_lines(segmenter: Segmenter, texts: Sequence[str], codes: str, size: int) -> list[Line]:
    """Returns the command lines that write the codes of texts.

    Args:
        segmenter: the program
        texts: files; one segmentation serves all of them
        codes: file to write
        size: number of BPE operations, or of pieces
    """
    if segmenter is SENTENCEPIECE:
        learn = ("dc-nmt", "recipe", "learn-pieces", str(size), codes, dictionary_of(codes))
        return [Line((*learn, *texts), shown=True)]
    words = ("subword-nmt", "learn-bpe", "-s", str(size), "-i")
    if len(texts) == 1:
        return [Line((*words, texts[0], "-o", codes))]
    both = f"{codes.rpartition('/')[0]}/both"
    return [
        Line(("cat", *texts), output=both),
        Line((*words, both, "-o", codes)),
        Line(("rm", both)),
    ]


def dictionary_of(codes: str) -> str:
    """Returns the file of fairseq's dictionary that is written with sentencepiece's codes.

    It has all pieces: the training text need not have every byte.
    """
    folder, _, name = codes.rpartition("/")
    stem = name.replace("codes", "pieces").removesuffix(SENTENCEPIECE.ending)
    return f"{folder}/{stem}.txt"


def applying_line(
    segmenter: Segmenter, codes: str, text: str, to: str, files: Sequence[str], processes: int
) -> Line:
    """Returns the command line that segments each of these files.

    Args:
        segmenter: the program
        codes: its file
        text, to: paths with EACH for the file's name
        files: names
        processes: of subword-nmt
    """
    words = ["dc-nmt", "recipe", "apply-pieces", codes, text, to]
    if segmenter is not SENTENCEPIECE:
        words = ["subword-nmt", "apply-bpe", "-c", codes]
        words += ["--num-workers", str(processes), "-i", text, "-o", to]
    return Line(tuple(words), files=tuple(files))


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
    processor = load_processor(codes)
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
    processor, lines = load_processor(codes), stream_lines(text)
    while chunk := list(islice(lines, CHUNK)):
        yield from processor.encode(chunk, out_type=str, num_threads=usable_cpus())
