"""Compares the dictionaries and languages of a checkpoint's training with those of a task.

With another dictionary of the same size, the same numbers are other words, without an error in
fairseq. A model of the other direction may even have the same joined dictionary.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from typing import Any

from ..errors import UserError
from ..flags import value_of
from .loading import saved_settings

# in a checkpoint's extra_state; fairseq's loader ignores keys that it does not know
KEY = "dictionaries"
LANGUAGES = "languages"  # source and target, which fairseq may read from names of files


def record_of_text(task: Any) -> dict[str, Any]:
    """Returns what a checkpoint's extra_state says about the text of fairseq's `task`."""
    return {KEY: _digests(task), LANGUAGES: _languages_in(task)}


def saved_dictionaries(state: Mapping[str, Any]) -> dict[str, str]:
    """Returns the digests in a checkpoint's content; empty for a checkpoint without them."""
    return dict((state.get("extra_state") or {}).get(KEY) or {})


def check_text(path: str, state: Mapping[str, Any], task: Any, *, direction: bool = True) -> None:
    """Refuses a checkpoint at `path` whose dictionaries or direction are not those of a task.

    Of a checkpoint without digests (stock fairseq's), only the direction is compared; torch refuses
    a dictionary of another size.

    Raises:
        UserError: naming the data, the side and the checkpoint
    """
    if direction:
        _check_direction(path, state, task)
    digests = saved_dictionaries(state)
    for side, digest in _digests(task).items():
        if digests.get(side, digest) != digest:
            data = _folders_of(task)[0] or "this data"
            raise UserError(
                f"{data}: its {side} dictionary has other words, or another order, than the one "
                f"that {path} was trained with: the same numbers would be other words. Give the "
                "data that the checkpoint was trained on, or prepare text with its dictionaries "
                "(fairseq-preprocess --srcdict, --tgtdict)."
            )


def _check_direction(path: str, state: Mapping[str, Any], task: Any) -> None:
    source, target = saved_languages(state)
    if None in (source, target) or source == target:
        return
    here = _languages_in(task)
    if here == [target, source]:
        raise UserError(
            f"{path}: was trained from {source} to {target}, and --source-lang {here[0]} "
            f"--target-lang {here[1]} is the other direction."
        )


def saved_languages(state: Mapping[str, Any]) -> list[str | None]:
    """Returns source and target language of a checkpoint's training; None if unknown."""
    from fairseq.data.data_utils import infer_language_pair

    saved = (state.get("extra_state") or {}).get(LANGUAGES)
    if saved:
        return list(saved)
    config = saved_settings(state, "task")
    languages = [config.get("source_lang"), config.get("target_lang")]
    folder = str(config.get("data") or "").split(os.pathsep)[0]
    if None in languages and os.path.isdir(folder):  # without -s and -t, the text's names tell
        languages = list(infer_language_pair(folder))
    return languages


def check_further_folders(task: Any) -> None:
    """Refuses DATA:OTHER where OTHER has another dictionary.

    fairseq reads the text of all folders with the dictionaries of the first folder.

    Raises:
        UserError: naming the dictionary
    """
    first, *others = _folders_of(task)
    languages = _languages_in(task)
    names = [f"dict.{language}.txt" for language in languages]
    if None in languages:
        names = ["dict.txt"]  # of a language model
    for folder in others:
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.isfile(path):
                continue
            used = task.load_dictionary(os.path.join(first, name))
            if task.load_dictionary(path).symbols != used.symbols:
                raise UserError(
                    f"{path}: has other words, or another order, than {first}. fairseq reads all "
                    "folders of DATA with the first dictionary; prepare this one with --srcdict "
                    "and --tgtdict of the first."
                )


def _setting_of(task: Any, name: str) -> Any:
    return value_of(getattr(task, "cfg", None) or getattr(task, "args", None), name)


def _folders_of(task: Any) -> list[str]:
    return str(_setting_of(task, "data") or "").split(os.pathsep)


def _languages_in(task: Any) -> list[str | None]:
    """Returns source and target language of fairseq's translation task; None if unknown."""
    return [_setting_of(task, "source_lang"), _setting_of(task, "target_lang")]


def _digests(task: Any) -> dict[str, str]:
    """Returns side → digest of the dictionary of fairseq's `task`; language models have one."""
    digests = {}
    for side in ("source", "target"):
        with contextlib.suppress(NotImplementedError):
            dictionary: Any = getattr(task, f"{side}_dictionary", None)
            if hasattr(dictionary, "symbols"):
                words = "\n".join(dictionary.symbols).encode("utf-8", "surrogateescape")
                digests[side] = hashlib.sha256(words).hexdigest()[:16]
    return digests
