"""The command ``dc-nmt``."""

from __future__ import annotations

import importlib
import io
import logging
import os
import signal
import sys
import warnings
from collections.abc import Sequence

from . import __version__
from .errors import UsageError, UserError, check_choices, notify
from .files import MAKE_ROOM, no_space
from .flags import USER_DIR_VARIABLE
from .laboratory import run_command

# title with an example → command → description; each has main(argv) in a file of its name in
# laboratory/commands/ or study/commands/
GROUPS = {
    "your own text, for example: dc-nmt new mine --train a.de a.en; dc-nmt run mine": {
        "new": "make a recipe for your own text",
        "check-text": "check pairs of parallel text files",
        "run": "prepare, train and evaluate architectures, then print a table",
        "translate": "translate lines with a trained run",
    },
    "published tasks, for example: dc-nmt run multi30k_en_de transformer_dc": {
        "recipe": "list published tasks",
        "prepare": "prepare the text of a task for fairseq",
        "train": "train an architecture with its paper's settings",
        "evaluate": "translate and score with a trained run, as its paper did",
        "paper": "make tables and figures of the papers: list, show, run, table",
    },
    "compare, for example: dc-nmt compare RUN RUN other_toolkit.txt": {
        "score": "score translations with every metric that the papers use",
        "compare": "compare systems with a baseline: intervals and significance",
        "results": "show finished runs in a table, beside published numbers",
    },
    "look inside, for example: dc-nmt analyze attention RUN --plot spans": {
        "analyze": "analyse trained models as the papers do",
        "probe": "train probing classifiers on frozen encoders",
    },
    "tools, for example: dc-nmt doctor": {
        "check-mechanism": "check the ground rules on a mechanism of your own",
        "arch-flags": "list architectures; show the flags and training command of one",
        "average": "average checkpoints",
        "export": "pack a run, remove auxiliary decoders, or convert the model",
        "doctor": "print versions, device, path for --user-dir, and the changes to fairseq",
    },
}
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
FOOT = """\
dc-nmt COMMAND --help lists the options of a command, dc-nmt doctor the versions.
Exit status: 0 success, 1 failure, 2 wrong command line, 130 interrupt."""


def usage() -> str:
    """Returns the text of ``dc-nmt --help``."""
    lines = ["usage: dc-nmt COMMAND [options]"]
    for title, commands in GROUPS.items():
        lines += ["", title, *(f"  {name:<16}{about}" for name, about in commands.items())]
    return "\n".join([*lines, "", FOOT])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command, and returns the exit status: one of FOOT, or 141 (128 + SIGPIPE)."""
    _prepare_streams()
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    program = f"dc-nmt {name}" if name in COMMANDS else "dc-nmt"
    logging.disable(logging.INFO)  # fairseq announces what it lacks for speech
    warnings.simplefilter("ignore")  # of Hydra and torch, about how fairseq calls them
    # a request to end also ends the programs that this process started
    before = {request: signal.getsignal(request) for request in (signal.SIGTERM, signal.SIGHUP)}
    for request, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup has it
            signal.signal(request, signal.default_int_handler)
    try:
        status = _run(name, rest)
        print(end="", flush=True)  # fails here, if it fails, and not after the last word
        return status
    except KeyboardInterrupt:
        print(f"\n{program}: stopped; the same command continues, or begins again", file=sys.stderr)
        return 128 + signal.SIGINT
    except Exception as error:
        try:
            print(end="", flush=True)
        except OSError:  # the output takes nothing any more, and its end is not to fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return 128 + signal.SIGPIPE  # of head or less, which have read enough
        sentence = _sentence(error)
        if sentence is None:
            raise
        notify(*f"{program}: error: {sentence}".split("\n"))
        return 2 if isinstance(error, UsageError) else 1
    finally:
        for request, handler in before.items():
            signal.signal(request, handler)
        logging.disable(logging.NOTSET)


def _prepare_streams() -> None:
    """Makes standard output and errors take every character, also where they are closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: what is printed goes nowhere
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):  # what a locale has no character for is escaped
            stream.reconfigure(errors="backslashreplace")


def _run(name: str, words: list[str]) -> int:
    if name in ("-V", "--version", "-h", "--help"):
        print(usage() if name in ("-h", "--help") else f"dc-nmt {__version__}")
        return 0
    check_choices("command", [name], COMMANDS, "dc-nmt --help")
    if USER_DIR_VARIABLE in os.environ:
        importlib.import_module("dc_nmt_plugin.extension").import_from_variable()
    try:
        return run_command([name, *words])
    except SystemExit as end:
        if end.code:
            raise
        return 0  # of --help


def _sentence(error: Exception) -> str | None:
    """Returns what to print for a failure that the user can correct; None for a traceback."""
    if no_space(error):
        return f"{no_space(error)}: {MAKE_ROOM}"
    out_of_memory = ("can't allocate memory", "CUDA out of memory")  # of torch
    if isinstance(error, MemoryError) or any(words in str(error) for words in out_of_memory):
        return "there is not enough memory: give less text at a time, or shorter lines"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        module = error.name.partition(".")[0]
        if module == "fairseq":  # which of its packages loads depends on Python
            return "fairseq is not installed: dc-nmt doctor prints the command that installs it"
        return f"{module} is not installed: pip install {module}"
    return str(error) if isinstance(error, UserError) else None


if __name__ == "__main__":  # compat knows this file by its own name, so it is imported again
    importlib.import_module("dc_nmt_plugin.__main__")
