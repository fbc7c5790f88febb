"""``dc-nmt completion``: lines for the shell, so that Tab completes commands, flags and choices.

In ~/.bashrc: eval "$(dc-nmt completion bash)"; in ~/.zshrc, after compinit, the same with zsh.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from .parser import Parser, RawWithDefaults

SHELLS = ("bash", "zsh")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the lines."""
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


def complete(commands: Iterable[str], run: Callable[[str], object]) -> None:
    """Answer a shell that asks what can stand at the cursor; the process ends here.

    Args:
        commands: of ``dc-nmt``
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
    parser.add_argument("command", choices=list(commands))
    parser.parse_args([])
