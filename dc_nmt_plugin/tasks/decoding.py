"""Applies decoding flags to a loaded model, where each change can be reverted, and to the search.

Each function raises ConfigError, with the flag, if the model lacks the part that the flag names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError

MAIN = "main"


def decoders(model: Any) -> dict[str, int | None]:
    """Returns name of each decoder → its encoder layer; None for the main decoder."""
    auxiliary = sorted(int(key) for key in getattr(model.decoder, "auxiliary", ()))
    return {MAIN: None, **{f"aux:{layer}": layer for layer in auxiliary}}


def choose_decoder(model: Any, name: str) -> None:
    """Applies ``--decode-with``."""
    choices = decoders(model)
    if name not in choices:
        raise ConfigError([f"--decode-with: {_not_a_decoder(name, choices)}"])
    if len(choices) > 1:
        model.decoder.decode_with = choices[name]


def choose_fusion(model: Any, *, without: bool) -> None:
    """Applies ``--no-aux-fusion``, or restores the fusion."""
    can_fuse = getattr(model.decoder, "can_fuse", False)
    if without and not can_fuse:
        raise ConfigError(["--no-aux-fusion: this model was trained without --aux-fusion."])
    if can_fuse:
        model.decoder.fuse = not without


def mask_source_layers(model: Any, text: str | None) -> None:
    """Applies ``--mask-source-layers``, or removes the mask."""
    read = getattr(getattr(model, "encoder", None), "read_layers", [])  # only of our Transformers
    names = {str(layer): layer for layer in read}
    parts = [part.strip() for part in text.split(",")] if text else []
    if not names.keys() >= set(parts):
        raise ConfigError(
            f"--mask-source-layers: {text!r} is no list, such as 3,5, of encoder layers that this "
            f"model's decoder reads: {', '.join(names) or 'none'}."
        )
    if read:
        model.encoder.masked_layers = frozenset(names[part] for part in parts)


def layers_for_bleu(model: Any, text: str, *, eval_bleu: bool) -> list[int]:
    """Returns the encoder layers of the auxiliary decoders that ``--eval-bleu`` translates with.

    Args:
        model: with the decoders
        text: value of ``--eval-bleu-decoders``
        eval_bleu: whether ``--eval-bleu`` is given

    Raises:
        ConfigError: an unknown decoder, or no ``--eval-bleu``
    """
    choices = decoders(model)
    names = [name.strip() for name in text.split(",")]
    problems = [_not_a_decoder(name, choices) for name in names if name not in choices]
    if names != [MAIN] and not eval_bleu:
        problems.append(f"{text!r} needs --eval-bleu.")
    if problems:
        raise ConfigError(f"--eval-bleu-decoders: {problem}" for problem in problems)
    layers = {choices[name] for name in names}
    return sorted(layer for layer in layers if layer is not None)


@contextmanager
def decoding_with(model: Any, layer: int) -> Iterator[None]:
    """Context in which the auxiliary decoder on encoder layer `layer` translates."""
    before = model.decoder.decode_with
    model.decoder.decode_with = layer
    try:
        yield
    finally:
        model.decoder.decode_with = before


def _not_a_decoder(name: str, choices: dict[str, int | None]) -> str:
    return f"{name!r} is not one of {', '.join(choices)} (the decoders of this model)."


@dataclass(frozen=True)
class WuLengthPenalty:
    """The papers' length penalty lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, eq. 14).

    fairseq's generator divides a hypothesis's score by ``|Y| ** len_penalty``; this object makes
    that expression Wu's. |Y| counts the end token, as in fairseq, and may be a number, an array of
    numpy's or a tensor. The class is not a float, because numpy and torch would then use the
    float's power.

    >>> 7 ** WuLengthPenalty(1.0)
    2.0
    """

    alpha: float
    __array_ufunc__ = None  # so that numpy leaves the power to this class

    def __rpow__(self, length: Any) -> Any:
        return ((5.0 + length) / 6.0) ** self.alpha
