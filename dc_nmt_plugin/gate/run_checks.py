"""Checks that run before training: settings that must fail, and flags that have no effect."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError
from ..flags import flag_name


def check_training_run(args: Any) -> None:
    """Checks the settings of a training run that the model receives.

    Args:
        args: the model's flags; for architectures of this package all flags of ``fairseq-train``

    Raises:
        ConfigError: flags that would change nothing
    """
    problems = _idle_flags(args)
    if problems:
        raise ConfigError(problems)


def _idle_flags(args: Any) -> list[str]:
    """Returns a sentence for each Transformer flag that has no effect without another flag.

    Checkpoints that were trained with such a flag still load."""
    problems = []
    for side in ("encoder", "decoder"):
        layers = getattr(args, f"{side}_self_attention_layers", None)
        if layers is not None and getattr(args, f"{side}_self_attention", None) == "standard":
            problems.append(
                f"--{side}-self-attention-layers: {layers} are layers of another "
                f"--{side}-self-attention than standard; give one, or leave this flag out."
            )
    weight = getattr(args, "aux_weight", 1.0)
    if weight not in (None, 1.0) and not str(getattr(args, "aux_layers", None) or "").strip():
        problems.append(
            f"--aux-weight: {weight} is the weight of auxiliary decoders, and without --aux-layers "
            "there are none; give layers such as 1,3, or leave this flag out."
        )
    return problems


def refuse_in_training(**flags: object) -> None:
    """Refuses decoding flags: they would change training, or what ``--eval-bleu`` measures.

    Args:
        flags: name → value; empty ones were not given

    Raises:
        ConfigError: naming those that were given
    """
    given = [flag_name(name) for name, value in flags.items() if value]
    if given:
        raise ConfigError(
            [f"{flag}: is for decoding a trained model, not for training." for flag in given]
        )
