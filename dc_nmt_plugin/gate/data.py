"""Checks folders of ``fairseq-preprocess``: complete, one corpus, a matching dictionary."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from ..errors import UsageError, UserError

MAGIC = b"MMIDIDX\x00\x00"
DTYPES = {1: "u1", 2: "i1", 3: "i2", 4: "i4", 5: "i8", 6: "f4", 7: "f8", 8: "u2", 9: "u4", 10: "u8"}
HEADER = len(MAGIC) + 8 + 1 + 8
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")  # not in the file of a dictionary
SCANNED = 1 << 26  # tokens of a file that are compared with the dictionary's size


def check_data(flags: Mapping[str, Any], subsets: Mapping[str, str]) -> None:
    """Checks the folders of a translation task or of language modelling; ignores other tasks.

    Args:
        flags: of the command
        subsets: name of each subset that the command reads → its flag

    Raises:
        UserError: a file is missing, empty or incomplete, or files do not belong together
    """
    kind = _kind(flags.get("task"))
    if kind is None or not flags.get("data"):
        return
    data = str(flags["data"])
    folders = data.split(os.pathsep)
    if len(folders) > 1 and os.path.isdir(data):
        raise UserError(
            f"{data}: has a {os.pathsep!r} in its name, at which fairseq separates several folders "
            "of data; rename it."
        )
    for folder in folders:
        if not os.path.isdir(folder):
            raise UserError(f"{folder}: no such folder of data (made by fairseq-preprocess).")
        if not os.listdir(folder):
            raise UserError(f"{folder}: the folder is empty; fairseq-preprocess fills it.")
    pair = None if kind == "language model" else _languages(folders[0], flags)
    names = {lang: f"dict.{lang}.txt" for lang in pair} if pair else {"": "dict.txt"}
    words = {lang: read_dictionary(os.path.join(folders[0], names[lang])) for lang in names}
    for folder in folders[1:]:
        for lang, name in names.items():
            _check_same(os.path.join(folders[0], name), words[lang], os.path.join(folder, name))
    sizes = {lang: len(SPECIAL) + len(known) for lang, known in words.items()}
    if flags.get("dataset_impl") not in (None, "mmap"):
        return
    for subset, flag in subsets.items():
        # further folders hold further parts of the training text
        for folder in folders if flag == "--train-subset" else folders[:1]:
            _check_subset(folder, subset, flag, pair, sizes)


def _check_same(first: str, words: list[str], other: str) -> None:
    """Refuses a further folder that was binarised with another dictionary."""
    if not os.path.isfile(other):
        return  # fairseq reads the first folder's alone
    pairs = enumerate(zip_longest(words, read_dictionary(other)), start=1)
    for line, (expected, found) in pairs:
        if expected != found:
            raise UserError(
                f"{other}, line {line}: has {found or 'no word'!r} where {first} has "
                f"{expected or 'no word'!r}. fairseq reads all folders of DATA with the first "
                "dictionary; prepare this one with --srcdict and --tgtdict of the first."
            )


def read_dictionary(path: str) -> list[str]:
    """Returns the words of a dictionary in order, without the special symbols.

    Raises:
        UserError: the file is missing or empty, or a line is not a new word and its count
    """
    words: list[str] = []
    known: set[str] = set()
    try:
        with open(path, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                word, _, count = line.rstrip().removesuffix(" #fairseq:overwrite").rpartition(" ")
                if not word or not count.isdecimal():
                    raise UserError(
                        f"{path}, line {number}: {line.strip()[:60]!r} is not a word and its count."
                    )
                again = "#fairseq:overwrite" in line
                if word in SPECIAL and not again:
                    raise UserError(
                        f"{path}, line {number}: {word} is a special symbol, which fairseq adds by "
                        "itself; remove the line and prepare the text again."
                    )
                if word in known and not again:
                    raise UserError(f"{path}, line {number}: the word {word!r} occurs twice.")
                known.add(word)
                words.append(word)
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text ({error.reason}).") from error
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); fairseq-preprocess writes it."
        ) from error
    if not words:
        raise UserError(f"{path}: the dictionary is empty.")
    return words


def _kind(task: Any) -> str | None:
    from fairseq.tasks import TASK_REGISTRY
    from fairseq.tasks.language_modeling import LanguageModelingTask
    from fairseq.tasks.translation import TranslationTask

    found = TASK_REGISTRY.get(task)
    if found is None:
        return None
    if issubclass(found, TranslationTask):
        return "translation"
    return "language model" if issubclass(found, LanguageModelingTask) else None


def _languages(folder: str, flags: Mapping[str, Any]) -> tuple[str, str]:
    source, target = flags.get("source_lang"), flags.get("target_lang")
    if source and source == target:
        raise UsageError(f"--target-lang: {target!r} is the source language too.")
    if source and target:
        return source, target
    for name in sorted(os.listdir(folder)):
        if match := re.fullmatch(r"[^.]+\.([^.-]+)-([^.-]+)\.(?:\1|\2)\.idx", name):
            return match[1], match[2]
    raise UserError(
        f"{folder}: the files do not name the languages; give --source-lang and --target-lang, "
        "or another folder of fairseq-preprocess."
    )


def _prefixes(folder: str, subset: str, pair: tuple[str, str] | None) -> dict[str, str]:
    """Returns language (or "") → path without suffix, for the sides of a subset that exist."""
    if pair is None:
        return {"": os.path.join(folder, subset)}
    for first, second in (pair, pair[::-1]):
        path = os.path.join(folder, f"{subset}.{first}-{second}")
        if os.path.isfile(f"{path}.{pair[0]}.idx") or os.path.isfile(f"{path}.{pair[0]}.bin"):
            found = {pair[0]: f"{path}.{pair[0]}"}
            if any(os.path.isfile(f"{path}.{pair[1]}.{end}") for end in ("idx", "bin")):
                found[pair[1]] = f"{path}.{pair[1]}"
            return found
    return {}


def _check_subset(
    folder: str,
    subset: str,
    flag: str,
    pair: tuple[str, str] | None,
    dictionaries: Mapping[str, int],
) -> None:
    prefixes = _prefixes(folder, subset, pair)
    there = [path for path in prefixes.values() if os.path.isfile(f"{path}.idx")]
    if not there and not any(os.path.isfile(f"{path}.bin") for path in prefixes.values()):
        if os.path.exists(next(iter(prefixes.values()), os.path.join(folder, subset))):
            return  # another format, such as raw text
        raise UsageError(f"{flag} {subset}: {folder} has no such subset{_others(folder, pair)}.")
    counts = {lang: _check_file(path, dictionaries[lang]) for lang, path in prefixes.items()}
    if len(set(counts.values())) > 1:
        counted = " and ".join(f"{count:,} of {lang}" for lang, count in counts.items())
        raise UserError(f"{folder}: {subset} has {counted}: the sides are of two corpora.")
    if not all(counts.values()):
        raise UsageError(f"{flag} {subset}: {folder} has no sentence in it.")


def _others(folder: str, pair: tuple[str, str] | None) -> str:
    names = {name.split(".")[0] for name in os.listdir(folder) if name.endswith(".idx")}
    languages = {name.split(".")[1] for name in os.listdir(folder)
                 if name.endswith(".idx") and name.count(".") > 2}  # fmt: skip
    if not names:
        return ", nor any other"
    if pair and languages and not {"-".join(pair), "-".join(pair[::-1])} & languages:
        return f" in {pair[0]} and {pair[1]}; it has {', '.join(sorted(languages))}"
    return f"; it has {', '.join(sorted(names))}"


def _check_file(prefix: str, types: int) -> int:
    """Returns the number of sentences of one side."""
    index, data = f"{prefix}.idx", f"{prefix}.bin"
    for path in (index, data):
        if not os.path.isfile(path):
            raise UserError(f"{path}: is missing; run fairseq-preprocess again.")
    with open(index, "rb") as stream:
        header = stream.read(HEADER)
        if not header.startswith(MAGIC):
            if len(header) < HEADER:
                raise UserError(f"{index}: is empty or truncated; run fairseq-preprocess again.")
            raise UserError(
                f"{index}: is no index of fairseq-preprocess (--dataset-impl names other formats)."
            )
        _, code, count = struct.unpack("<QBQ", header[len(MAGIC) :].ljust(17, b"\0"))
        whole = HEADER + 12 * count
        if len(header) < HEADER or code not in DTYPES or os.path.getsize(index) != whole:
            raise UserError(
                f"{index}: is damaged or truncated ({os.path.getsize(index):,} bytes); run "
                "fairseq-preprocess again."
            )
        lengths = np.fromfile(stream, dtype="<i4", count=count)
    dtype = np.dtype(DTYPES[code])
    expected = int(lengths.sum(dtype=np.int64)) * dtype.itemsize
    if os.path.getsize(data) != expected:
        raise UserError(
            f"{data}: has {os.path.getsize(data):,} bytes where its index says {expected:,}: it is "
            "truncated, or of another corpus; run fairseq-preprocess again."
        )
    for highest in _highest_tokens(data, dtype):
        if highest >= types:
            raise UserError(
                f"{data}: has token number {highest} and the dictionary beside it {types} types: "
                "they are of different runs of fairseq-preprocess."
            )
    return int(count)


def _highest_tokens(path: str, dtype: np.dtype[Any]) -> Iterator[int]:
    """Yields the numbers of each block at the beginning of the file."""
    left = SCANNED
    with open(path, "rb") as stream:
        while left > 0 and (block := np.fromfile(stream, dtype=dtype, count=1 << 22)).size:
            left -= block.size
            yield int(block.max())
