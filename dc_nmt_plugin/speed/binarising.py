"""Numbers of words for whole lines, where fairseq-preprocess calls five functions for each word.

The files are fairseq's, byte by byte.
"""

from __future__ import annotations

import os
import shutil
import struct
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from multiprocessing import Pool
from typing import Any

import numpy as np
from fairseq.binarizer import BinarizeSummary, VocabularyDatasetBinarizer
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import (
    MMapIndexedDataset,
    best_fitting_int_dtype,
    data_file_path,
    index_file_path,
)
from fairseq.file_chunker_utils import find_offsets
from fairseq.tokenizer import tokenize_line

BLOCK = 10_000  # lines

Part = tuple[int, int]  # first byte of a file's lines, and the byte after the last


def count_words(path: str, part: Part, end: str) -> Counter[str]:
    """Returns how often each word stands in the lines, with `end` once for each line."""
    counts: Counter[str] = Counter()
    for line in _lines(path, part):
        counts.update(line.split())
        counts[end] += 1
    return counts


def are_bytes(path: str, offsets: Sequence[int]) -> bool:
    """Returns False where fairseq's parts of a text have no numbers of bytes: "\\r" ends lines."""
    return max(offsets) <= os.path.getsize(path)


def is_plain(binarizer: Any, implementation: str) -> bool:
    """Returns whether a text's numbers are those of its words, in fairseq's usual format."""
    return (
        type(binarizer) is VocabularyDatasetBinarizer
        and type(binarizer.dict) is Dictionary
        and binarizer.tokenize is tokenize_line
        and not (binarizer.reverse_order or binarizer.already_numberized)
        and implementation == "mmap"
    )


def binarise(path: str, binarizer: Any, prefix: str, workers: int) -> BinarizeSummary | None:
    """Writes ``PREFIX.bin`` and ``PREFIX.idx`` of a text, if :func:`is_plain` allows it.

    Returns:
        what fairseq prints; None, and nothing is written, if fairseq cannot divide the text
    """
    offsets = find_offsets(path, workers)
    if not are_bytes(path, offsets):
        return None
    parts = [(f"{prefix}.pt{n}.bin", part) for n, part in enumerate(pairwise(offsets))]
    work = partial(_binarise_part, path, binarizer)
    if workers == 1:  # a process more would import fairseq again where Python makes no fork
        results = [work(*parts[0])]
    else:
        with Pool(workers) as pool:
            results = pool.starmap(work, parts, chunksize=1)
    summary = BinarizeSummary()
    with open(data_file_path(prefix), "wb") as whole:
        for (name, _), (_, counts) in zip(parts, results, strict=True):
            with open(name, "rb") as stream:
                shutil.copyfileobj(stream, whole)
            os.remove(name)
            summary.merge(counts)
    _write_index(prefix, np.concatenate([sizes for sizes, _ in results]), _dtype(binarizer))
    return summary


def _dtype(binarizer: Any) -> Any:
    return best_fitting_int_dtype(len(binarizer.dict))


def _lines(path: str, part: Part) -> Iterator[str]:
    """Yields the lines of a part of a text, as fairseq's ``Chunker``."""
    position, end = part
    # "" leaves the characters at the end of a line, so that bytes can be counted
    with open(path, encoding="utf-8", newline="") as stream:
        stream.seek(position)
        for line in stream:
            position += len(line.encode())
            if position > end:
                return
            yield line


def _binarise_part(
    path: str, binarizer: Any, to: str, part: Part
) -> tuple[np.ndarray[Any, Any], BinarizeSummary]:
    """Writes the numbers of a part; returns the number of them in each line, and the sums."""
    dictionary, lines = binarizer.dict, _lines(path, part)
    end = [dictionary.eos_index] if binarizer.append_eos else []
    sizes, replaced = array("i"), Counter[str]()
    with open(to, "wb") as stream:
        while block := list(islice(lines, BLOCK)):
            rows = []
            for words in map(str.split, block):
                row = list(map(dictionary.indices.get, words))
                if None in row:
                    replaced.update(word for word in words if word not in dictionary.indices)
                    row = [dictionary.unk_index if n is None else n for n in row]
                rows.append(row + end)
            sizes.extend(map(len, rows))
            numbers = np.fromiter(chain.from_iterable(rows), _dtype(binarizer))
            stream.write(numbers.tobytes())
    summary = BinarizeSummary(len(sizes), replaced if sizes else None, sum(sizes))
    return np.array(sizes, np.int32), summary


def _write_index(prefix: str, sizes: np.ndarray[Any, Any], dtype: Any) -> None:
    """Writes fairseq's index: the format, the sizes, and the first byte of each line's numbers."""
    with MMapIndexedDataset.Index.writer(index_file_path(prefix), dtype) as index:
        stream = index._file
        stream.write(struct.pack("<Q", len(sizes)))
        stream.write(sizes.tobytes())
        pointers = (np.cumsum(sizes, dtype=np.int64) - sizes) * np.dtype(dtype).itemsize
        stream.write(pointers.tobytes())
