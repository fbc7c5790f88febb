"""Compares the dictionaries of a checkpoint's training with those of a task.

With another dictionary of the same size, the same numbers are other words, without an error in
fairseq.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError
from .loading import load_checkpoint, setting

# in a checkpoint's extra_state; fairseq's loader ignores keys that it does not know
KEY = "dictionaries"
LANGUAGES = "languages"  # as KEY: source and target, which fairseq may read from names of files
_SIDES = {"source": "encoder", "target": "decoder"}
_EMBEDDINGS = ("embed_tokens.weight", "embedding.tokens.weight")  # fairseq's, this plugin's


def dictionaries_of(task: Any) -> dict[str, str]:
    """Returns side (or language of a multilingual task) → digest of the dictionary's words.

    Args:
        task: fairseq's; the result is empty for a task without dictionaries
    """
    return {side: _digest(dictionary) for side, dictionary in _by_side(task).items()}


def saved_dictionaries(state: Mapping[str, Any]) -> dict[str, str]:
    """Returns the digests in a checkpoint's content; empty for a checkpoint without them."""
    return dict((state.get("extra_state") or {}).get(KEY) or {})


def check_dictionaries(path: str, task: Any) -> None:
    """Refuses a checkpoint whose dictionaries are not those of the task.

    A checkpoint without a record (stock fairseq's, or an old one) is compared with its training
    folder, if that folder's dictionaries are unchanged.

    Args:
        path: of the checkpoint
        task: fairseq's, which turns text into numbers

    Raises:
        UserError: naming the data, the side and the checkpoint
    """
    dictionaries = _by_side(task)
    if not dictionaries:
        return
    state = load_checkpoint(path, mmap=True)
    digests, source = saved_dictionaries(state), f"the one that {path} was trained with"
    if not digests:
        folder, digests = _folder_of_training(path, state)
        source = f"the one in {folder}, on which {path} was trained"
    for side, dictionary in dictionaries.items():
        rows = _rows(state, side)
        if rows not in (None, len(dictionary)):
            raise UserError(
                f"{_data_of(task)}: its {side} dictionary has {len(dictionary):,} types, and "
                f"{path} was trained with {rows:,}: give the data that it was trained on."
            )
        if side in digests and digests[side] != _digest(dictionary):
            raise UserError(
                f"{_data_of(task)}: its {side} dictionary has other words, or another order, than "
                f"{source}: the same numbers would be other words. Give the data that the "
                "checkpoint was trained on, or prepare text with its dictionaries "
                "(fairseq-preprocess --srcdict, --tgtdict)."
            )


def languages_in_task(task: Any) -> list[str | None]:
    """Returns source and target language of fairseq's translation task; None if unknown."""
    config = getattr(task, "cfg", None) or getattr(task, "args", None)
    return [setting(config, "source_lang"), setting(config, "target_lang")]


def check_direction(path: str, task: Any) -> None:
    """Refuses a checkpoint of the opposite direction, which has the same joined dictionary.

    Args:
        path: of the checkpoint
        task: fairseq's, with the languages of the text

    Raises:
        UserError: naming the checkpoint's languages
    """
    state, here = load_checkpoint(path, mmap=True), languages_in_task(task)
    pair = (state.get("extra_state") or {}).get(LANGUAGES) or _languages_of_training(state)[1]
    if None not in pair and pair[0] != pair[1] and here == list(pair)[::-1]:
        raise UserError(
            f"{path}: was trained from {pair[0]} to {pair[1]}, and --source-lang {here[0]} "
            f"--target-lang {here[1]} is the other direction."
        )


def check_further_folders(task: Any) -> None:
    """Refuses DATA:OTHER where OTHER has another dictionary.

    fairseq reads the text of all folders with the dictionaries of the first folder.

    Raises:
        UserError: naming the dictionary
    """
    config = getattr(task, "cfg", None) or getattr(task, "args", None)
    first, *others = str(getattr(config, "data", None) or "").split(os.pathsep)
    languages = languages_in_task(task)
    names = ["dict.txt"] if None in languages else [f"dict.{each}.txt" for each in languages]
    for folder in others:
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and _words(path) != _words(os.path.join(first, name)):
                raise UserError(
                    f"{path}: has other words, or another order, than {first}. fairseq reads all "
                    "folders of DATA with the first dictionary; prepare this one with --srcdict "
                    "and --tgtdict of the first."
                )


