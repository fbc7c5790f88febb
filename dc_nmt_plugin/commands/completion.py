"""``dc-nmt completion``: prints shell lines that complete commands, flags, tasks and names.

Add to ~/.bashrc: eval "$(dc-nmt completion bash)"
Add to ~/.zshrc, after compinit: eval "$(dc-nmt completion zsh)"
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .parser import Parser, RawWithDefaults

SHELLS = ("bash", "zsh")


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the lines."""
    parser = Parser(
        prog="dc-nmt completion",
        description=__doc__,
        formatter_class=RawWithDefaults,
    )
    parser.add_argument("shell", choices=SHELLS)
    args = parser.parse_args(argv)

    import argcomplete

    print(argcomplete.shellcode(["dc-nmt"], shell=args.shell))
    return 0


def completed(action: argparse.Action, values: Callable[..., Iterable[str]]) -> None:
    """Registers one of the functions below for the completion of an argument."""
    setattr(action, "completer", values)  # noqa: B010  argcomplete's name for it


def task_names(prefix: str, **_: Any) -> list[str]:
    """Returns every task, and folders, which may have a user's recipe."""
    from argcomplete.completers import DirectoriesCompleter

    from ..recipes.recipe import tasks

    return [*tasks(), *DirectoriesCompleter()(prefix)]


def architecture_names(**_: Any) -> list[str]:
    """Returns every translation architecture without size."""
    from ..recipes.settings import unsized_architectures

    return unsized_architectures()


def sized_names(**_: Any) -> list[str]:
    """Returns every value of ``--arch``."""
    from ..models.presets import architectures

    return list(architectures())


def complete(first: Sequence[str], commands: Iterable[str], run: Callable[[str], object]) -> None:
    """Answers the shell's request for completion, and ends the process.

    Args:
        first: commands of the first screen; the others are offered where none of these fits
        commands: all of ``dc-nmt``
        run: starts a command, whose own :class:`Parser` then answers
    """
    line, point = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    program, _, words = line[:point].lstrip().partition(" ")
    command, space, _ = words.lstrip().partition(" ")
    if space and command in commands:
        before = words.lstrip()
        os.environ["COMP_LINE"] = before + line[point:]
        os.environ["COMP_POINT"] = str(len(before))
        run(command)
        return
    parser = Parser(prog=program, add_help=False)
    fitting = [name for name in first if name.startswith(command)]
    parser.add_argument("command", choices=fitting or list(commands))
    parser.parse_args([])
