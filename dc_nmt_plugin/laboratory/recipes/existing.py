"""What a user has already, for ``dc-nmt new``: codes, dictionaries, binarised text, a run."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ...errors import UsageError, UserError, counted
from ...files import sha256, write_lines
from ...flags import PRECISION, START, as_flags, flag_name, flags_of
from ...runs.data import preparation_of
from ...runs.differences import compared
from ...runs.record import Flags, Record, read_record
from ...text.lines import stream_lines
from ...text.segmentation import (
    SEGMENTERS,
    SUBWORD_NMT,
    Segmenter,
    codes_of,
    load_codes,
    segmenter_of,
    segmenter_of_codes,
)
from ..raw_text import TextSettings
from ..raw_text.codes import check_codes
from ..raw_text.preparation import load_truecaser, tokenise
from .recipe import SET_ELSEWHERE, SPLITS
from .sources import Sources
from .splits import write_manifest

CODES = "codes"  # folder in that of the recipe
UNKNOWN = 0.05  # share of a sample's pieces; text like that of the dictionary has a thousandth
UNSEEN = "⁇"  # an unknown piece of a reference; no translation has it, as in fairseq's score
EPOCHS = 10  # of a fine-tuning
SLOWER = 10  # times, than the run learned
# kinds of flags that a fine-tuning does not take from its run, and flags of the learning rate
OF_THE_RUN = ("seed", "name", "machine", "log", "batch", "checkpoints", "end")
OF_THE_RATE = ("lr", "*-lr", "lr-*", "warmup-*", "total-num-update", "power", "*learning-rate")


# -- codes and dictionaries --------------------------------------------------------------------


@dataclass(frozen=True)
class Existing:
    """Files that are used as they are: one for both languages, or those of source and target."""

    codes: Sequence[Path] = ()
    dictionaries: Sequence[Path] = ()
    truecasers: Sequence[Path] = ()

    @classmethod
    def of(cls, codes: Sequence[Path], dictionaries: Sequence[Path]) -> Existing:
        """Returns the files of a command line; two equal files are one for both languages.

        Raises:
            UsageError: dictionaries without codes
        """
        if dictionaries and not codes:
            raise UsageError("--dictionary: give the --codes that segmented its text, too")
        return cls(_folded(codes), _folded(dictionaries))

    @property
    def segmenter(self) -> Segmenter:
        """Returns the program that wrote the codes."""
        return segmenter_of_codes(self.codes[0])

    def segmentation(self, languages: tuple[str, str]) -> dict[str, Any]:
        """Returns the recipe's words for the files; empty without codes."""
        if not self.codes:
            return {}
        one_dictionary = len(self.dictionaries or self.codes) == 1
        return {
            "segment": self.segmenter.name,
            "codes": [name for name in self._named(languages) if name.startswith("codes")],
            "dictionaries": [name for name in self._named(languages) if name.startswith("dict")],
            "joint": len(self.codes) == 1,
            "dictionary": "joint" if one_dictionary else "separate",
        }

    def copied(self, folder: Path, languages: tuple[str, str]) -> dict[str, Path]:
        """Copies the files into the folder of a recipe; returns the recipe's name of each."""
        named = self._named(languages)
        if named:
            (folder / CODES).mkdir()
        return {
            name: Path(shutil.copyfile(path, folder / CODES / name)) for name, path in named.items()
        }

    def _named(self, languages: tuple[str, str]) -> dict[str, Path]:
        """Returns a recipe's name of each file: ``dict.txt``, or one with each language."""
        named = {}
        for kind, paths, ending in (
            ("codes", self.codes, self.segmenter.ending if self.codes else ""),
            ("dict", self.dictionaries, ".txt"),
            ("truecase", self.truecasers, ""),
        ):
            for code, path in zip(languages, paths, strict=False):
                named[f"{kind}.{code}{ending}" if len(paths) > 1 else f"{kind}{ending}"] = path
        return named

    def check(
        self, sample: Sequence[tuple[str, str]], languages: tuple[str, str], text: TextSettings
    ) -> tuple[list[str], float]:
        """Segments pairs of the training text.

        Returns:
            lines about the codes, and the mean length of the longer side in pieces

        Raises:
            UserError: the files do not belong together, or to this text
        """
        sides = [
            list(tokenise(lines, language, text))
            for language, lines in zip(languages, zip(*sample, strict=True), strict=True)
        ]
        for number, path in enumerate(self.truecasers):
            sides[number] = list(map(load_truecaser(path), sides[number]))
        pieces = _segmented(self.codes, sides)
        if _count(_segmented(self.codes[::-1], sides)) < _count(pieces):
            raise UsageError(
                f"--codes: {self.codes[0]} makes longer pieces of the text in {languages[1]}, and "
                f"{self.codes[1]} of that in {languages[0]}: give first those of {languages[0]}"
            )
        notes = [f"{self.segmenter.label.lower()}: by {_listed(self.codes)}"]
        if self.dictionaries:
            notes[0] += f"; dictionary: {_listed(self.dictionaries)}"
            notes += self._unknown(pieces, languages)
        longer = [max(len(one), len(two)) for one, two in zip(*pieces, strict=True)]
        return notes, sum(longer) / len(longer)

    def check_dictionaries(self) -> None:
        """Raises UserError for no dictionary, or codes that did not segment its text."""
        for codes, dictionary in zip(_both(self.codes), _both(self.dictionaries), strict=False):
            list(_symbols(dictionary))
            check_codes(codes, dictionary)

    def _unknown(self, pieces: list[list[list[str]]], languages: tuple[str, str]) -> Iterator[str]:
        """Yields a line with the share of unknown pieces in each language."""
        for path, side, language in zip(_both(self.dictionaries), pieces, languages, strict=True):
            known = set(_symbols(path))
            unknown = sum(piece not in known for row in side for piece in row)
            share = f"{unknown / _count([side]):.2%} of the pieces in {language}"
            if unknown > UNKNOWN * _count([side]):
                raise UserError(
                    f"{path}: {share} of --train are not in it, and would be <unk>: give the "
                    "dictionary of text that was tokenised, cased and segmented in this way"
                )
            yield f"unknown: {share} are not in its dictionary, in a sample"


