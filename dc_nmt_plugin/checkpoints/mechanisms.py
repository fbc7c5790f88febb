"""Compares mechanisms of the user's own with those that a checkpoint was trained with.

Without this comparison, an option with another name has its default, and another formula with the
same parameters computes something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import UserError, notify
from ..flags import MECHANISM_FOLDERS, value_of
from ..modules.mechanisms import Mechanism, mechanisms
from .loading import saved_settings

KEY = "mechanisms"  # in a checkpoint's extra_state, beside those of dictionaries.py
_PROBLEMS = {  # in words of torch
    "the checkpoint lacks": r'Missing key\(s\) in state_dict: "(.*?)"',
    "the model lacks": r'Unexpected key\(s\) in state_dict: "(.*?)"',
    "another shape has": r"size mismatch for (.*?):",
}
_said: set[tuple[str, str]] = set()  # mechanisms, and the digests of training


def record_of_mechanisms(model: Any) -> dict[str, Any]:
    """Returns what a checkpoint's extra_state says about the user's own mechanisms in a model."""
    used = value_of(model, MECHANISM_FOLDERS) or {}
    return {
        KEY: {
            name: {"options": _options(mechanism, model), "source": mechanism.source}
            for name, mechanism in _imported().items()
            if name in used
        }
    }


def sources_of(model: Any) -> dict[str, str]:
    """Returns mechanism → digest of its source, of the user's own mechanisms in a model."""
    return {name: facts["source"] for name, facts in record_of_mechanisms(model)[KEY].items()}


def check_code(path: str, state: Mapping[str, Any]) -> None:
    """Refuses a checkpoint at `path` whose mechanisms had other options; says another source.

    Mechanisms that nobody has imported, and checkpoints of earlier versions, are not compared.

    Raises:
        UserError: naming the options of the training, and those of the class
    """
    model, imported = saved_settings(state, "model"), _imported()
    for name, saved in _saved(state).items():
        if name not in imported:
            continue
        trained, now = saved["options"], _options(imported[name], model)
        if trained != now:
            raise UserError(
                f"{path}: {name!r} was trained with {_those_not_in(now, trained)}, and its class "
                f"in {imported[name].folder} has {_those_not_in(trained, now)}. Give the class "
                "with the options of the training, or train again."
            )
    for name, digest in other_sources(state).items():
        trained_digest = _saved(state)[name]["source"]
        if (name, trained_digest) not in _said:
            _said.add((name, trained_digest))
            notify(
                f"{path}: {name!r} was trained with another source than {imported[name].folder} "
                f"has (digest {trained_digest}, now {digest}): another formula computes something "
                "else."
            )


def other_sources(state: Mapping[str, Any]) -> dict[str, str]:
    """Returns mechanism → digest of its source, where a checkpoint was trained with another one."""
    saved = {name: facts["source"] for name, facts in _saved(state).items()}
    return {
        name: mechanism.source
        for name, mechanism in _imported().items()
        if saved.get(name, mechanism.source) != mechanism.source
    }


@contextmanager
def explained_parameters(paths: Sequence[str]) -> Iterator[None]:
    """Puts into a sentence which parameters a model and its checkpoint do not share.

    Raises:
        UserError: naming the first of each kind
    """
    try:
        yield
    except Exception as error:
        # fairseq's Trainer hides torch's error behind one that names no parameter
        text = f"{error} {error.__context__}"
        found = {problem: re.search(pattern, text) for problem, pattern in _PROBLEMS.items()}
        problems = [f"{problem} {match[1]}" for problem, match in found.items() if match]
        if not problems:
            raise
        raise UserError(
            f"{', '.join(paths)}: has other parameters than the model. For example, "
            f"{', and '.join(problems)}. Give the code and the flags of the training."
        ) from error


def _saved(state: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return dict((state.get("extra_state") or {}).get(KEY) or {})


def _imported() -> dict[str, Mechanism]:
    return {mechanism.name: mechanism for mechanism in mechanisms() if mechanism.folder}


def _options(mechanism: Mechanism, model: Any) -> dict[str, Any]:
    """Returns option → value in the settings of a model."""
    options = {}
    for option in mechanism.options:
        value = value_of(model, mechanism.setting(option))
        options[option.name] = option.default if value is None else value
    return options


def _those_not_in(others: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Returns the options that others lack, or have with another value, for a sentence."""
    words = [f"{name}={value}" for name, value in options.items() if others.get(name) != value]
    return f"the option {', '.join(words)}" if words else "no such option"
