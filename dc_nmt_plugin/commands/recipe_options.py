"""The options that the commands of the recipes share, and their values."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ..steps import Pipeline
from .parser import add_threads, number

T = TypeVar("T")


def folder_name(text: str) -> str:
    """Checks the name of one folder, not a path."""
    if not re.fullmatch(r"[\w.+=,-]+", text) or set(text) <= {"."}:
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a folder")
    return text


def folder(text: str) -> Path:
    """Checks a folder for fairseq, which splits names at ``:`` and ``,``."""
    if set(text) & set(":,"):
        raise argparse.ArgumentTypeError(
            f"{text!r} has a ':' or ',', at which fairseq splits names"
        )
    return Path(text)


def values_of(kind: type[T], args: argparse.Namespace, **others: Any) -> T:
    """Returns a dataclass of options from the command line and the given values."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    read = {name: getattr(args, name) for name in names if hasattr(args, name)}
    return kind(**{**read, **others})


def add_common(parser: argparse.ArgumentParser) -> None:
    """Adds the options of every recipe command."""
    parser.add_argument(
        "--out", type=folder, metavar="DIR",
        help="output folder; default: runs/TASK, or the folder of your own recipe",
    )  # fmt: skip
    parser.add_argument(
        "--sample", type=number(20), metavar="N",
        help="trial run with about N training pairs, a narrow model and 40 updates; the text is in "
        "runs/TASK-sampleN, or FOLDER/sampleN for your own recipe",
    )  # fmt: skip
    parser.add_argument(
        "--dry-run", action="store_true", help="print a shell script with the commands, run none"
    )


def pipeline_of(args: argparse.Namespace, command: str, argv: Sequence[str]) -> Pipeline:
    """Returns what runs the steps of a command, or prints them as a script (--dry-run)."""
    if not args.dry_run:
        return Pipeline()
    from ..recipes.script import Script

    return Script(["dc-nmt", command, *argv])


def add_text(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the files."""
    parser.add_argument(
        "--raw", type=Path, metavar="DIR",
        help="folder with files that you have, packed or unpacked",
    )  # fmt: skip
    parser.add_argument(
        "--downloads", type=Path, metavar="DIR",
        default=Path(os.environ.get("DC_NMT_DOWNLOADS", "runs/downloads")),
        help="folder of downloaded files; default: DC_NMT_DOWNLOADS, else runs/downloads",
    )  # fmt: skip
    parser.add_argument(
        "--any-counts", action="store_true",
        help="continue although the numbers of lines are not the published ones",
    )  # fmt: skip


def add_run(parser: argparse.ArgumentParser) -> None:
    """Adds the options that name a run."""
    parser.add_argument(
        "--size",
        help="size of the architecture, such as big; base is the size without a name; default: "
        "the paper's",
    )
    parser.add_argument(
        "--like", metavar="NAME",
        help="train with the settings of another paper, such as context-aware for its baseline; "
        "default: the recipe's choice for ARCH",
    )  # fmt: skip
    parser.add_argument("--seed", type=number(0), default=1, help="random seed; default: 1")
    parser.add_argument(
        "--name", type=folder_name,
        help="name of the run's folder; default: ARCH-sSEED, with a size and --like between them "
        "if given",
    )  # fmt: skip
    parser.add_argument(
        "--average", type=number(0), metavar="N",
        help="number of last checkpoints to keep and average; 0: only the best checkpoint",
    )  # fmt: skip
    add_threads(parser)


def add_training(parser: argparse.ArgumentParser) -> None:
    """Adds the options of training."""
    parser.add_argument(
        "--max-update", type=number(1), metavar="N",
        help="number of updates; the number of checkpoints stays the same",
    )  # fmt: skip
    parser.add_argument(
        "--max-tokens", type=number(1), metavar="N",
        help="tokens of one GPU at a time; gradients are accumulated to the paper's tokens per "
        "update on any number of GPUs",
    )  # fmt: skip
    parser.add_argument(
        "--update-freq", type=number(1), metavar="N",
        help="accumulate gradients N times, instead of to the paper's tokens per update",
    )  # fmt: skip
    parser.add_argument(
        "--gpus", type=number(0), metavar="N",
        help="number of GPUs; default: all; 0: the CPU",
    )  # fmt: skip
    parser.add_argument(
        "--fp32", action="store_true",
        help="multiply in float32 on a CPU that is faster in bfloat16 (--amp of fairseq-train)",
    )  # fmt: skip
