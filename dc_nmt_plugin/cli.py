"""``dc-nmt``: what fairseq has no command for."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import platform
import select
import sys
from collections.abc import Sequence
from importlib import metadata

from . import __version__
from .errors import Stopped, choice_problem, debugging, tell
from .gate.explanations import explained

INTERRUPTED = 130  # exit status of shells for Ctrl-C

# command → what it does; each has main(argv) -> int in a file of its name in commands/
COMMANDS = {
    "quickstart": "from nothing to trained, scored and compared models",
    "new": "a recipe of your own corpus, fitted to it and to the machine",
    "prepare": "the text of a task, ready for fairseq",
    "train": "an architecture with its paper's settings",
    "evaluate": "a trained run, translated with and scored as its paper did",
    "run": "these three for a task and architectures, then a table",
    "translate": "lines of your own, with a trained run",
    "sample-recipes": "every recipe small, from files that are made up",
    "doctor": "what is installed here, and how to mend what is not",
    "completion": "lines for bash or zsh, so that Tab completes",
    "user-dir": "the path to give to fairseq's --user-dir",
    "arch-flags": "every architecture; all flags of one, and how to train it",
    "params": "parameters of every architecture, built and published",
    "bench": "training and decoding speed against fairseq's own transformer",
    "time-to-bleu": "updates and computing time until a validation BLEU is reached",
    "corpus": "make the embedded parallel corpus",
    "check-text": "check a pair of parallel text files",
    "split-text": "split text reversibly at punctuation and digits",
    "paper": "tables and figures of the papers by name: list, show, run, table, plot",
    "recipe": "published tasks, and what is published about them",
    "analyze": "look inside trained models: tables and figures of the papers' analyses",
    "probe": "probing tasks: what a frozen encoder knows of a sentence",
    "head-weights": "how peaked cross aggregation's Λ is",
    "mask-layers": "BLEU without each of the encoder layers it reads",
    "average": "average checkpoints",
    "export": "a checkpoint without auxiliary decoders, or as fairseq's transformer",
    "progress": "one readable line from the log of a running fairseq-train",
    "score": "every score that papers print, of a translation",
    "report": "finished runs side by side, with examples",
    "compare": "systems against a baseline: significance, lengths",
    "rank": "blind sheets for people who rank translations, and their tally",
    "results": "finished runs in one table, beside published numbers",
}


def usage() -> str:
    """The text of ``dc-nmt --help``."""
    lines = ["usage: dc-nmt COMMAND [options]", "", "commands:"]
    lines += [f"  {name:<16}{text}" for name, text in COMMANDS.items()]
    lines += ["", "dc-nmt COMMAND --help tells a command's options, dc-nmt --version the versions."]
    return "\n".join([*lines, "DC_NMT_DEBUG=1 in the environment adds a failure's traceback."])


def version() -> str:
    """Of this package and of what computes, without importing any of it."""
    found = [f"Python {platform.python_version()}"]
    for name in ("torch", "fairseq-fixed", "fairseq"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return f"dc-nmt {__version__} ({', '.join(found)})"


def _run(name: str, argv: Sequence[str]) -> int:
    module = importlib.import_module(f"dc_nmt_plugin.commands.{name.replace('-', '_')}")
    return int(module.main(argv) or 0)


def _reader_has_gone() -> bool:
    """Returns True when standard output is a pipe whose reader (head, less) has ended."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)  # an error is told without being asked for
    return bool(output.poll(0))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: arguments without the program's name; default those of the process

    Returns:
        exit status: 0, 1 for a failure that was explained, 2 for an unknown command, 130 after
        an interrupt
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a locale has no character for is escaped
            stream.reconfigure(errors="backslashreplace")
    if "_ARGCOMPLETE" in os.environ:
        from .commands.completion import complete

        complete(COMMANDS, lambda name: _run(name, []))
        return 0
    if arguments and arguments[0] in ("-V", "--version"):
        print(version())
        return 0
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = arguments
    problem = choice_problem("dc-nmt", name, COMMANDS)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    logging.disable(logging.INFO)  # fairseq announces what it lacks for speech
    try:
        return _run(name, rest)
    except KeyboardInterrupt:
        if debugging():
            raise
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _reader_has_gone():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        sentence = explained(error, rest)
        if sentence is None or debugging():
            raise
        tell(sentence, error, f"dc-nmt {name}")
        return INTERRUPTED if isinstance(error, Stopped) else 1
    finally:
        logging.disable(logging.NOTSET)


if __name__ == "__main__":
    sys.exit(main())
