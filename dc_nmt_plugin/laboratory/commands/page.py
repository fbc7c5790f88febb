"""The option ``--page`` of commands that compare systems."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError, notify
from ...files import TAKEN
from .. import STUDY, has_study
from .parser import numbers

if TYPE_CHECKING:
    from ..evaluation.rows import ResultTable
    from ..evaluation.systems import ComparedSystem
    from ..finding import Run


def add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--page",
        type=_new_folder,
        metavar="DIR",
        help="write a page for the browser into a new folder: the table, figures, settings that "
        "differ, quality by length and word frequency, sentences, attention",
    )
    parser.add_argument(
        "--sentences",
        type=numbers,
        metavar="N,N,…",
        help="sentences whose attention the page shows, from 1; default: 1,2,3",
    )


def _new_folder(text: str) -> Path:
    if not has_study():
        raise argparse.ArgumentTypeError("needs dc_nmt_plugin/study, which is not installed")
    folder = Path(text)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise argparse.ArgumentTypeError(f"{text} {TAKEN}")
    return folder


def make_page(
    args: argparse.Namespace,
    table: ResultTable,
    notes: Sequence[str],
    runs: Mapping[str, Sequence[Run]],
    systems: Sequence[ComparedSystem],
) -> None:
    """Writes the page that the options ask for, of what :func:`.page.page.write_page` takes."""
    sentences = args.sentences or range(1, min(3, table.sentences) + 1)
    wrong = [number for number in sentences if not 1 <= number <= table.sentences]
    if wrong:
        raise UsageError(f"--sentences: {wrong[0]} is not a sentence from 1 to {table.sentences}")
    page = importlib.import_module(f"{STUDY}.page.page")
    notify(f"written: {page.write_page(args.page, table, notes, runs, systems, sentences)}")
