"""Flags in command lines of fairseq, their values, and settings of parsed flags."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

# models in fairseq's registry
TRANSFORMER, GRU, LANGUAGE_MODEL = "dc_nmt_transformer", "dc_nmt_gru", "dc_nmt_lstm_lm"
USER_DIR_VARIABLE = "DC_NMT_USER_DIR"  # folders with mechanisms of the user's own
# setting in a checkpoint: mechanism of the model from such a folder → the folder
MECHANISM_FOLDERS = "mechanism_folders"
# values of --criterion: names that are also those of tasks → class. A checkpoint holds that name,
# and fairseq resumes a run only with the same class.
PUBLISHED = {
    "transformer_dc": "TransformerDCCriterion",
    "transformer_ctxaware": "TransformerContextAwareCriterion",
    "transformer_cross_agg": "TransformerCrossAggregationCriterion",
    "transformer_mlmha": "TransformerMultiLayerCriterion",
    "transformer_ms_aux": "TransformerMultiLevelSupervisionCriterion",
    "gru_selfattn_residual": "SelfAttentiveResidualCriterion",
}
JOINT_LOSSES = {"joint_label_smoothed_cross_entropy", *PUBLISHED}
STOCK_LOSSES = {"cross_entropy", "label_smoothed_cross_entropy"}  # fairseq's own

SHORT = {"-a": "--arch", "-s": "--source-lang", "-t": "--target-lang"}  # fairseq's short forms
# flags and settings of a training whose values are folders of this machine
PLACES = ("user-dir", "save-dir", "mechanism-folders")


def flag_name(setting: str) -> str:
    """Returns the flag of a setting: ``encoder_layers`` → ``--encoder-layers``."""
    return f"--{setting.replace('_', '-')}"


def setting_name(flag: str) -> str:
    """Returns the setting of a flag: ``--encoder-layers`` → ``encoder_layers``."""
    return flag.removeprefix("--").replace("-", "_")


def value_of(settings: Any, name: str) -> Any:
    """Returns a setting of a dictionary, an omegaconf container or a namespace; None without it."""
    return settings.get(name) if isinstance(settings, Mapping) else getattr(settings, name, None)


def as_flags(settings: Mapping[str, Any]) -> list[str]:
    """Returns settings as words of a command line; True is a switch, False its ``--no-NAME``."""
    words = []
    for name, value in settings.items():
        flag = flag_name(name)
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag.removeprefix('--')}")
        else:
            words += [flag, str(value)]
    return words


def flag_values(command: Sequence[str]) -> dict[str, str]:
    """Returns flag → value, with several words joined; the last value of a repeated flag."""
    values: dict[str, str] = {}
    flag = ""
    for word in command:
        if word.startswith("--"):
            flag, _, value = word.partition("=")
            values[flag] = value
        elif flag:
            values[flag] = f"{values[flag]} {word}".strip()
    return values


def flag_value(command: Sequence[str], flag: str) -> str | None:
    """Returns the last value of a flag; None without it."""
    return flag_values(command).get(flag)


def replaced(flags: Sequence[str], name: str, value: str) -> tuple[str, ...]:
    """Returns ``flags`` with another value for the first occurrence of one flag."""
    words = list(flags)
    if name in words:
        words[words.index(name) + 1] = value
    return tuple(words)


def typed_flags(words: Sequence[str]) -> dict[str, bool | int | float | str]:
    """Returns :func:`flag_values` without dashes, with numbers as numbers; a switch is True."""
    return {name.removeprefix("--"): _typed(text) for name, text in flag_values(words).items()}


def recorded_flags(words: Sequence[str]) -> dict[str, bool | int | float | str]:
    """Returns what the record of a training has of its flags: all but folders and no-ops."""
    values = typed_flags(words)
    if values.get("update-freq") == 1:  # as without it; recipes always give it
        del values["update-freq"]
    return {name: value for name, value in values.items() if name not in PLACES}


def _typed(text: str) -> bool | int | float | str:
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) and math.isfinite(float(text)):
        return float(text)
    return text or True


def listed(text: str) -> list[str]:
    """Returns the items of a list with commas, each once."""
    return list(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
