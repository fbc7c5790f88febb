"""What pages take from the package itself: published tables, flags, help; as its commands print."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

import claims

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.ground_rules import RULES, statement
from dc_nmt_plugin.laboratory.table import markdown_table
from dc_nmt_plugin.study.analysis import ANALYSES

WIDTH = "100"  # of help, characters


def printed(*arguments: str) -> str:
    """What ``dc-nmt ARGUMENTS`` prints.

    Raises:
        RuntimeError: the command fails
    """
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), patch.dict("os.environ", COLUMNS=WIDTH):
        try:
            code = cli.main(arguments)
        except SystemExit as end:  # argparse's, after --help
            code = int(end.code or 0)
    if code:
        raise RuntimeError(f"dc-nmt {' '.join(arguments)}: {err.getvalue().strip()}")
    return out.getvalue().rstrip()


# -- papers --------------------------------------------------------------------------------------


def published(document: str, part: str = "") -> str:
    """Every table and figure of a document, folded: as published, and what makes it again.

    Args:
        document: of the register
        part: an item's name, or a chapter of the thesis, such as ``3``; default all of the document
    """
    from dc_nmt_plugin.study.papers.reader import read_document

    blocks = []
    for item in read_document(document).items:
        wanted = not part or part == item.name or f" {part}." in f" {item.name}"
        if not wanted or not item.rows:
            continue
        head, *body = printed(
            "paper", "show", f"{document}, {item.name}", "--markdown"
        ).splitlines()
        table = [line for line in body if line.startswith("|")]
        notes = [_bullet(line) for line in body if line and not line.startswith("|")]
        commands = dict.fromkeys(
            f"dc-nmt {each.by}" for each in item.entries if each.reproducible == "yes"
        )
        if commands:
            notes.append(f"- made again by {', '.join(f'`{command}`' for command in commands)}")
        title = head.split(", ", 1)[1]
        blocks.append(folded(title, "\n".join([*table, "", *notes])))
    return "\n\n".join(blocks)


def scores(recipe: str) -> str:
    """The published scores of a recipe by direction, with the models and the printed tables."""
    from dc_nmt_plugin.flags import as_flags
    from dc_nmt_plugin.laboratory.recipes.recipe import tasks
    from dc_nmt_plugin.study.papers.document import SCORES
    from dc_nmt_plugin.study.papers.reader import read_documents

    directions = [task for task, (path, _) in tasks().items() if path.stem == recipe]
    entries = [entry for document in read_documents() for entry in document.entries]
    parts = []
    for task in directions:
        found: dict[tuple[str, str, str], tuple[dict[str, None], dict[str, None]]] = {}
        for entry in entries:
            scored = entry.task == task and entry.measure in SCORES and entry.value is not None
            if not scored or entry.other or entry.of or entry.decoding:
                continue
            model = " ".join([entry.arch, *as_flags(entry.flags)])
            set_of = "" if entry.subset in ("", "test") else entry.subset
            part = "" if entry.part == "main" else entry.part
            measured_on = ", ".join(filter(None, (entry.measure, set_of, part)))
            values, places = found.setdefault((model, entry.training, measured_on), ({}, {}))
            values[str(entry.value)] = None
            places[f"{entry.document}, {entry.item}"] = None
        rows = [
            (f"`{model}`", training, " or ".join(values), f"`{measured_on}`", "; ".join(places))
            for (model, training, measured_on), (values, places) in found.items()
        ]
        heads = ("`--arch` and flags", "settings", "score", "by", "where")
        if rows:
            title = f"`{task}`:\n\n" if len(directions) > 1 else ""
            parts.append(title + markdown_table(heads, rows))
    return "\n\n".join(parts)


def folded(title: str, content: str) -> str:
    """A block that a reader opens, in the form that MkDocs and code hosts know."""
    head = f'<details markdown="1">\n<summary>{html.escape(title, quote=False)}</summary>'
    return f"{head}\n\n{content}\n\n</details>"


def _bullet(note: str) -> str:
    """A line of text, whose first sign is not Markdown's."""
    return "- " + re.sub(r"^([#+*-])", r"\\\1", note)


def claimed(document: str = "") -> str:
    """What the papers, or one document, claim, what they publish, and what Multi30k shows."""
    return claims.table(claims.of_document(document)) if document else claims.page()


def missing(document: str) -> str:
    """What of a document no command can make, and why."""
    from dc_nmt_plugin.study.papers.reader import read_document

    by_reason: dict[str, list[str]] = {}
    for item in read_document(document).items:
        for entry in item.entries:
            if entry.reproducible.startswith("needs"):
                by_reason.setdefault(entry.reproducible, []).append(f"{item.name} ({entry.row})")
    return "\n".join(
        f"- {', '.join(dict.fromkeys(places))}: {reason}" for reason, places in by_reason.items()
    )


# -- architectures -------------------------------------------------------------------------------


