"""Segmentation of a task's text: learns codes, and writes the pieces of files."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from tqdm import tqdm

from ...errors import UserError
from ...files import replacing, write_lines
from ...machine import usable_cpus
from ...text.lines import stream_lines
from ...text.segmentation import (
    SENTENCEPIECE,
    SUBWORD_NMT,
    Segmenter,
    load_processor,
    segmenter_of_codes,
    sentencepiece,
)
from ..raw_text.bpe import learn_codes
from ..steps import Line

CHUNK = 10_000  # lines at a time
RICH = 1000  # characters; an alphabet with signs has fewer, Chinese and Japanese text more


def learning_line(segmenter: Segmenter, texts: Sequence[str], codes: str, size: int) -> Line:
    """Returns the command line that writes the codes of texts.

    Args:
        segmenter: the program
        texts: files; one segmentation serves all of them
        codes: file to write; sentencepiece also writes a dictionary beside it
        size: number of BPE operations, or of pieces
    """
    words = ("dc-nmt", "recipe", "learn-pieces", segmenter.name, str(size), codes)
    return Line((*words, *texts), shown=True)


def dictionary_of(codes: str) -> str:
    """Returns the file of fairseq's dictionary that is written with sentencepiece's codes.

    It has all pieces: the training text need not have every byte.
    """
    name = Path(codes).name.replace("codes", "pieces").removesuffix(SENTENCEPIECE.ending)
    return str(Path(codes).with_name(f"{name}.txt"))


def learn_pieces(segmenter: Segmenter, texts: Sequence[Path], codes: Path, size: int) -> int:
    """Writes the codes of texts.

    Returns:
        the number of operations or pieces: `size`, or all that the texts have

    Raises:
        UserError: the characters of the texts are more than `size` pieces
    """
    if segmenter is SENTENCEPIECE:
        return _learn_sentencepiece(texts, codes, size)
    counts = Counter[str]()
    lines = chain.from_iterable(map(stream_lines, texts))
    for line in tqdm(lines, "count words", unit=" lines", disable=None):
        counts.update(line.split())
    return learn_codes(counts, size, codes)


def _learn_sentencepiece(texts: Sequence[Path], codes: Path, size: int) -> int:
    """Writes a model, and fairseq's dictionary of all its pieces, the frequent ones first."""
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
    dictionary = dictionary_of(str(codes))
    write_lines(dictionary, (f"{piece} {count}" for piece, count in counts.most_common()))
    return len(numbers)


def apply_pieces(codes: Path, text: Path, to: Path) -> None:
    """Writes the pieces of a file."""
    if segmenter_of_codes(codes) is SENTENCEPIECE:
        pieces = map(" ".join, _rows(codes, text))
    else:
        pieces = map(SUBWORD_NMT.load(codes), stream_lines(text))
    write_lines(to, tqdm(pieces, text.name, unit=" lines", disable=None))


def _rows(codes: Path, text: Path) -> Iterator[list[str]]:
    processor, lines = load_processor(codes), stream_lines(text)
    while chunk := list(islice(lines, CHUNK)):
        yield from processor.encode(chunk, out_type=str, num_threads=usable_cpus())
