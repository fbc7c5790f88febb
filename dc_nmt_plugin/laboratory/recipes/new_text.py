"""The user's text of ``dc-nmt new``: reads downloads, names the languages, and checks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UsageError, UserError, counted, notify
from ...files import write_text
from ...text.languages import language
from ...text.lines import PACKED
from ..raw_text.checks import (
    NOTHING,
    Finding,
    Scan,
    are_swapped,
    refuse,
    scan_groups,
)
from .downloaded import write_plain
from .recipe import SPLITS, TAG

LEAST = 200  # training pairs; fewer are too few for training and evaluation
# endings of files that name no language
ENDINGS = ("txt", "tok", "raw", "bpe", "src", "trg", "tgt", "csv", "tsv")
# refused in addition to SPOILT; blank pairs are left out of the training text
REFUSED = ("tokenized", "entities", "shifted", "unseen", "symbol", "form")


@dataclass(frozen=True)
class Added:
    """A further training corpus, ``--add``.

    Raises:
        UsageError: no word that can be a tag
    """

    files: Sequence[Path]  # of source and target, or one with both
    repeat: int = 1  # times that it stands in the training text
    tag: str = ""  # before each source sentence

    def __post_init__(self) -> None:
        if not re.fullmatch(TAG, self.tag):
            raise UsageError(f"--add: tag={self.tag}: is no single word without @ and ▁")

    @property
    def settings(self) -> dict[str, Any]:
        """Returns the keys that a recipe's part gets."""
        settings = {"repeat": self.repeat, "tag": self.tag}
        return {key: value for key, value in settings.items() if value not in (1, "")}


@dataclass(frozen=True)
class NewOptions:
    """Options of ``dc-nmt new``."""

    folder: Path  # of the new recipe
    train: Sequence[Path] = ()  # files of source and target, or one file with both
    valid: Sequence[Path] | None = None  # the same; None: taken from the training text
    test: Sequence[Path] | None = None
    source_lang: str | None = None  # codes; None: the endings of the files
    target_lang: str | None = None
    # architectures to train; none: transformer_standard, or that of `start`
    archs: Sequence[str] = ()
    tokenized: bool = False  # the words of the text are already separated
    bpe: int | None = None  # number of BPE operations, or pieces; None: by the size of the text
    segment: str | None = None  # program that segments, of SEGMENTERS; None: subword-nmt
    like: str | None = None  # task whose settings are taken
    codes: Sequence[Path] = ()  # one file for both languages, or those of source and target
    dictionary: Sequence[Path] = ()  # of fairseq; the same
    start: Path | None = None  # run whose model is trained on
    data_bin: Path | None = None  # folder of fairseq-preprocess, instead of `train`
    report: Path | None = None  # file to write: each line with a problem
    add: Sequence[Added] = ()  # further training text

    @property
    def added(self) -> dict[str, Added]:
        """Returns the further corpora by the names of their parts."""
        return {f"added{number}": corpus for number, corpus in enumerate(self.add, start=1)}


@dataclass
class PlainText:
    """The text of a recipe as plain files."""

    languages: tuple[str, str]
    files: dict[str, Sequence[Path]]  # set → its two files
    origins: dict[str, str]  # set → what the user gave
    names: dict[str, str]  # file that was written of a download → its name in messages

    def named(self, message: object) -> str:
        """Returns a message that names downloads in place of what was written of them."""
        text = str(message)
        for path, name in self.names.items():
            text = text.replace(path, name)
        return text


def plain_text(options: NewOptions, to: Path) -> PlainText:
    """Returns the user's text, of which downloads are written into a folder.

    Raises:
        UserError: unusable downloads, or files in different languages
    """
    given = {split: getattr(options, split) for split in SPLITS if getattr(options, split)}
    given |= {name: corpus.files for name, corpus in options.added.items()}
    codes = options.source_lang, options.target_lang
    text = PlainText(("", ""), dict(given), {}, {})
    for name, paths in given.items():
        flag = _flag(name)
        if len(paths) == 1:
            known = codes if name == "train" else text.languages
            found, written, origin = write_plain(flag, paths[0], known, to, name)
            text.files[name] = written
            text.names |= {str(p): f"{paths[0]} ({c})" for p, c in zip(written, found, strict=True)}
        else:
            found = _languages(flag, paths, codes)
            origin = " and ".join(map(str, paths))
        text.origins[name] = origin
        if name == "train":
            text.languages = found
            if found[0] == found[1]:
                raise UsageError(f"--train: both sides are {found[0]}; give --target-lang")
        elif None in codes and found != text.languages:
            raise UsageError(
                f"{flag}: {paths[0]} and {paths[1]} are {' and '.join(found)} by their "
                f"endings, and --train is {' and '.join(text.languages)}, in this order"
            )
    return text


def _flag(name: str) -> str:
    """Returns the flag that names the files of a set."""
    return f"--{name}" if name in SPLITS else "--add"


def _languages(flag: str, paths: Sequence[Path], codes: Sequence[str | None]) -> tuple[str, str]:
    """Returns the language codes of two files, such as ``a.de`` and ``a.en.gz``.

    Raises:
        UserError: the codes are unknown
    """
    known = []
    for path, code, side in zip(paths, codes, ("--source-lang", "--target-lang"), strict=True):
        suffix = (path.stem if path.suffix in PACKED else path.name).rpartition(".")[2]
        named = re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?", suffix) and suffix not in ENDINGS
        if code is None and not named:
            raise UsageError(f"{flag}: {path} does not end in a language such as .de: give {side}")
        known.append(code or language(suffix))
    return known[0], known[1]


def scans_of(text: PlainText, options: NewOptions) -> dict[str, list[Scan]]:
    """Returns the scans of both sides of every set.

    Raises:
        UserError: unreadable or empty files, sides of different lengths, the same text twice, too
            few pairs, or a problem that makes training or scores meaningless; all problems
            are printed before
    """
    groups, findings = scan_groups(list(text.files.values()), options.report)
    if options.report and text.names:
        write_text(options.report, text.named(options.report.read_text("utf-8")))
    if options.tokenized:  # the user knows it
        findings = [f for f in findings if f.kind not in ("tokenized", "entities")]
    scans = dict(zip(text.files, groups, strict=True))
    if findings:
        notify(*map(text.named, findings), "", out=True)
    for split, (source, target) in scans.items():
        _check_set(split, source, target, findings)
        if are_swapped(text.files["train"], text.files[split]):
            raise UserError(
                f"{_flag(split)}: by its letters, {source.name} is in the language of "
                f"{scans['train'][1].name}: swap the sides, or write the languages of a TSV file's "
                "columns into its name, such as a.en-de.tsv"
            )
    return scans


def _check_set(split: str, source: Scan, target: Scan, findings: Sequence[Finding]) -> None:
    """Refuses a set, as :func:`scans_of` says."""
    in_set = [finding for finding in findings if finding.file in (source.name, target.name)]
    try:
        refuse(in_set, (*REFUSED, "blank") if split in ("valid", "test") else REFUSED)
    except UserError as error:
        raise UserError(f"{_flag(split)}: {error}") from None
    good = (source.texts != NOTHING) & (target.texts != NOTHING)
    same = int(((source.texts == target.texts) & good).sum())
    if same > source.lines // 2:
        raise UserError(
            f"{_flag(split)}: {same:,} of {source.lines:,} lines are the same in {source.name} and "
            f"{target.name}: these are not two languages"
        )
    if split == "train" and good.sum() < LEAST:
        raise UserError(
            f"--train: {counted(good.sum(), 'pair')}, too few to learn from and to measure; "
            f"{LEAST} are the least"
        )
