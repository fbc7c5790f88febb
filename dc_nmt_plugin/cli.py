"""The command ``dc-nmt``."""

from __future__ import annotations

import importlib
import io
import logging
import os
import platform
import select
import sys
from collections.abc import Sequence
from typing import NamedTuple

from . import __version__
from .errors import Stopped, UsageError, choice_problem, debugging, refusal, tell
from .files import MAKE_ROOM, no_space

INTERRUPTED = 130  # exit status of shells for Ctrl-C


class Group(NamedTuple):
    """Commands that are listed together.

    Attributes:
        title: of the list
        example: command lines
        commands: command → description; each has main(argv) -> int in a file of its name in
            commands/
    """

    title: str
    example: str
    commands: dict[str, str]


GROUPS = (
    Group(
        "your own text",
        "dc-nmt new mine --train a.de a.en; dc-nmt run mine",
        {
            "new": "make a recipe for your own text",
            "run": "prepare, train and evaluate architectures, then print a table",
            "translate": "translate lines with a trained run",
        },
    ),
    Group(
        "published tasks",
        "dc-nmt run multi30k_en_de transformer_dc",
        {
            "recipe": "list published tasks and their numbers",
            "prepare": "prepare the text of a task for fairseq",
            "train": "train an architecture with its paper's settings",
            "evaluate": "translate and score with a trained run, as its paper did",
            "paper": "make tables and figures of the papers again; parameter counts",
        },
    ),
    Group(
        "compare",
        "dc-nmt compare RUN RUN other_toolkit.txt",
        {
            "score": "score translations with every metric that the papers use",
            "compare": "compare systems with a baseline: significance, sentence length",
            "results": "show finished runs in a table, beside published numbers",
        },
    ),
    Group(
        "look inside",
        "dc-nmt analyze attention RUN --plot spans",
        {
            "analyze": "analyse trained models as the papers do",
            "probe": "train probing classifiers on frozen encoders",
        },
    ),
    Group(
        "tools",
        "dc-nmt doctor",
        {
            "arch-flags": "list architectures; show the flags and training command of one",
            "average": "average checkpoints",
            "export": "remove auxiliary decoders, or convert to fairseq or CTranslate2",
            "doctor": "list missing parts and the command that installs each",
        },
    ),
)
MORE = Group(
    "for scripts and developers",
    "dc-nmt check-text text.de text.en",
    {
        "check-text": "check pairs of parallel text files",
    },
)
# module that a command imports late → the package that has it
_PACKAGES = {
    "HanTa": "HanTa",
    "MeCab": "'sacrebleu[ja]'",
    "bert_score": "bert-score",
    "comet": "'dc_nmt_plugin[comet]'",
    "compare_mt": "compare-mt six",
    "ctranslate2": "'dc_nmt_plugin[ctranslate2]'",
    "ipadic": "'sacrebleu[ja]'",
    "mecab_ko": "'sacrebleu[ko]'",
    "submitit": "'dc_nmt_plugin[slurm]'",
    "subword_nmt": "subword-nmt",
}
FIRST_SCREEN = [name for group in GROUPS for name in group.commands]
COMMANDS = {name: about for group in (*GROUPS, MORE) for name, about in group.commands.items()}
ALL = "--help-all"
_FOOT = f"""\
dc-nmt COMMAND --help lists the options of a command, dc-nmt --version the versions.
dc-nmt {ALL} lists {len(MORE.commands)} more commands, for scripts and developers.
Exit status: 0 success, 1 failure, 2 wrong command line, 130 interrupt.
DC_NMT_DEBUG=1 in the environment adds the traceback of a failure."""


def usage(groups: Sequence[Group] = GROUPS) -> str:
    """Returns the text of ``dc-nmt --help``."""
    blocks = ["usage: dc-nmt COMMAND [options]"]
    for title, example, commands in groups:
        lines = [f"{title}, for example: {example}"]
        blocks.append("\n".join(lines + [f"  {name:<16}{text}" for name, text in commands.items()]))
    return "\n\n".join([*blocks, _FOOT])


def version() -> str:
    """Returns the versions of this package and its requirements, without importing them."""
    # takes longer than the rest of a short command
    from .environment.install_fairseq import NAMES, version_of

    found = [f"Python {platform.python_version()}"]
    found += [f"{name} {each}" for name in ("torch", *NAMES) if (each := version_of(name))]
    return f"dc-nmt {__version__} ({', '.join(found)})"


def _run(name: str, argv: Sequence[str]) -> int:
    if name not in COMMANDS:
        raise UsageError(str(choice_problem("command", name, COMMANDS, f"dc-nmt {ALL}")))
    module = importlib.import_module(f"dc_nmt_plugin.commands.{name.replace('-', '_')}")
    return int(module.main(argv) or 0)


def _sentence(error: Exception) -> str | None:
    """Returns what to print for a failure that the user can correct; None for a traceback."""
    known = refusal(error)
    if known is not None:
        return known
    reason = no_space(error) or getattr(error, "strerror", None)
    path = getattr(error, "filename", None)
    if path is not None and reason is not None:
        return f"{path}: {reason}" + (f": {MAKE_ROOM}" if no_space(error) else "")
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        module = error.name.partition(".")[0]
        return f"{module} is not installed: pip install {_PACKAGES.get(module, module)}"
    # as sacreBLEU says that MeCab is missing
    lines = [line.strip() for line in str(error).splitlines() if "pip install " in line]
    return lines[0] if lines else None


def _reader_has_gone() -> bool:
    """Returns True when standard output is a pipe whose reader (head, less) has ended."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)  # poll reports errors without a mask
    return bool(output.poll(0))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: arguments without the program's name; default those of the process

    Returns:
        exit status: 0, 1 for a failure that was explained, 2 for a wrong command line, 130 after
        an interrupt
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a locale has no character for is escaped
            stream.reconfigure(errors="backslashreplace")
    if arguments and arguments[0] in ("-V", "--version"):
        print(version())
        return 0
    if not arguments or arguments[0] in ("-h", "--help", ALL):
        print(usage((*GROUPS, MORE) if ALL in arguments else GROUPS))
        return 0
    name, *rest = arguments
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
        sentence = _sentence(error)
        if sentence is None or debugging():
            raise
        tell(sentence, f"dc-nmt {name}" if name in COMMANDS else "dc-nmt")
        if isinstance(error, UsageError):
            return 2
        return INTERRUPTED if isinstance(error, Stopped) else 1
    finally:
        logging.disable(logging.NOTSET)


if __name__ == "__main__":
    sys.exit(main())