def check_data(path: str, task: Any) -> None:
    """Does :func:`check_direction` and :func:`check_dictionaries`."""
    check_direction(path, task)
    check_dictionaries(path, task)


def languages_of(stock: dict[str, Any], data: Path, name: str) -> tuple[str, str]:
    """Returns source and target language of a checkpoint, whose dictionaries are in `data`.

    Args:
        stock: from :func:`.stock_checkpoint.to_stock`
        data: folder with the dictionaries that the model was trained with
        name: path of the checkpoint

    Raises:
        UserError: `data` has no dictionaries, or others than the training
    """
    from fairseq.data import Dictionary
    from fairseq.data.data_utils import infer_language_pair

    task = stock["cfg"]["task"]
    source, target = task.get("source_lang"), task.get("target_lang")
    if source is None or target is None:  # read from file names
        source, target = infer_language_pair(str(data))
    if source is None or target is None:
        raise UsageError(f"--data {data}: has no text made by fairseq-preprocess")
    dictionaries = []
    for language in (source, target):
        if not (data / f"dict.{language}.txt").is_file():
            raise UsageError(f"--data {data}: has no dict.{language}.txt, which {name} needs")
        dictionaries.append(Dictionary.load(str(data / f"dict.{language}.txt")))
    check_dictionaries(
        name,
        argparse.Namespace(
            source_dictionary=dictionaries[0],
            target_dictionary=dictionaries[1],
            cfg=argparse.Namespace(data=str(data)),
        ),
    )
    return source, target


def _words(path: str) -> list[str]:
    with open(path, encoding="utf-8", newline="\n") as lines:
        return [line.rstrip().rpartition(" ")[0] for line in lines]


def _by_side(task: Any) -> dict[str, Any]:
    languages = getattr(task, "dicts", None)
    if isinstance(languages, Mapping):
        dictionaries = dict(languages)
    else:
        dictionaries = {}
        for side in _SIDES:
            with contextlib.suppress(NotImplementedError):
                dictionaries[side] = getattr(task, f"{side}_dictionary", None)
    return {str(side): each for side, each in dictionaries.items() if hasattr(each, "symbols")}


def _digest(dictionary: Any) -> str:
    words = "\n".join(dictionary.symbols).encode("utf-8", "surrogateescape")
    return hashlib.sha256(words).hexdigest()[:16]


def _folder_of_training(path: str, state: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Returns the training folder of a checkpoint, and the digests of its dictionaries.

    Leaves out a dictionary that was written after the checkpoint, or has another size.
    """
    from fairseq.data import Dictionary

    folder, languages = _languages_of_training(state)
    if not os.path.isdir(folder):
        return folder, {}
    digests = {}
    for side, language in zip(_SIDES, languages, strict=True):
        file = os.path.join(folder, f"dict.{language}.txt")
        if os.path.isfile(file) and os.path.getmtime(file) <= os.path.getmtime(path):
            with contextlib.suppress(Exception):  # damaged since
                dictionary = Dictionary.load(file)
                if _rows(state, side) == len(dictionary):
                    digests[side] = _digest(dictionary)
    return folder, digests


def _languages_of_training(state: Mapping[str, Any]) -> tuple[str, list[str | None]]:
    """Returns the training folder of a checkpoint, and its languages if they are known."""
    from fairseq.data.data_utils import infer_language_pair

    task = setting(state["cfg"], "task") if state.get("cfg") else state.get("args")
    folder = str(setting(task, "data") or "").split(os.pathsep)[0]
    languages = [setting(task, "source_lang"), setting(task, "target_lang")]
    if None in languages and os.path.isdir(folder):
        languages = list(infer_language_pair(folder))
    return folder, languages


def _rows(state: Mapping[str, Any], side: str) -> int | None:
    """Returns the rows of a side's embedding matrix; None if it has another name."""
    for embedding in _EMBEDDINGS:
        name = f"{_SIDES.get(side)}.{embedding}"
        if name in state["model"]:
            return len(state["model"][name])
    return None


def _data_of(task: Any) -> str:
    """Returns the folder that a task reads, for messages."""
    data = setting(getattr(task, "cfg", None) or getattr(task, "args", None), "data")
    return str(data).split(os.pathsep)[0] if data else "this data"
