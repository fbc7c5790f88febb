"""The options that the commands of the recipes share, and their values."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from ..errors import UserError
from .parser import Parser, RawWithDefaults, refuse_repeated

T = TypeVar("T")


class RecipeParser(Parser):
    """A parser whose complaints are one sentence, and that takes no abbreviations."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=RawWithDefaults, **options)

    def error(self, message: str) -> NoReturn:
        raise UserError(message.removeprefix("argument "))

    def parse_with_flags(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """What is known, and fairseq's flags: what is not, and what follows ``--``."""
        words = list(argv)
        end = words.index("--") if "--" in words else len(words)
        args, unknown = self.parse_known_args(words[:end])
        flags = [*unknown, *words[end + 1 :]]
        refuse_repeated(flags, self.error)
        return args, flags


def number(least: int) -> Callable[[str], int]:
    """A whole number from ``least`` on."""

    def read(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return read


def folder_name(text: str) -> str:
    """The name of one folder, not a path to another."""
    if not re.fullmatch(r"[\w.+=,-]+", text) or set(text) <= {"."}:
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a folder")
    return text


def folder(text: str) -> Path:
    """A folder that fairseq can be given: it reads ``:`` and ``,`` as the ends of names."""
    if set(text) & set(":,"):
        raise argparse.ArgumentTypeError(f"{text!r} has a ':' or ',', at which fairseq cuts names")
    return Path(text)


def names(flag: str, text: str) -> list[str]:
    """Names separated by commas or spaces.

    Raises:
        UserError: there is none
    """
    found = text.replace(",", " ").split()
    if not found:
        raise UserError(f"{flag} is empty: name at least one")
    return found


def values_of(kind: type[T], args: argparse.Namespace, **others: Any) -> T:
    """A dataclass of options, its fields taken from the command line unless given here."""
    read = {f.name: getattr(args, f.name) for f in fields(kind) if hasattr(args, f.name)}  # type: ignore[arg-type]
    return kind(**{**read, **others})


def add_common(parser: argparse.ArgumentParser) -> None:
    """What every command of a recipe has."""
    parser.add_argument(
        "--out",
        type=folder,
        metavar="DIR",
        help="folder of what is made; default runs/TASK, or the folder of a recipe of your own",
    )
    parser.add_argument(
        "--sample", type=number(20), metavar="N", help="small, with about N training pairs: the "
        "text in runs/TASK-sampleN (FOLDER/sampleN of your own recipe), a narrow model, 40 updates",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="print the commands, do nothing")


def add_text(parser: argparse.ArgumentParser) -> None:
    """Where the files are."""
    parser.add_argument(
        "--raw", type=Path, metavar="DIR", help="files that are already here, packed or not"
    )
    parser.add_argument(
        "--downloads", type=Path, metavar="DIR",
        default=Path(os.environ.get("DC_NMT_DOWNLOADS", "runs/downloads")),
        help="folder of fetched files; default DC_NMT_DOWNLOADS, else runs/downloads",
    )  # fmt: skip
    parser.add_argument(
        "--any-counts", action="store_true",
        help="go on where the numbers of lines are not the published ones",
    )  # fmt: skip


def add_run(parser: argparse.ArgumentParser) -> None:
    """Which run of an architecture."""
    parser.add_argument("--size", help="of the architecture, such as big; base for the one "
                        "without a name; default the paper's")  # fmt: skip
    parser.add_argument(
        "--like", metavar="NAME", help="the settings of another paper, such as context-aware for "
        "its own baseline; default: the recipe's choice for ARCH",
    )  # fmt: skip
    parser.add_argument("--seed", type=number(0), default=1, help="default 1")
    parser.add_argument(
        "--name",
        type=folder_name,
        help="folder of the run; default ARCH-sSEED, a task's own size and --like between them",
    )
    parser.add_argument(
        "--average", type=number(0), metavar="N",
        help="how many of the last checkpoints are kept and averaged; 0: the best one alone",
    )  # fmt: skip


def add_training(parser: argparse.ArgumentParser) -> None:
    """How it is trained, and on what."""
    parser.add_argument(
        "--max-update", type=number(1), metavar="N",
        help="another number of updates; checkpoints come as often in proportion",
    )  # fmt: skip
    parser.add_argument(
        "--max-tokens", type=number(1), metavar="N",
        help="what one GPU is given at a time; gradients are added up to the paper's tokens per "
        "update, whatever the number of GPUs",
    )  # fmt: skip
    parser.add_argument(
        "--update-freq", type=number(1), metavar="N",
        help="instead: this many times, and as many tokens per update as come out of it",
    )  # fmt: skip
    parser.add_argument(
        "--gpus", type=number(0), metavar="N",
        help="of this machine, or of each; default: all; 0 for the CPU",
    )  # fmt: skip
    parser.add_argument(
        "--launcher", help="fairseq (one machine, the default), torchrun, or srun (the default in "
        "a Slurm job of several nodes; see scripts/train.slurm)",
    )  # fmt: skip
    machines = parser.add_argument_group("several machines, with torchrun; call it on each")
    machines.add_argument("--nodes", type=number(1), metavar="N", help="how many")
    machines.add_argument("--node-rank", type=number(0), metavar="N", help="which this is, from 0")
    machines.add_argument(
        "--rendezvous", metavar="HOST:PORT", default="", help="of the first machine"
    )
