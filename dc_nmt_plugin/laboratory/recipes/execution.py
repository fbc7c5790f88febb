"""Carries commands out on this machine: the steps that are not done, one after the other."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import IO

from ...errors import UserError, notify
from ...files import PART, check_space, locked, writing
from .. import run_command, variable
from ..steps import (
    Command,
    Line,
    Stage,
    Step,
    check_replaceable,
    command_text,
    how_it_ended,
    is_made,
    making_once,
    running,
)

NO_GPU = ("CUDA_VISIBLE_DEVICES", "")
LAST_LINES = 15  # of a log, shown after a failure


class Progress:
    """Prints lines with the seconds since its start."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        notify(f"[{int(time.monotonic() - self._began):4d}s] {text}", out=True)


def duration(seconds: float) -> str:
    """Returns a time as a person says it."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def execute(commands: Iterable[Command], progress: Progress) -> None:
    """Carries commands out, one after the other; those without a stage are called.

    Raises:
        UserError: one failed
    """
    for command in commands:
        if command.stage is None:
            _call(command, progress)
        else:
            with variable(*NO_GPU) if command.stage.hides_gpus else nullcontext():
                _run_stage(command.stage, progress)


def _call(command: Command, progress: Progress) -> None:
    """Calls a command that locks and logs by itself.

    Raises:
        UserError: it failed
    """
    text = command_text(command.line.words, command.output)
    progress.say(text)
    with ExitStack() as stack:
        if command.output:
            Path(command.output).parent.mkdir(parents=True, exist_ok=True)
            output = stack.enter_context(writing(Path(command.output)))
            stack.enter_context(redirect_stdout(output))
        code = run_command(command.words)
    if code:
        raise UserError(f"failed: {text}")


def _run_stage(stage: Stage, progress: Progress) -> None:
    for note in stage.notes:
        notify(*note.split("\n"), out=True)
    folder = stage.folder
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", lambda: progress.say(f"waiting for another recipe in {folder}")):
        for step in stage.steps:  # before hours of work
            if step.stamp:
                check_replaceable(step.folder)
        for step in stage.steps:
            if _is_done(step):
                progress.say(f"{step.name}: done before")
            else:
                progress.say(step.name)
                run_step(step)
    if stage.end_note:
        progress.say(stage.end_note)
    if stage.prints:
        print(stage.prints.read_text("utf-8"), end="")


def _is_done(step: Step) -> bool:
    if step.stamp:
        return is_made(step.folder, step.stamp)
    # somebody ended the step between its last line and the new name of the folder
    interrupted = step.folder.with_name(f"{step.folder.name}{PART}").exists()
    return step.is_done() and not interrupted


def run_step(step: Step) -> None:
    """Runs the lines of a step.

    Raises:
        UserError: a line failed
    """
    with ExitStack() as stack:
        if step.log is not None:
            step.folder.mkdir(parents=True, exist_ok=True)
            to, log = step.folder, step.log
        else:
            to = stack.enter_context(making_once(step.folder, step.stamp))
            log = to.with_name(f"{to.name}.log")
        lines = step.lines(to)
        if step.updates:
            _train(step, lines[0].words, log)
            return
        log.write_text("")
        for line in lines:
            for one in line.each():
                _run_line(one, log)


def _run_line(line: Line, log: Path) -> None:
    with open(log, "a", encoding="utf-8", errors="backslashreplace") as out:
        out.write(f"$ {command_text(line.words, line.output)}\n")
        out.flush()
        # our own commands need no second start of Python, and fail with their own sentence
        is_own = line.words[0] == "dc-nmt"
        code = _own_command(line, out) if is_own else _run(line.words, line.output, out)
    if code:
        text = log.read_text("utf-8", errors="replace")
        check_space(log.parent, text)
        notify(*text.splitlines()[-LAST_LINES:])
        raise UserError(f"{line.words[0]!r} {how_it_ended(code)}; the whole log is {log}")


def _own_command(line: Line, log: IO[str]) -> int:
    with ExitStack() as stack:
        if line.shown:
            stack.enter_context(redirect_stdout(_Both(sys.stdout, log)))
        else:
            stack.enter_context(redirect_stdout(log))
            stack.enter_context(redirect_stderr(log))
        return run_command(line.words[1:])


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
        if code > 0:
            print("\nTraining stopped early. The last lines of its log:", file=sys.stderr)
            sys.stderr.writelines(tail)
        raise UserError(
            f"training of {name} {how_it_ended(code)}; its log is {log}; the same command "
            "continues it"
        )
