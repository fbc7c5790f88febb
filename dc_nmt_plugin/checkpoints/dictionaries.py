"""Compares the dictionaries of a checkpoint's training with those of a task."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError
from .loading import load_checkpoint

KEY = (
    "dictionaries"  # in a checkpoint's extra_state; fairseq's loader ignores what it does not know
)
_SIDES = {"source": "encoder", "target": "decoder"}
_EMBEDDINGS = ("embed_tokens.weight", "embedding.tokens.weight")  # fairseq's, this plugin's


def dictionaries_of(task: Any) -> dict[str, str]:
    """Returns side (or language of a multilingual task) → digest of the dictionary's words.

    Args:
        task: fairseq's; the result is empty for a task without dictionaries
    """
    return {side: _digest(dictionary.symbols) for side, dictionary in _of(task).items()}


def saved_dictionaries(state: Mapping[str, Any]) -> dict[str, str]:
    """Returns the digests that a checkpoint holds; empty for a checkpoint without them.

    Args:
        state: the checkpoint's content
    """
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
    here = _of(task)
    if not here:
        return
    state = load_checkpoint(path, mmap=True)
    known, source = saved_dictionaries(state), f"the one that {path} was trained with"
    if not known:
        folder, known = _folder_of_training(path, state)
        source = f"the one in {folder}, on which {path} was trained"
    for side, dictionary in here.items():
        if side in known and known[side] != _digest(dictionary.symbols):
            raise UserError(
                f"{_data_of(task)}: its {side} dictionary has other words, or another order, than "
                f"{source}: the same numbers would be other words. Give the data that the "
                "checkpoint was trained on, or prepare text with its dictionaries "
                "(fairseq-preprocess --srcdict, --tgtdict)."
            )


def check_folder(path: str, data: Path, languages: Sequence[str]) -> None:
    """Refuses a folder whose dictionaries are not those of a checkpoint's training.

    Args:
        path: of the checkpoint
        data: folder with the dictionaries
        languages: source and target

    Raises:
        UserError: naming the folder, the side and the checkpoint
    """
    from fairseq.data import Dictionary

    source, target = (Dictionary.load(str(data / f"dict.{language}.txt")) for language in languages)
    task = argparse.Namespace(
        source_dictionary=source,
        target_dictionary=target,
        cfg=argparse.Namespace(data=str(data)),
    )
    if problem := size_problem(path, task):
        raise UserError(problem)
    check_dictionaries(path, task)


def languages_of(stock: dict[str, Any], data: Path, name: str) -> tuple[str, str]:
    """Returns source and target language of a checkpoint.

    Args:
        stock: from :func:`.stock_checkpoint.to_stock`
        data: folder with the dictionaries that the model was trained with
        name: path of the checkpoint

    Raises:
        UserError: `data` has no dictionaries, or others than the training
    """
    from fairseq.data.data_utils import infer_language_pair

    task = stock["cfg"]["task"]
    languages = [task.get("source_lang"), task.get("target_lang")]
    if None in languages:  # read from file names
        languages = list(infer_language_pair(str(data)))
    if None in languages:
        raise UsageError(f"--data {data}: has no text made by fairseq-preprocess")
    for language in languages:
        if not (data / f"dict.{language}.txt").is_file():
            raise UsageError(f"--data {data}: has no dict.{language}.txt, which {name} needs")
    check_folder(name, data, languages)
    return languages[0], languages[1]


def size_problem(path: str, task: Any) -> str | None:
    """Returns the message for a checkpoint with dictionaries of other sizes, or None.

    Args:
        path: of the checkpoint
        task: fairseq's
    """
    state = load_checkpoint(path, mmap=True)
    for side, dictionary in _of(task).items():
        rows = _types(state, side)
        if rows not in (None, len(dictionary)):
            return (
                f"{_data_of(task)}: its {side} dictionary has {len(dictionary):,} types, and "
                f"{path} was trained with {rows:,}: give the data that it was trained on."
            )
    return None


def check_same_dictionaries(states: Mapping[str, Mapping[str, str]]) -> None:
    """Refuses checkpoints that were trained with different dictionaries.

    Args:
        states: name → :func:`saved_dictionaries`; an empty one is left out

    Raises:
        UserError: naming two
    """
    recorded = [(name, sides) for name, sides in states.items() if sides]
    for name, sides in recorded[1:]:
        if sides != recorded[0][1]:
            raise UserError(
                f"{recorded[0][0]} and {name} were trained with different dictionaries: the same "
                "numbers are other words, and a mean means nothing."
            )


def _of(task: Any) -> dict[str, Any]:
    """Returns side → dictionary."""
    languages = getattr(task, "dicts", None)
    if isinstance(languages, Mapping):
        found = dict(languages)
    else:
        found = {}
        for side in ("source", "target"):
            with contextlib.suppress(NotImplementedError):
                found[side] = getattr(task, f"{side}_dictionary", None)
    return {str(side): each for side, each in found.items() if hasattr(each, "symbols")}


def _digest(words: list[str]) -> str:
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _folder_of_training(path: str, state: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Returns the training folder of a checkpoint, and the digests of its dictionaries.

    Leaves out a dictionary that was written after the checkpoint, or has another size.
    """
    from fairseq.data import Dictionary
    from fairseq.data.data_utils import infer_language_pair

    config = state.get("cfg")
    task = _setting(config, "task") if config else state.get("args")
    folder = str(_setting(task, "data") or "").split(os.pathsep)[0]
    if not os.path.isdir(folder):
        return folder, {}
    languages = [_setting(task, "source_lang"), _setting(task, "target_lang")]
    if None in languages:
        languages = list(infer_language_pair(folder))
    found = {}
    for side, language in zip(("source", "target"), languages, strict=True):
        file = os.path.join(folder, f"dict.{language}.txt")
        if os.path.isfile(file) and os.path.getmtime(file) <= os.path.getmtime(path):
            with contextlib.suppress(Exception):  # damaged since
                dictionary = Dictionary.load(file)
                if _types(state, side) == len(dictionary):
                    found[side] = _digest(dictionary.symbols)
    return folder, found


def _types(state: Mapping[str, Any], side: str) -> int | None:
    """Returns the rows of a side's embedding matrix; None if it has another name."""
    names = (f"{_SIDES.get(side)}.{name}" for name in _EMBEDDINGS)
    return next((len(state["model"][name]) for name in names if name in state["model"]), None)


def _data_of(task: Any) -> str:
    """Returns the folder that a task reads, for messages."""
    data = _setting(getattr(task, "cfg", None) or getattr(task, "args", None), "data")
    return str(data).split(os.pathsep)[0] if data else "this data"


def _setting(config: Any, name: str) -> Any:
    if isinstance(config, argparse.Namespace):
        return getattr(config, name, None)
    return config.get(name) if hasattr(config, "get") else getattr(config, name, None)
