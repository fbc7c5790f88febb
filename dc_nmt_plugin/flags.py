"""Flags of fairseq: a table of what this package knows of them, and words of command lines.

:data:`FLAGS` is for flags what ``modules/mechanisms.py`` is for mechanisms. What a flag changes
between two runs is in ``runs/differences.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# models in fairseq's registry
TRANSFORMER, GRU, LANGUAGE_MODEL = "dc_nmt_transformer", "dc_nmt_gru", "dc_nmt_lstm_lm"
USER_DIR_VARIABLE = "DC_NMT_USER_DIR"  # folders with mechanisms of the user's own
COMMAND_VARIABLE = "DC_NMT_COMMAND"  # dc-nmt's command line, for the programs that it starts
START = "finetune-from-model"  # flag: checkpoint whose parameters a training begins with
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

# kinds of flags, of fairseq-train
PRECISION = "precision in which a model is trained"
STOPPING = "ends a training where it learns no more"
LENGTH = "changes how much is done, not how fast, or is known with the prepared text alone"
PLACE = "names a folder of this machine"
# of fairseq-generate
SEARCH = "decides which translation is found"
INPUT = "says what is translated, not how"
WITHOUT_EFFECT = "has no effect, or a wrong one, where a loaded model translates"
# of both: set by a command, so that a user's value would be lost
SET_BY_RECIPES = "set by train, evaluate and run"
SET_BY_RUNS = "set by translate"
SET_BY_ANALYSES = "set by analyze and probe"


@dataclass(frozen=True)
class Flag:
    """What this package knows of a flag.

    Attributes:
        kinds: some of those above
        elsewhere: key of a recipe, or option of a command, that sets it in a recipe's place
        free: value with which fairseq-generate is free to choose the best translation
    """

    kinds: tuple[str, ...] = ()
    elsewhere: str = ""
    free: str | None = None


_BY_EVALUATE = "dc-nmt evaluate"
FLAGS = {
    "amp": Flag((PRECISION,)),
    "arch": Flag((SET_BY_RECIPES,), "archs"),
    "bf16": Flag((PRECISION, SEARCH)),
    "fp16": Flag((PRECISION,)),
    "distributed-world-size": Flag((), "--gpus of dc-nmt run"),
    "keep-interval-updates": Flag((LENGTH,), "average"),
    "log-interval": Flag((LENGTH,)),
    "max-epoch": Flag((STOPPING,)),
    "max-tokens-valid": Flag((LENGTH,)),
    "max-update": Flag((LENGTH,), "updates"),
    "mechanism-folders": Flag((PLACE,)),
    "memory-efficient-bf16": Flag((PRECISION,)),
    "memory-efficient-fp16": Flag((PRECISION,)),
    "patience": Flag((STOPPING,)),
    "save-dir": Flag((PLACE, SET_BY_RECIPES), "--out and --name of dc-nmt run"),
    "save-interval-updates": Flag((LENGTH,), "save_every"),
    "seed": Flag((), "--seed of dc-nmt run"),
    "source-lang": Flag((INPUT, SET_BY_RUNS), "pair"),
    "stop-min-lr": Flag((STOPPING,)),
    "stop-time-hours": Flag((STOPPING,)),
    "target-lang": Flag((INPUT, SET_BY_RUNS), "pair"),
    "task": Flag((INPUT, SET_BY_RUNS, SET_BY_ANALYSES)),
    "total-num-update": Flag((LENGTH,)),
    "update-freq": Flag((), "tokens and max_tokens"),
    "user-dir": Flag((PLACE, INPUT, SET_BY_RUNS, SET_BY_ANALYSES), "dc-nmt run"),
    "warmup-updates": Flag((LENGTH,)),
    # of fairseq-generate alone
    "beam": Flag((SEARCH,)),
    "bpe": Flag((WITHOUT_EFFECT,)),
    "constraints": Flag((WITHOUT_EFFECT,), free="None"),
    "decode-with": Flag((SEARCH, SET_BY_ANALYSES)),
    # of several sentences, fairseq takes the penalty of another one
    "diverse-beam-groups": Flag((WITHOUT_EFFECT,), free="-1"),
    "diversity-rate": Flag((), free="-1.0"),
    "gen-subset": Flag(
        (INPUT, SET_BY_RECIPES, SET_BY_RUNS, SET_BY_ANALYSES), f"--subset of {_BY_EVALUATE}"
    ),
    "input": Flag((SET_BY_RUNS,)),
    "length-penalty": Flag((SEARCH,)),
    "lenpen": Flag((SEARCH,)),
    "lm-path": Flag((WITHOUT_EFFECT,)),
    "mask-source-layers": Flag((SEARCH,)),
    "match-source-len": Flag((), free="False"),
    "max-len-a": Flag((SEARCH,)),
    "max-len-b": Flag((SEARCH,)),
    "min-len": Flag((SEARCH,)),
    "nbest": Flag((WITHOUT_EFFECT,)),
    "no-repeat-ngram-size": Flag((SEARCH,)),
    "no-aux-fusion": Flag((SEARCH, SET_BY_ANALYSES)),
    "path": Flag((INPUT, SET_BY_RECIPES, SET_BY_RUNS, SET_BY_ANALYSES), _BY_EVALUATE),
    "prefix-size": Flag((WITHOUT_EFFECT,), free="0"),
    "print-alignment": Flag((WITHOUT_EFFECT,)),
    "replace-unk": Flag((WITHOUT_EFFECT,)),
    "results-path": Flag((INPUT, SET_BY_RECIPES, WITHOUT_EFFECT), _BY_EVALUATE),
    "sacrebleu": Flag((WITHOUT_EFFECT,)),
    "sampling": Flag((), free="False"),
    "score-reference": Flag((WITHOUT_EFFECT,), free="False"),
    "scoring": Flag((WITHOUT_EFFECT,)),
    "skip-invalid-size-inputs-valid-test": Flag((SET_BY_RUNS,)),
    "tokenizer": Flag((SET_BY_RUNS,)),
}


def flags_of(kind: str) -> tuple[str, ...]:
    """Returns the names, without dashes, of the flags of a kind."""
    return tuple(name for name, flag in FLAGS.items() if kind in flag.kinds)


PLACES = flags_of(PLACE)


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
    if START in values:
        values[START] = named_start(values[START])
    return {name: value for name, value in values.items() if name not in PLACES}


def named_start(checkpoint: object) -> str:
    """Returns the end of a checkpoint's path, which names its run and no place of a machine.

    >>> named_start("/home/me/captions/transformer_dc-s1/average/checkpoint.pt")
    'captions/transformer_dc-s1/average/checkpoint.pt'
    """
    return "/".join(str(checkpoint).split("/")[-4:])


def _typed(text: str) -> bool | int | float | str:
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) and math.isfinite(float(text)):
        return float(text)
    return text or True


def listed(text: str) -> list[str]:
    """Returns the items of a list with commas, each once."""
    return list(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
