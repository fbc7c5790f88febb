"""Prints commands as a shell script: a list of command lines to read, change and run."""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from ...flags import USER_DIR_VARIABLE
from ..steps import EACH, Command, Line, Stage, Step
from .planned import PLUGIN

WIDTH = 96
HEAD = """\
#!/usr/bin/env bash
# Made by: {printed_by}
# Run it with the environment's programs on PATH: bash FILE
set -euo pipefail"""
# -P: no module of the working folder
USER_DIR = '$(python -P -c "import dc_nmt_plugin; print(dc_nmt_plugin.__path__[0])")'


def script(commands: Sequence[Command], printed_by: Sequence[str]) -> str:
    """Returns commands as a shell script.

    Args:
        commands: of dc-nmt; each with a stage is printed as the lines of its steps
        printed_by: the command line that prints them
    """
    lines = [HEAD.format(printed_by=" ".join(map(quoted, printed_by)))]
    if os.environ.get(USER_DIR_VARIABLE):  # set by --user-dir
        lines.append(f"export {USER_DIR_VARIABLE}={quoted(os.environ[USER_DIR_VARIABLE])}")
    stages = [command.stage for command in commands if command.stage]
    if any(stage.hides_gpus for stage in stages):
        lines.append("export CUDA_VISIBLE_DEVICES= # the CPU")
    names = {"USER_DIR": PLUGIN} if stages else {}
    lines += [f"USER_DIR={USER_DIR}"] * bool(stages)
    for command in commands:
        if command.stage is None:
            lines += ["", _line(command.line, names)]
        else:
            lines += _stage(command.stage, names)
    return "\n".join(lines)


def _stage(stage: Stage, names: dict[str, str]) -> Iterator[str]:
    """Yields the lines of a stage; enters its names of folders into `names`."""
    new = {name: str(path) for name, path in stage.names.items() if names.get(name) != str(path)}
    if new:
        yield ""
    for name, path in new.items():
        yield f"{name}={quoted(path)}"
    names |= new
    if any(step.stamp for step in stage.steps):
        yield f"mkdir -p {_word(str(stage.folder), names)}"
    yield from map(comment, stage.notes)
    for step in stage.steps:
        yield from _step(step, names)


def _step(step: Step, names: Mapping[str, str]) -> Iterator[str]:
    yield f"\n{comment(step.name)}"
    lines = step.lines(step.folder)
    if step.log is None and not lines[0].words[0].startswith("fairseq-"):  # these make it
        # an existing text belongs to trained models: the list stops there
        command = "mkdir" if step.stamp else "mkdir -p"
        yield f"{command} {_word(str(step.folder), names)}"
    for line in lines:
        if line.is_check:
            continue
        text = _line(line, names)
        if step.keeps_log:
            text += f" 2>&1 |\n  tee {_word(f'{step.folder}.log', names)}"
        yield text


def _line(line: Line, names: Mapping[str, str]) -> str:
    """Returns a command in lines; none ends between a flag and its value."""
    units: list[str] = []
    for text in line.words:
        word = _word(text, names)
        after_flag = units and units[-1].startswith("-") and " " not in units[-1]
        if after_flag and not word.startswith("--"):
            units[-1] += f" {word}"
        else:
            units.append(word)
    lines = [units[0]]
    for unit in units[1:]:
        if len(lines[-1]) + len(unit) > WIDTH:
            lines.append(" ")
        lines[-1] += f" {unit}"
    text = " \\\n".join(lines)
    if line.output:
        text += f" > {_word(line.output, names)}"
    if line.files:
        files = " ".join(map(quoted, line.files))
        text = f"for file in {files}; do\n{textwrap.indent(text, '  ')}\ndone"
    return text


def _word(word: str, names: Mapping[str, str]) -> str:
    """Returns a word as one word of a script, with the names of folders in the place of paths."""
    if "," in word:  # several paths
        parts = [_word(part, names) for part in word.split(",")]
        if all(part.startswith('"$') for part in parts):
            return '"' + ",".join(part[1:-1] for part in parts) + '"'
    for name, path in sorted(names.items(), key=lambda item: len(item[1]), reverse=True):
        if word == path or word.startswith(f"{path}/"):
            return f'"${name}{_in_double_quotes(word[len(path) :])}"'
    if EACH in word:
        return f'"{_in_double_quotes(word)}"'
    return quoted(word)


def _in_double_quotes(text: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", text).replace(EACH, "$file")


def quoted(text: str) -> str:
    """Returns text as one word in one line of a script."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_ansi, text)) + "'"


def _ansi(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def comment(text: str) -> str:
    """Returns text as comments; nothing of it is a line of its own."""
    lines = []
    for line in text.splitlines() or [""]:
        plain = "".join(each if each.isprintable() else _ansi(each) for each in line)
        lines += textwrap.wrap(plain, WIDTH, initial_indent="# ", subsequent_indent="# ")
    return "\n".join(lines)
