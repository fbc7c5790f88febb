"""Decoding flags: the parts of a trained model that translate, and the length penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError, check_choices

MAIN = "main"


def decoder_layer(model: Any, name: str, flag: str) -> int | None:
    """Returns the encoder layer of the decoder `name`, such as ``aux:1``; None for the main one.

    Raises:
        ConfigError: naming `flag`: the model has no such decoder
    """
    auxiliary = getattr(model.decoder, "auxiliary", ())
    layers = {MAIN: None, **{f"aux:{layer}": int(layer) for layer in auxiliary}}
    check_choices(flag, [name], layers, error=ConfigError)
    return layers[name]


def apply_decoding_flags(model: Any, cfg: Any) -> None:
    """Applies ``--decode-with``, ``--no-aux-fusion`` and ``--mask-source-layers`` to a new model.

    Raises:
        ConfigError: the model lacks the part that a flag names
    """
    if cfg.decode_with != MAIN:
        model.decoder.decode_with = decoder_layer(model, cfg.decode_with, "--decode-with")
    if cfg.no_aux_fusion:
        if not getattr(model.decoder, "can_fuse", False):
            raise ConfigError("--no-aux-fusion: this model was trained without --aux-fusion.")
        model.decoder.fuse = False
    if cfg.mask_source_layers:
        # only our Transformers read several layers
        read = getattr(getattr(model, "encoder", None), "read_layers", [])
        names = {str(layer): layer for layer in read}
        parts = [part.strip() for part in cfg.mask_source_layers.split(",")]
        if not names.keys() >= set(parts):
            raise ConfigError(
                f"--mask-source-layers: {cfg.mask_source_layers!r} is no list, such as 3,5, of "
                f"encoder layers that this model's decoder reads: {', '.join(names) or 'none'}."
            )
        model.encoder.masked_layers = frozenset(names[part] for part in parts)


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
