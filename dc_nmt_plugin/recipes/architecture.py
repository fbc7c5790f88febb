"""Description of an architecture: all its flags, and a command that trains it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

from ..errors import check_architectures
from ..flags import flag_name, flag_value
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
COMMAND_WIDTH = 96


@dataclass(frozen=True)
class Flag:
    """One flag of an architecture; values as text, "" for none."""

    name: str  # with its dashes
    here: str  # value that the architecture sets
    default: str  # of the model, which all its architectures share
    paper: str  # published value of the same variant, if it differs from `here`
    choices: str  # valid values
    about: str  # its effect


@dataclass(frozen=True)
class Description:
    """Describes an architecture."""

    name: str  # as fairseq has them
    task: str
    criterion: str
    about: str  # one line
    cites: str  # where it is published
    source: str  # of the paper's values
    flags: list[Flag]
    command: str  # complete, except for the folder of the data


def describe(name: str, user_dir: str) -> Description:
    """
    Args:
        name: value of ``--arch``
        user_dir: for the command

    Raises:
        UserError: no such architecture
    """
    known = architectures()
    check_architectures([name], known)
    architecture = known[name]
    family = architecture.family
    published = _published(architecture)
    paper = _values(known[published.arch if published else _without_size(architecture)])
    if published:
        for field in paper:
            paper[field] = flag_value(published.flags, flag_name(field)) or paper[field]
    here = _values(architecture)
    flags = [
        Flag(
            name=flag_name(field.name),
            here=_text(here[field.name]),
            default=_text(field.default),
            paper="" if _same(paper[field.name], here[field.name]) else _text(paper[field.name]),
            choices=_choices(field),
            about=str(field.metadata["help"]).split("; one of ")[0],
        )
        for field in fields(architecture.config)
    ]
    return Description(
        name=name,
        task=family.task,
        criterion=family.criterion,
        about=family.about,
        cites=family.cites,
        source=published.source if published else family.cites,
        flags=flags,
        command=_command(architecture, published, user_dir),
    )


def _published(architecture: Architecture) -> RunSettings | None:
    """Returns the paper's settings of the variant; None for a language model (no recipe)."""
    family = architecture.family
    if family.task == "language_modeling":
        return None
    return settings_of(load(TASK_OF.get(family.name, TASK)), _without_size(architecture))


def _without_size(architecture: Architecture) -> str:
    family = architecture.family
    endings = ["", *(f"_{size}" for size in family.sizes if size)]
    names = (n for n in variants_of(family) if architecture.name in {f"{n}{e}" for e in endings})
    return max(names, key=len)


def _values(architecture: Architecture) -> dict[str, Any]:
    values = {field.name: field.default for field in fields(architecture.config)}
    return {**values, **architecture.settings}


def _same(published: Any, here: Any) -> bool:
    if isinstance(here, float) and published is not None:
        return float(published) == here
    return str(published) == str(here)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return {True: "yes", False: "no"}.get(value, "") if isinstance(value, bool) else str(value)


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
    family, name = architecture.family, architecture.name
    head = f"fairseq-train DATA --user-dir {shlex.quote(user_dir)}"
    names = f"--arch {name} --task {family.task} --criterion {family.criterion}"
    save = f"--save-dir checkpoints/{name}"
    if published is None:
        return " \\\n  ".join([head, names, LANGUAGE_MODEL, save])
    batch = (
        f"--max-tokens {published.max_tokens} "
        f"--update-freq {max(1, round(published.tokens / published.max_tokens))} "
        f"--max-update {published.updates}"
    )
    # the architecture's name already has the flags of the size
    return " \\\n  ".join([head, names, *_wrapped(published.flags), batch, save])


def _wrapped(flags: Sequence[str]) -> list[str]:
    """Returns lines of a command; no line ends between a flag and its values."""
    lines = [""]
    for flag in " ".join(map(shlex.quote, flags)).replace(" --", "\n--").splitlines():
        if lines[-1] and len(lines[-1]) + len(flag) > COMMAND_WIDTH:
            lines.append("")
        lines[-1] += f" {flag}" if lines[-1] else flag
    return lines