def _folded(paths: Sequence[Path]) -> Sequence[Path]:
    return paths[:1] if len({sha256(path) for path in paths}) == 1 else paths


def _both(paths: Sequence[Path]) -> Sequence[Path]:
    """Returns the file of each language; none without files."""
    return [paths[0], paths[-1]] if paths else []


def _listed(paths: Sequence[Path]) -> str:
    return " and ".join(map(str, paths))


def _segmented(codes: Sequence[Path], sides: list[list[str]]) -> list[list[list[str]]]:
    """Returns the pieces of the lines of both sides."""
    pieces = []
    for path, side in zip(_both(codes), sides, strict=True):
        segment = load_codes(path)
        pieces.append([segment(line).split() for line in side])
    return pieces


def _count(pieces: list[list[list[str]]]) -> int:
    return sum(len(row) for side in pieces for row in side)


def _symbols(dictionary: Path) -> Iterator[str]:
    for number, line in enumerate(stream_lines(dictionary), start=1):
        symbol, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not symbol or not count.isdecimal():
            raise UserError(
                f"{dictionary}, line {number}: {line!r:.60} is not a piece and its count; give a "
                "dictionary of fairseq-preprocess, such as dict.en.txt"
            )
        yield symbol


# -- a folder of fairseq-preprocess ------------------------------------------------------------


@dataclass(frozen=True)
class Binarised:
    """A folder of fairseq-preprocess: its languages, set → number of pairs, and its files."""

    languages: tuple[str, str]
    pairs: dict[str, int]
    files: list[Path]
    dictionaries: list[Path]  # of source and target

    @classmethod
    def read(cls, folder: Path) -> Binarised:
        """Reads names and sizes.

        Raises:
            UserError: there is no training, validation or test set of two languages
        """
        from fairseq.data.data_utils import infer_language_pair

        source, target = infer_language_pair(str(folder))
        if source is None:
            raise UserError(f"--data-bin {folder}: has no set such as train.en-de.en.idx")
        further = folder.glob(f"test[1-9].{source}-{target}.{source}.idx")
        pairs = {}
        for split in (*SPLITS, *sorted(path.name.partition(".")[0] for path in further)):
            for language in (source, target):
                side = _binarised(folder, split, (source, target), language)
                if side is None:
                    raise UserError(
                        f"--data-bin {folder}: has no {split}.{source}-{target}.{language}.idx; "
                        "binarise this set, too, with --srcdict and --tgtdict of the folder"
                    )
                pairs[split] = len(side)
        dictionaries = [folder / f"dict.{language}.txt" for language in (source, target)]
        sets = [path for path in folder.iterdir() if path.suffix in (".bin", ".idx")]
        return cls((source, target), pairs, sorted([*sets, *dictionaries]), dictionaries)

    @property
    def segmentation(self) -> dict[str, Any]:
        """Returns the recipe's words for its pieces and dictionaries."""
        folder = self.dictionaries[0].parent
        return {
            "segment": (segmenter_of(folder, self.languages[1]) or SUBWORD_NMT).name,
            "dictionaries": [path.name for path in self.dictionaries],
            "dictionary": "joint" if len(_folded(self.dictionaries)) == 1 else "separate",
        }


def _binarised(folder: Path, split: str, languages: tuple[str, str], language: str) -> Any:
    """Returns fairseq's dataset of one side of a set; None for a missing one."""
    from fairseq.data.data_utils import load_indexed_dataset

    return load_indexed_dataset(str(folder / f"{split}.{'-'.join(languages)}.{language}"))


