"""Settings of a run, read from its commands, with the names of the published data."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import UsageError, UserError, did_you_mean
from ..flags import flag_name, flag_value, whole_number
from ..models.options import add_flags
from .effective_settings import DECODING, TRAINING, betas, config_of, flag_types, model_settings

# fairseq's, where a command does not give the flag
_TRAINING_DEFAULTS: Mapping[str, Any] = {
    "optimizer": None,
    "adam_betas": (0.9, 0.999),
    "adam_eps": 1e-8,
    "adadelta_rho": 0.9,
    "adadelta_eps": 1e-6,
    "lr_scheduler": "fixed",
    "label_smoothing": 0.0,
    "sentence_avg": False,
}
_DECODING_DEFAULTS: Mapping[str, Any] = {
    "beam": 5,
    "lenpen": 1.0,
    "length_penalty": "fairseq",
    "mask_source_layers": "",
    "no_aux_fusion": False,
}


@dataclass(frozen=True)
class DescribedRun:
    """One trained model, decoded in one way.

    Attributes:
        task: name of the recipe's folder; `direction`, such as ``vi-en``
        arch: value of ``--arch``
        flags: model settings on top of the architecture's, by field name
        training: keys of :data:`~.settings.TRAINING`
        subset: ``test``, ``valid`` or another one of :data:`~.schema.SUBSETS`
        part: decoder, ``main`` or ``aux:1``
        decoding: keys of :data:`~.settings.DECODING`
        of: part of the subset that a number is of, such as a length group; "" for all
    """

    task: str
    direction: str
    arch: str
    flags: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    subset: str = "test"
    part: str = "main"
    decoding: Mapping[str, Any] = field(default_factory=dict)
    of: str = ""

    @classmethod
    def of_commands(
        cls,
        task: str,
        direction: str,
        train: Sequence[str],
        generate: Sequence[str],
        subset: str = "test",
    ) -> DescribedRun:
        """Returns a run from the words of its ``fairseq-train`` and ``fairseq-generate``.

        Raises:
            UserError: no or an unknown ``--arch``, or a value of another type
        """
        arch = flag_value(train, "--arch") or flag_value(train, "-a")
        if arch is None:
            raise UserError("the training command has no --arch")
        return cls(
            task,
            direction,
            arch,
            flags_of(arch, train),
            training_of(train),
            subset,
            flag_value(generate, "--decode-with") or "main",
            decoding_of(generate),
        )

    def settings(self) -> dict[str, Any]:
        """Returns all settings: ``task``, ``model.encoder_layers``, ``decoding.beam`` …"""
        model = model_settings(self.arch, self.flags)
        decoding = {**_DECODING_DEFAULTS, **self.decoding}
        return {
            **{name: getattr(self, name) for name in ("task", "direction", "subset", "part", "of")},
            **{f"model.{name}": value for name, value in model.items()},
            **{f"training.{name}": value for name, value in self.training.items()},
            **{f"decoding.{name}": value for name, value in decoding.items()},
        }


def flags_of(arch: str, words: Sequence[str]) -> dict[str, Any]:
    """Returns the model settings of a ``fairseq-train`` command, by field name.

    Raises:
        UserError: an unknown architecture, or a value of another type
    """
    return _read(arch, words)[0]


def model_flags(arch: str, words: Sequence[str]) -> dict[str, Any]:
    """Returns the model settings in words that must all be flags of the architecture.

    Raises:
        UserError: an unknown architecture, a word that is not a flag of the architecture, or
            settings that contradict each other
    """
    flags, rest = _read(arch, words)
    if rest:
        names = list(map(flag_name, flag_types(arch)))
        raise UsageError(f"{rest[0]!r} is no flag of {arch}.{did_you_mean(rest[0], names, 3)}")
    model_settings(arch, flags)
    return flags


def _read(arch: str, words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    message, config = io.StringIO(), cast(Any, config_of(arch))
    try:
        with contextlib.redirect_stderr(message):
            given, rest = _parser(config).parse_known_args(list(words))
    except SystemExit:
        raise UsageError(message.getvalue().strip().rpartition("error: ")[2]) from None
    return vars(given), rest


@functools.cache  # the register asks a thousand times
def _parser(config: type) -> argparse.ArgumentParser:
    # as fairseq: a switch that is not given leaves the architecture's own value
    parser = argparse.ArgumentParser(
        allow_abbrev=False, add_help=False, argument_default=argparse.SUPPRESS
    )
    add_flags(parser, config)
    return parser


def training_of(words: Sequence[str]) -> dict[str, Any]:
    """Returns the training settings of a ``fairseq-train`` command that a document can fix."""
    found: dict[str, Any] = dict(_TRAINING_DEFAULTS)
    for name, kind in TRAINING.items():
        flag = flag_name(name)
        if name == "sentence_avg":
            found[name] = flag in words
        elif (text := flag_value(words, flag)) is not None:
            found[name] = betas(text) if name == "adam_betas" else _as(kind, flag, text)
    if (text := flag_value(words, "--max-update")) is not None:
        found["updates"] = int(_as(float, "--max-update", text))
    if (tokens := tokens_of(words)) is not None:
        found["tokens"] = tokens
    return found


def tokens_of(words: Sequence[str]) -> int | None:
    """Returns the tokens of one update of a ``fairseq-train`` command, of all processes.

    None without ``--max-tokens``, or with several values of ``--update-freq``.
    """
    text, frequency = flag_value(words, "--max-tokens"), flag_value(words, "--update-freq") or "1"
    if text is None or not frequency.isdecimal():
        return None
    processes = whole_number(words, "--distributed-world-size") or 1
    return int(_as(float, "--max-tokens", text)) * processes * int(frequency)


def decoding_of(words: Sequence[str]) -> dict[str, Any]:
    """Returns the settings of a ``fairseq-generate`` command that a document can fix."""
    found = dict(_DECODING_DEFAULTS)
    for name, kind in DECODING.items():
        flag = flag_name(name)
        if name == "no_aux_fusion":
            found[name] = flag in words
        elif (text := flag_value(words, flag)) is not None:
            found[name] = _as(kind, flag, text)
    return found


def _as(kind: Any, flag: str, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise UserError(f"{flag}: {text!r} is no {kind.__name__}") from None
