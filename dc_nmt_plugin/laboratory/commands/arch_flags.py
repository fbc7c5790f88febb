"""``dc-nmt arch-flags``: lists architectures, or the training command and flags of one."""

from __future__ import annotations

import math
import os
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import check_choices
from ...flags import USER_DIR_VARIABLE, as_flags, flag_name
from .parser import Parser, add_user_dir

if TYPE_CHECKING:
    from ...models.options import ModelSetting
    from ...models.presets import Architecture, Family

WIDTH = 100
# the task whose settings are shown as each family's published settings
TASK = "wmt14_en_de"
TASK_OF = {"gru_selfattn_residual": "wmt13_es_en"}
LANGUAGE_MODEL = (
    "--sample-break-mode eos --optimizer adam --lr 1e-3 --weight-init xavier "
    "--output-bias-init unigram --max-tokens 4096 --max-epoch 20"
)
FOOT = """\
A size is appended to a name; a name without one has the published size. A variant with auxiliary
decoders has only the sizes with enough encoder layers. dc-nmt arch-flags ARCH prints a training
command and the flags of one name."""


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="dc-nmt arch-flags", description=__doc__)
    parser.add_argument("arch", nargs="?", help="architecture; without it, all are listed")
    parser.add_argument("--all", action="store_true", help="also the flags of every architecture")
    add_user_dir(parser)
    args = parser.parse_args(argv)

    from ...models.presets import FAMILIES, architectures

    if args.arch is None:
        print("\n\n".join([*map(_family, FAMILIES), FOOT]))
        return 0
    check_choices("architecture", [args.arch], architectures(), "dc-nmt arch-flags")
    architecture = architectures()[args.arch]
    family = architecture.family
    print(textwrap.fill(f"{args.arch}: {family.about}", WIDTH))
    if family.cites:
        print(f"Published: {family.cites}")
    command, source = training_command(architecture, str(Path(__file__).resolve().parents[2]))
    print(f"\n{command}\n")
    print(textwrap.fill(f"Settings of this command: {source}", WIDTH))
    of_mechanism = _settings_of_mechanism(family)
    settings = architecture.config.settings()
    if of_mechanism:
        print("\nFlags of the mechanism, with the values of this name:")
        print(_flags(architecture, [settings[name] for name in settings if name in of_mechanism]))
    print("\nAll other flags:" + ("" if args.all else f" dc-nmt arch-flags {args.arch} --all"))
    if args.all:
        print(
            _flags(architecture, [settings[name] for name in settings if name not in of_mechanism])
        )
    return 0


def _family(family: Family) -> str:
    """Returns a family's sizes, and a table of its variants and what they set."""
    sizes = ", ".join(f"_{size}" for size in family.sizes if size)
    about = textwrap.fill(f"{family.name}: {family.about} ({family.cites})", WIDTH)
    lines = [about, f"sizes: {sizes or 'the published one'}"]
    names = [f"{family.name}_{variant}".rstrip("_") for variant in family.variants]
    column = max(map(len, names)) + 4
    for name, settings in zip(names, family.variants.values(), strict=True):
        # a flag and its value stay on one line
        flags = ["\xa0".join(as_flags({key: value})) for key, value in settings.items()]
        words = " ".join([f"  {name}".ljust(column - 1, "\xa0"), *flags])
        indent = " " * column
        text = textwrap.fill(words, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
        lines.append(text.replace("\xa0", " ").rstrip())
    return "\n".join(lines)


def _settings_of_mechanism(family: Family) -> set[str]:
    """Returns the settings of a family's variants, and the options of their mechanisms."""
    from ...modules.mechanisms import mechanisms

    named: set[str] = set()
    values: set[Any] = set()
    for settings in family.variants.values():
        named.update(settings)
        values.update(settings.values())
    for mechanism in mechanisms():
        if mechanism.name in values:
            named.update(map(mechanism.setting, mechanism.options))
    return named


def _flags(architecture: Architecture, settings: Sequence[ModelSetting]) -> str:
    """Returns flags with their values in an architecture, one a paragraph."""
    paragraphs = []
    for setting in settings:
        value = value_text(architecture.settings.get(setting.name, setting.default)) or "(none)"
        text = f"  {flag_name(setting.name)} {value}: {setting.help}. {valid_values(setting)}"
        paragraphs.append(
            textwrap.fill(text, WIDTH, subsequent_indent=" " * 6, break_on_hyphens=False)
        )
    return "\n".join(paragraphs)


def value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def valid_values(setting: ModelSetting) -> str:
    if setting.choices:
        return f"One of {', '.join(setting.choices)}"
    if setting.below is not None and setting.below != math.inf:
        return f"From {setting.at_least} to below {setting.below}"
    if setting.at_least is not None:
        return f"{setting.at_least} or more"
    return {bool: "Switch", int: "Whole number", float: "Number"}.get(setting.kind, "Text")


def training_command(architecture: Architecture, user_dir: str) -> tuple[str, str]:
    """Returns a command that trains on a folder DATA, and where its settings are published."""
    from ..recipes.recipe import load
    from ..recipes.settings import settings_of

    family, name = architecture.family, architecture.name
    # the architecture's name already has the flags of the size
    flags = [f"--arch {name} --task {family.task} --criterion {family.criterion}"]
    source = family.cites
    if family.task == "language_modeling":  # which has no recipe
        flags.append(LANGUAGE_MODEL)
    else:
        recipe = load(TASK_OF.get(family.name, TASK))
        published = settings_of(recipe, name)
        frequency = max(1, round(published.tokens / published.max_tokens))
        flags.append(shlex.join(published.flags))
        flags.append(f"--max-tokens {published.max_tokens} --update-freq {frequency}")
        flags.append(f"--max-update {published.updates}")
        source = f"{recipe.name}'s recipe, on one GPU. {published.source}"
    flags.append(f"--save-dir checkpoints/{name}")
    variable = ""
    if os.environ.get(USER_DIR_VARIABLE):  # its folders, beside this package
        variable = f"{USER_DIR_VARIABLE}={shlex.quote(os.environ[USER_DIR_VARIABLE])} "
    command = " ".join([f"{variable}fairseq-train DATA --user-dir {shlex.quote(user_dir)}", *flags])
    # a line ends only before a flag
    words = command.replace(" ", "\xa0").replace("\xa0--", " --")
    lines = textwrap.wrap(
        words, 76, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )
    return " \\\n".join(lines).replace("\xa0", " "), source
