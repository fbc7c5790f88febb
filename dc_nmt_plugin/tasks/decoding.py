"""Decoding flags: the parts of a trained model that translate, and the length penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError, check_choices
from ..flags import listed

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
        read = getattr(getattr(model, "encoder", None), "read_layers", None)
        if not read:
            raise ConfigError("--mask-source-layers: this model's decoder reads no encoder layers.")
        layers = listed(cfg.mask_source_layers) or [cfg.mask_source_layers]
        check_choices("--mask-source-layers", layers, map(str, read), error=ConfigError)
        model.encoder.masked_layers = frozenset(map(int, layers))


@dataclass(frozen=True)
class WuLengthPenalty:
    """The papers' length penalty lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, eq. 14).

    fairseq's generator divides a hypothesis's score by ``|Y| ** len_penalty``; this object makes
    that expression Wu's. |Y| counts the end token, as in fairseq.

    >>> 7 ** WuLengthPenalty(1.0)
    2.0
    """

    alpha: float

    def __rpow__(self, length: int) -> float:
        return ((5.0 + length) / 6.0) ** self.alpha
