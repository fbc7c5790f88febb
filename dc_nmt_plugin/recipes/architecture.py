"""Description of an architecture: all its flags, and a command that trains it."""

from __future__ import annotations

import shlex
from dataclasses import Field, dataclass, fields
from typing import Any

from ..errors import check_choices
from ..flags import flag_name
from ..models.presets import Architecture, architectures
from .recipe import load
from .settings import RunSettings, settings_of, variants_of

# the task whose settings are shown as each family's published settings
TASK = "wmt14_en_de"
TASK_OF = {"gru_selfattn_residual": "wmt13_es_en"}
LANGUAGE_MODEL = (
    "--sample-break-mode eos --optimizer adam --lr 1e-3 --weight-init xavier "
    "--output-bias-init unigram --max-tokens 4096 --max-epoch 20"
)
COMMAND_WIDTH = 74


@dataclass(frozen=True)
class Flag:
    """One flag of an architecture; values as text, "" for none."""

    name: str  # with its dashes
    here: str  # value that the architecture sets
    default: str  # of the model, which all its architectures share
    choices: str  # valid values
    about: str  # its effect


@dataclass(frozen=True)
class Description:
    """Describes an architecture."""

    name: str
    task: str  # fairseq's, as the criterion
    criterion: str
    about: str  # one line
    cites: str  # where it is published
    source: str  # of the training settings
    flags: list[Flag]
    command: str  # complete, except for the folder of the data


def describe(name: str, user_dir: str) -> Description:
    """Describes the architecture of a name.

    Args:
        name: value of ``--arch``
        user_dir: for the command

    Raises:
        UserError: no such architecture
    """
    check_choices("architecture", [name], architectures(), "dc-nmt arch-flags")
    architecture = architectures()[name]
    family = architecture.family
    published = None
    if family.task != "language_modeling":  # which has no recipe
        recipe = load(TASK_OF.get(family.name, TASK))
        published = settings_of(recipe, _without_size(architecture))
    flags = []
    for field in fields(architecture.config):
        about = str(field.metadata["help"]).split("; one of ")[0]
        value = architecture.settings.get(field.name, field.default)
        flag = Flag(
            flag_name(field.name), _text(value), _text(field.default), _choices(field), about
        )
        flags.append(flag)
    return Description(
        name,
        family.task,
        family.criterion,
        family.about,
        family.cites,
        f"{recipe.name}'s recipe, on one GPU. {published.source}" if published else family.cites,
        flags,
        _command(architecture, published, user_dir),
    )


def _without_size(architecture: Architecture) -> str:
    family = architecture.family
    endings = ["", *(f"_{size}" for size in family.sizes if size)]
    names = (n for n in variants_of(family) if architecture.name in {f"{n}{e}" for e in endings})
    return max(names, key=len)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _choices(field: Field[Any]) -> str:
    valid = field.metadata
    if valid.get("one_of"):
        return f"One of {', '.join(map(str, valid['one_of']))}"
    if valid.get("below") is not None and valid["below"] != float("inf"):
        return f"From {valid['at_least']} to below {valid['below']}"
    if valid.get("at_least") is not None:
        return f"{valid['at_least']} or more"
    kinds = {"bool": "Switch", "int": "Whole number", "float": "Number"}
    return next((shown for kind, shown in kinds.items() if kind in str(field.type)), "Text")


def _command(architecture: Architecture, published: RunSettings | None, user_dir: str) -> str:
    """Returns a command of fairseq-train; no line ends between a flag and its values."""
    family, name = architecture.family, architecture.name
    # the architecture's name already has the flags of the size
    flags = [f"--arch {name} --task {family.task} --criterion {family.criterion}"]
    if published is None:
        flags.append(LANGUAGE_MODEL)
    else:
        frequency = max(1, round(published.tokens / published.max_tokens))
        flags.append(shlex.join(published.flags))
        flags.append(f"--max-tokens {published.max_tokens} --update-freq {frequency}")
        flags.append(f"--max-update {published.updates}")
    flags.append(f"--save-dir checkpoints/{name}")
    lines = [f"fairseq-train DATA --user-dir {shlex.quote(user_dir)}", ""]
    for flag in " ".join(flags).replace(" --", "\n--").splitlines():
        if len(lines[-1]) + len(flag) > COMMAND_WIDTH:
            lines.append("")
        lines[-1] += f" {flag}" if lines[-1] else flag
    return " \\\n  ".join(lines)
