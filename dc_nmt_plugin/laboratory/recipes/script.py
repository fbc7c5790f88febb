"""Prints a plan as a shell script that a person can read, change and run."""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from ...flags import USER_DIR_VARIABLE
from ...steps import VARIABLE, Line, Plan, Stage, Step, Variable

WIDTH = 96
HEAD = """\
#!/usr/bin/env bash
# Made by: {printed_by}
# Run it with the environment's programs on PATH, such as: {example}bash FILE
# shellcheck disable=SC2046,SC2086
set -euo pipefail"""
# a system without flock, such as macOS, does not wait
FUNCTIONS = """\
# lock FOLDER: waits for another job in it
lock() { mkdir -p "$1"; exec 9> "$1/.lock"; ! command -v flock > /dev/null || flock 9; }
# made FOLDER STAMP: is the folder whole, and of the same settings? Ends if it is somebody's
made() {
  [ -e "$1/.stamp" ] || [ -z "$(ls -A "$1" 2> /dev/null)" ] ||
    { echo "$1: is somebody's, and would be replaced; move it, or change OUT" >&2; exit 1; }
  [ "$(cat "$1/.stamp" 2> /dev/null)" = "$2" ]
}
# begin FOLDER, finish FOLDER [STAMP]: the folder gets its name when it is whole
begin() { TO=$1.part; rm -rf "$TO"; mkdir -p "$TO"; }
finish() {
  [ -z "${2:-}" ] || echo "$2" > "$TO/.stamp"
  rm -rf "$1"
  mv "$TO.log" "$1.log"
  mv "$TO" "$1"
}"""
ARRAY = """\
# In an array of Slurm, each job has one of the runs: sbatch --array=0-{last} FILE"""
LAST_JOB = """\
# After them, one more prints the table: sbatch --dependency=afterany:JOB --array={number} FILE"""
OF_RUNS = """\
# wanted NUMBER: tells whether this is the job of a run; without an array, all are
wanted() { [ "${SLURM_ARRAY_TASK_ID:-$1}" = "$1" ]; }
FAILED=
# ended STATUS NAME: a run that failed does not stop the others
ended() { [ "$1" = 0 ] || FAILED+=" $2"; set -e; }"""
AT_THE_END = """
[ -z "$FAILED" ] || { echo "failed:$FAILED" >&2; exit 1; }"""
NO_GPU = '[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES='


def script(plan: Plan, printed_by: Sequence[str]) -> str:
    """Returns a plan as a shell script.

    Args:
        plan: of a command
        printed_by: the command
    """
    lines = _head(plan.variables, printed_by)
    stages = list(plan.stages)
    if any(stage.folder for stage in stages):
        lines.append(FUNCTIONS)
    if plan.runs:
        lines.append(ARRAY.format(last=plan.runs - 1))
        if any(stage.run == plan.runs for stage in stages):
            lines.append(LAST_JOB.format(number=plan.runs))
        lines.append(OF_RUNS)
    for (run, name), group in groupby(stages, lambda stage: (stage.run, stage.name)):
        text = _stages(list(group))
        lines += text if run is None else _alone(run, name, text)
    return "\n".join(lines + [AT_THE_END] * bool(plan.runs))


def _head(variables: Sequence[Variable], printed_by: Sequence[str]) -> list[str]:
    names = [variable.name for variable in variables]
    example = "SEED=2 " if "SEED" in names else ""
    lines = [HEAD.format(printed_by=" ".join(map(quoted, printed_by)), example=example)]
    if os.environ.get(USER_DIR_VARIABLE):  # set by --user-dir
        lines.append(f"export {USER_DIR_VARIABLE}={quoted(os.environ[USER_DIR_VARIABLE])}")
    lines += map(_assignment, variables)
    return lines + [NO_GPU] * ("GPUS" in names)


def _alone(run: int, name: str, lines: Sequence[str]) -> list[str]:
    """Returns the lines of a run. A subshell that is part of a condition would ignore set -e."""
    begin = [f"\nif wanted {run}; then", "set +e", "(", "set -e"]
    return [*begin, *lines, ")", f"ended $? {shell_word(name)}", "fi"]


def _stages(stages: Sequence[Stage]) -> list[str]:
    lines: list[str] = []
    assigned: dict[str, str] = {}  # by the stages before
    locked = ""
    for stage in stages:
        new = [each for each in stage.variables if assigned.get(each.name) != each.shell]
        assigned |= {each.name: each.shell for each in new}
        lines += ["", *map(_assignment, new)] if new else []
        lines += [comment(note) for note in stage.notes]
        if not stage.folder:
            lines += _folders_of_output(stage)
        if stage.folder and (new or stage.folder != locked):
            lines += [f"lock {shell_word(stage.folder)}"]
            locked = stage.folder
        for step in stage.steps:
            lines += _step(step)
    return lines


def _folders_of_output(stage: Stage) -> list[str]:
    outputs = [line.output for step in stage.steps for line in step.lines if line.output]
    folders = dict.fromkeys(map(os.path.dirname, outputs))
    return [f"mkdir -p {shell_word(folder)}" for folder in folders]


def _assignment(variable: Variable) -> str:
    about = f" {comment(variable.about)}" if variable.about else ""
    return f"{variable.name}={variable.shell}{about}"


def _step(step: Step) -> Iterator[str]:
    if not step.log:  # commands that log by themselves
        yield from map(_line, step.lines)
        return
    folder = shell_word(step.folder)
    yield f"\n{comment(step.name)}"
    if step.stamp:
        yield f"if ! made {folder} {step.stamp}; then"
    if not step.in_place:
        yield f"begin {folder}"
    lines = [_line(line) for line in step.lines]
    if len(lines) > 1:
        lines = ["{", *lines, "}"]
    # a training that goes on keeps the log of its beginning
    lines[-1] += f" 2>&1 |\n  tee {'-a ' if step.updates else ''}{shell_word(step.log)}"
    yield from lines
    if not step.in_place:
        yield f"finish {folder} {step.stamp}".rstrip()
    if step.stamp:
        yield "fi"


def _line(line: Line) -> str:
    """Returns a command in lines; none ends between a flag and its value."""
    units: list[str] = []
    for word in map(shell_word, line.words):
        after_flag = units and units[-1].startswith("-") and " " not in units[-1]
        if after_flag and not word.startswith(("--", "$CPU")):
            units[-1] += f" {word}"
        else:
            units.append(word)
    lines = [units[0]]
    for unit in units[1:]:
        if len(lines[-1]) + len(unit) > WIDTH:
            lines.append(" ")
        lines[-1] += f" {unit}"
    text = " \\\n".join(lines)
    return f"{text} > {shell_word(line.output)}" if line.output else text


# -- words that stay words, whatever is in them ------------------------------------------------


def shell_word(word: str) -> str:
    """Returns a word of a plan, which may hold variables, as a word of a script."""
    if word == "$CPU":  # several words, or none
        return word
    text, end, has_variable = "", 0, False
    for match in VARIABLE.finditer(word):
        text += _in_double_quotes(word[end : match.start()])
        end = match.end()
        if match[1] == "$":
            text += r"\$"
            continue
        has_variable = True
        joined = re.match(r"\w", word[end:])
        text += f"${{{match[1]}}}" if joined else f"${match[1]}"
    if not has_variable:
        return quoted(word.replace("$$", "$"))
    return f'"{text}{_in_double_quotes(word[end:])}"'


def _in_double_quotes(text: str) -> str:
    return re.sub(r'([\\"$`])', r"\\\1", text)


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