def write_decoded(sources: Sources, to: Path, sample: int | None) -> None:
    """Writes the sets of binarised text but train, with joined pieces, as ``make_text`` does.

    Raises:
        UserError: a file is missing, or has changed since the recipe was made
    """
    from fairseq.data import Dictionary

    recipe = sources.recipe
    for name in recipe.task.files:
        sources.path(name)
    segmentation = next(iter(recipe.task.bpe.values()))
    join = SEGMENTERS[segmentation.segment].join
    counts = {split: recipe.split_parts(split)[0].lines or 0 for split in recipe.splits}
    for language, path in recipe.given(segmentation.dictionaries).items():
        dictionary = Dictionary.load(str(path))
        for split in recipe.splits[1:]:
            rows = _binarised(path.parent, split, recipe.pair, language)
            unknown = sum(int((row == dictionary.unk()).sum()) for row in rows)
            lines = [join(dictionary.string(row, unk_string=UNSEEN)) for row in rows]
            for folder in (to, to / "tokenised"):
                write_lines(folder / f"{split}.{language}", lines)
            found = f"{counted(len(lines), 'line')}, {counted(unknown, 'unknown piece')} (<unk>)"
            print(f"{split}.{language}: {found}")
    write_manifest(recipe, counts, to, sample)


# -- a trained run -----------------------------------------------------------------------------


@dataclass(frozen=True)
class StartRun:
    """The run of ``--from``, whose model is trained on.

    Attributes:
        text: settings of its text; None where ``dc-nmt prepare`` did not make it
        existing: its codes, dictionaries and truecasers
    """

    path: Path
    checkpoint: Path
    record: Record
    text: TextSettings | None
    existing: Existing

    @classmethod
    def read(cls, path: Path, codes: Sequence[Path]) -> StartRun:
        """Reads a run with its files, and with the user's codes where its own are gone.

        Raises:
            UserError: the run has no record, checkpoint, dictionaries or codes
        """
        from ..inference.trained_run import find_runs

        (run,) = find_runs([path])
        record = read_record(run.folder)
        languages = (str(record.data.source), record.data.target)
        found = codes or [file for code in languages if (file := codes_of(run.data, code))]
        if not found:
            raise UserError(
                f"--from {path}: beside {run.data} are no codes; give them with --codes"
            )
        dictionaries = [run.data / f"dict.{language}.txt" for language in languages]
        existing = Existing.of(found, dictionaries)
        preparation = preparation_of(run.data)
        text = TextSettings(**preparation["text"]) if preparation else None
        if text and text.casing == "truecase":
            raw = run.data.resolve().parent / "raw"
            files = [raw / f"truecase.{language}" for language in languages]
            existing = replace(existing, truecasers=files)
        return cls(path, run.checkpoint, record, text, existing)

    def check_languages(self, languages: tuple[str, str]) -> None:
        """Raises UsageError for text of other languages, or of the other direction."""
        of_run = (self.record.data.source, self.record.data.target)
        if of_run != languages:
            raise UsageError(
                f"--train: is text from {languages[0]} to {languages[1]}, and --from {self.path} "
                f"translates from {of_run[0]} to {of_run[1]}"
            )

    def settings(self, pairs: int, pieces: float) -> dict[str, Any]:
        """Returns the recipe's settings: those of the run, but slower and shorter.

        Args:
            pairs: of the training text
            pieces: of the longer side of a pair, in the mean
        """
        training, settings = self.record.training, self.record.settings
        tokens = training.tokens or 4096
        updates = max(2 * EPOCHS, round(EPOCHS * pairs * pieces / tokens))
        updates = min(updates, training.updates or updates)
        rate = float(str(settings.get("lr", 1e-3)).strip("[]").split(",")[0]) / SLOWER
        flags = as_flags(_kept(settings, OF_THE_RUN, (*OF_THE_RATE, *flags_of(PRECISION), START)))
        flags += ["--lr", f"{rate:g}", "--lr-scheduler", "fixed"]
        flags += ["--warmup-updates", str(updates // EPOCHS)]
        flags += [flag_name(START), str(self.checkpoint.resolve())]
        entry = {
            "source": f"the settings of {self.path}, with a learning rate {SLOWER} times lower, "
            f"for {EPOCHS} epochs, chosen by dc-nmt new; training goes on with new text as in "
            "Luong and Manning (2015) and Freitag and Al-Onaizan (2016)",
            "size": "",
            "tokens": tokens,
            "max_tokens": min(4096, tokens),
            "updates": updates,
            "save_every": max(1, updates // 20),
            "flags": shlex.join(flags),
        }
        decoding = self.record.decoding()
        if decoding and decoding.search:
            joining = ("remove-bpe", *flags_of(PRECISION))
            entry["decode"] = shlex.join(as_flags(_kept(decoding.search, ("machine",), joining)))
        return entry


def _kept(settings: Flags, kinds: Sequence[str], others: Sequence[str]) -> Flags:
    """Returns flags that are of none of the kinds, and that a recipe may have."""
    unwanted = [*others, *(flag.removeprefix("--") for flag in SET_ELSEWHERE)]
    return {
        flag: value
        for flag, value in compared(settings, kinds).items()
        if not any(fnmatch(flag, pattern) for pattern in unwanted)
    }
