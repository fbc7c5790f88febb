"""Carries a plan out on this machine: the steps that are not done, one after the other."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import IO

from ...errors import UserError, notify
from ...files import check_space, locked, writing
from ...steps import (
    PART,
    Line,
    Plan,
    Stage,
    Step,
    Variable,
    check_replaceable,
    command_text,
    filled,
    filled_words,
    is_made,
    making_once,
    running,
)
from ..dispatch import run_command

LAST_LINES = 15  # of a log, shown after a failure


class Progress:
    """Prints lines with the seconds since its start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        notify(f"[{int(time.monotonic() - self._began):4d}s] {text}", out=True)


def execute(plan: Plan, progress: Progress) -> None:
    """Runs the steps that are not done.

    Raises:
        UserError: a step failed
    """
    variables = {variable.name: variable for variable in plan.variables}
    without_gpu = "GPUS" in variables and variables["GPUS"].value == "0"
    with hiding_gpus() if without_gpu else nullcontext():
        _run_stages(plan, variables, progress)


@contextmanager
def hiding_gpus() -> Iterator[None]:
    """Hides the GPUs from all programs of a plan, as its script does."""
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        yield
    finally:
        del os.environ["CUDA_VISIBLE_DEVICES"]
        if before is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def _run_stages(plan: Plan, variables: dict[str, Variable], progress: Progress) -> None:
    for stage in plan.stages:
        variables |= {variable.name: variable for variable in stage.variables}
        for note in stage.notes:
            notify(*note.split("\n"), out=True)
        for note in stage.notes_here:
            progress.say(note)
        _run_stage(stage, variables, progress)
        if stage.end_note:
            progress.say(stage.end_note)
        if stage.prints:
            print(Path(filled(stage.prints, variables)).read_text("utf-8"), end="")


def _run_stage(stage: Stage, variables: Mapping[str, Variable], progress: Progress) -> None:
    if not stage.folder:
        run_commands([line for step in stage.steps for line in step.lines], variables, progress)
        return
    folder = Path(filled(stage.folder, variables))
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", lambda: progress.say(f"waiting for another recipe in {folder}")):
        for step in stage.steps:  # before hours of work
            if step.stamp:
                check_replaceable(Path(filled(step.folder, variables)))
        for step in stage.steps:
            if _is_done(step, variables):
                progress.say(f"{step.name}: done before")
            else:
                progress.say(step.name)
                run_step(step, variables)


def run_commands(
    lines: Sequence[Line], variables: Mapping[str, Variable], progress: Progress
) -> None:
    """Runs commands that lock and log by themselves.

    Raises:
        UserError: one failed
    """
    for line in lines:
        words, output = filled_words(line.words, variables), filled(line.output, variables)
        progress.say(command_text(words, output))
        with ExitStack() as stack:
            if output:
                Path(output).parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(redirect_stdout(stack.enter_context(writing(Path(output)))))
            code = run_command(words[1:])
        if code:
            raise UserError(f"failed: {command_text(words, output)}")


def _is_done(step: Step, variables: Mapping[str, Variable]) -> bool:
    folder = Path(filled(step.folder, variables))
    if step.stamp:
        return is_made(folder, step.stamp)
    # somebody ended the step between its last line and the new name of the folder
    interrupted = folder.with_name(f"{folder.name}{PART}").exists()
    return step.is_done() and not interrupted


def run_step(step: Step, variables: Mapping[str, Variable]) -> None:
    """Runs the lines of a step.

    Raises:
        UserError: a line failed
    """
    folder = Path(filled(step.folder, variables))
    with ExitStack() as stack:
        if step.in_place:
            folder.mkdir(parents=True, exist_ok=True)
            to = folder
        else:
            to = stack.enter_context(making_once(folder, step.stamp))
        within = {**variables, "TO": Variable("TO", str(to), "")}
        log = Path(filled(step.log, within))
        if not step.updates:
            log.write_text("")
        for line in step.lines:
            if step.updates:
                _train(step, filled_words(line.words, within), log)
            else:
                _run_line(line, within, log)


def _run_line(line: Line, variables: Mapping[str, Variable], log: Path) -> None:
    words = filled_words(line.words, variables)
    output = filled(line.output, variables)
    with open(log, "a", encoding="utf-8", errors="backslashreplace") as out:
        out.write(f"$ {command_text(words, output)}\n")
        out.flush()
        # our own commands need no second start of Python, and fail with their own sentence
        code = _own_command(line, words, out) if words[0] == "dc-nmt" else _run(words, output, out)
    if code:
        text = log.read_text("utf-8", errors="replace")
        check_space(log.parent, text)
        notify(*text.splitlines()[-LAST_LINES:])
        raise UserError(f"{words[0]!r} failed; the whole log is {log}")


def _own_command(line: Line, words: Sequence[str], log: IO[str]) -> int:
    with ExitStack() as stack:
        if line.shown:
            stack.enter_context(redirect_stdout(_Both(sys.stdout, log)))
        else:
            stack.enter_context(redirect_stdout(log))
            stack.enter_context(redirect_stderr(log))
        return run_command(words[1:])


class _Both(StringIO):
    """Writes to two streams."""

    def __init__(self, *streams: IO[str]) -> None:
        super().__init__()
        self._streams = streams

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()


def _run(words: Sequence[str], output: str, log: IO[str]) -> int:
    with ExitStack() as stack:
        out = stack.enter_context(open(output, "w")) if output else log
        process = stack.enter_context(running(words, stdout=out, stderr=log))
        return process.wait()


def _train(step: Step, words: Sequence[str], log: Path) -> None:
    """Runs fairseq-train, and shows its progress in one line."""
    from ..evaluation.logs import follow_training

    with open(log, "ab") as out, running(words, stdout=PIPE, stderr=STDOUT) as process:
        assert process.stdout is not None
        name = step.name.partition(":")[0]
        tail = follow_training(process.stdout, out, name, step.updates)
        code = process.wait()
    if code:
        check_space(log.parent, "".join(tail))
        print("\nTraining stopped early. The last lines of its log:", file=sys.stderr)
        sys.stderr.writelines(tail)
        raise UserError(
            f"training of {name} stopped; its log is {log}; the same command continues it"
        )