def presets(family: str) -> str:
    """The variants of an architecture, and what each sets."""
    from dc_nmt_plugin.flags import as_flags
    from dc_nmt_plugin.models.presets import FAMILIES

    (chosen,) = (each for each in FAMILIES if each.name == family)
    rows = []
    for variant, settings in chosen.variants.items():
        flags = [" ".join(as_flags({setting: value})) for setting, value in settings.items()]
        name = "_".join(part for part in (family, variant) if part)
        rows.append((f"`{name}`", " ".join(f"`{flag}`" for flag in flags)))
    sizes = ", ".join(f"`_{size}`" for size in chosen.sizes if size)
    named = f"Sizes: the published one, {sizes}." if sizes else "Size: the published one alone."
    return f"{markdown_table(('--arch', 'sets'), rows)}\n\n{named}"


def flags(architecture: str, prefix: str = "") -> str:
    """The flags of an architecture, those that begin with a prefix."""
    from dc_nmt_plugin.flags import flag_name
    from dc_nmt_plugin.laboratory.commands.arch_flags import valid_values, value_text
    from dc_nmt_plugin.models.presets import architectures

    described = architectures()[architecture]
    rows = [
        (
            f"`{flag_name(flag.name)}`",
            _code(value_text(described.settings.get(flag.name, flag.default))),
            flag.help,
            valid_values(flag),
        )
        for flag in described.config.settings().values()
        if flag_name(flag.name).startswith(f"--{prefix}")
    ]
    return markdown_table(("flag", "here", "what", "values"), rows)


def training(architecture: str) -> str:
    """A command that trains an architecture as its paper did."""
    from dc_nmt_plugin.laboratory.commands.arch_flags import training_command
    from dc_nmt_plugin.models.presets import architectures

    command, _ = training_command(architectures()[architecture], "dc_nmt_plugin")
    return f"```\n{command}\n```"


def _code(value: str) -> str:
    return f"`{value}`" if value else ""


def architectures() -> str:
    """Every family of architectures with its variants and sizes."""
    from dc_nmt_plugin.models.presets import FAMILIES

    parts = []
    for family in FAMILIES:
        about = f"{family.about[0].upper()}{family.about[1:]}."
        parts.append(f"## {family.name}\n\n{about}\n\n{presets(family.name)}")
    return "\n\n".join(parts)


def kinds() -> str:
    """Every kind of self-attention with its options, as ``--encoder-layers-of`` takes them."""
    from dc_nmt_plugin.flags import flag_name
    from dc_nmt_plugin.modules.mechanisms import SELF_ATTENTIONS

    rows = []
    for kind in SELF_ATTENTIONS.values():
        name, side = f"`{kind.name}`", "encoder" if kind.encoder_only else "both"
        if not kind.options:
            rows.append((name, side, "", "", "", ""))
        for option in kind.options:
            values = ", ".join(f"`{value}`" for value in option.choices)
            if option.at_least is not None:
                values = f"{option.at_least} or more"
            default = str(option.default)
            if isinstance(option.default, bool):
                values, default = "`true`, `false`", default.lower()
            flag = flag_name(kind.setting(option))
            rows.append((name, side, f"`{option.name}`", f"`{default}`", values, f"`{flag}`"))
    heads = ("kind", "side", "option", "default", "values", "flag for all layers")
    return markdown_table(heads, rows)


def bases() -> str:
    """What the values of ``--base`` stand for, by the flag of each part."""
    from dc_nmt_plugin.modules.mechanisms import ACTIVATIONS, BASES, NORMS, POSITIONS

    rows = [
        (flag, *(f"`{part(base)}`" for base in BASES.values()), ", ".join(f"`{v}`" for v in values))
        for flag, part, values in (
            ("`--norm`", lambda base: base.norm, NORMS),
            ("`--encoder-normalize-before`, `--decoder-normalize-before`",
             lambda base: str(base.pre_norm).lower(), ()),
            ("`--activation-fn`", lambda base: base.activation_fn, ACTIVATIONS),
            ("`--positions`", lambda base: base.positions, POSITIONS),
        )
    ]  # fmt: skip
    return markdown_table(("flag", *(f"`--base {name}`" for name in BASES), "values"), rows)


# -- commands ------------------------------------------------------------------------------------


def rules() -> str:
    """The rules of ``dc-nmt check-mechanism``."""
    return "\n".join(f"- **{name}**: {statement(name)}" for name in RULES)


def commands() -> str:
    """``--help`` of every command and of what it is divided into, by group."""
    parts = []
    for title, group in cli.GROUPS.items():
        title, _, example = title.partition(", for example: ")
        parts.append(f"## {title[0].upper()}{title[1:]}\n\n`{example}`")
        for name, about in group.items():
            text = printed(name, "--help")
            about = f"{about[0].upper()}{about[1:]}."
            parts.append(f"### dc-nmt {name}\n\n{about}\n\n```text\n{text}\n```")
            for sub in _divisions(name, text):
                help_text = printed(name, sub, "--help")
                parts.append(folded(f"dc-nmt {name} {sub}", f"```text\n{help_text}\n```"))
    return "\n\n".join(parts)


def _divisions(name: str, text: str) -> Iterator[str]:
    if name == "analyze":
        yield from ANALYSES
    elif "COMMAND ..." in text:
        yield from re.findall(r"^    ([a-z][\w-]*)(?:  | *$)", text, re.M)
