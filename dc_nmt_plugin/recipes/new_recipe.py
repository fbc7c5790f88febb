"""Writes the recipe of a user's corpus: a folder with ``recipe.yaml`` and held-out text."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import UsageError, UserError
from ..files import write_text
from ..machine import usable_cpus
from ..text.checks import Scan, as_table, check_lines, refuse, refused, scan_groups
from .fitting import Wishes, fit
from .launch import visible_gpus
from .own_text import LEAST, Corpus, Files, languages_of
from .recipe import OWN, SPLITS, Recipe, tasks
from .recipe_text import as_text, recipe_content
from .settings import translation_family

# refused in addition to SPOILT; blank pairs of the training text are dropped
TRAIN = ("unseen", "symbol")
REFERENCE = (*TRAIN, "blank")
TEXT = "text"  # folder of held-out text and the remaining training text


@dataclass(frozen=True)
class NewOptions:
    """Options of ``dc-nmt new``.

    Attributes:
        folder: of the new recipe
        train: files of source and target, of one corpus or several
        valid, test: files of source and target; none: taken from the training text
        source_lang, target_lang: codes; None: the endings of the files
        archs: architectures to train
        tokenized: the words of the text are already separated
        bpe: number of BPE operations, or of sentencepiece's pieces; None: by the size of the text
        sentencepiece: segment raw text by sentencepiece
        size: small, medium or base; None: by the text and the machine
        max_update: number of training updates; None: by the text
        seed: of the choice of held-out text
    """

    folder: Path
    train: Files
    valid: Sequence[Path] | None = None
    test: Sequence[Path] | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    archs: Sequence[str] = ("transformer_standard",)
    tokenized: bool = False
    bpe: int | None = None
    sentencepiece: bool = False
    size: str | None = None
    max_update: int | None = None
    seed: int = 1


@dataclass(frozen=True)
class NewRecipe:
    """Describes the new recipe.

    Attributes:
        recipe: the written recipe
        pairs: split → number of pairs
        origins: split → its source
        why: a sentence for each choice
        problems: of the text, as a table; "" without problems
    """

    recipe: Recipe
    pairs: dict[str, int]
    origins: dict[str, str]
    why: tuple[str, ...]
    problems: str = ""


def make_recipe(options: NewOptions) -> NewRecipe:
    """Reads the text, chooses settings, and writes ``folder``; leaves nothing after a failure.

    Args:
        options: files, languages, architectures

    Raises:
        UserError: unusable text, an unknown architecture, or an existing folder
    """
    folder = options.folder
    _check_folder(folder)
    for arch in options.archs:
        translation_family("ARCH", arch)
    files: dict[str, Files] = {"train": options.train}
    files |= {
        split: [paths]
        for split, paths in (("valid", options.valid), ("test", options.test))
        if paths is not None
    }
    scans, problems = _look_at(files, options.tokenized)
    given = options.source_lang, options.target_lang
    pair = languages_of("--train", options.train[0], given)
    for split, groups in files.items():
        for paths in groups:
            if None in given and languages_of(f"--{split}", paths, given) != pair:
                raise UsageError(
                    f"--{split}: {paths[0]} and {paths[1]} are not {' and '.join(pair)}, in this "
                    "order, as --train is"
                )
    corpora = {
        split: Corpus(f"--{split}", groups, pair, scans[split]) for split, groups in files.items()
    }
    train = corpora["train"]
    if train.pairs - train.blank < LEAST:
        raise UserError(
            f"--train: {train.pairs - train.blank} pairs are too few to learn from and to measure "
            f"with; {LEAST} are the least"
        )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return replace(_write(options, pair, files, corpora), problems=problems)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _look_at(files: dict[str, Files], tokenized: bool) -> tuple[dict[str, list[list[Scan]]], str]:
    """Returns the scans of each set's files, and the table of their problems.

    Raises:
        UserError: a problem makes training meaningless; the table is printed before
    """
    for split, groups in files.items():
        for path in (path for group in groups for path in group):
            if not path.is_file():
                raise UsageError(f"--{split}: {path} is not a file")
    every = [group for groups in files.values() for group in groups]
    scans, findings = scan_groups(every)
    table = as_table(findings) if findings else ""
    rest = iter(scans)
    of_split = {split: [next(rest) for _ in groups] for split, groups in files.items()}
    allowed = ("tokenized",) if tokenized else ()
    for split, seen in of_split.items():
        names = {side.name for group in seen for side in group}
        kinds = ("tokenized", *(TRAIN if split == "train" else REFERENCE))
        own = [finding for finding in findings if finding.file in names]
        if refused(own, kinds, allowed):
            print(table)
        try:
            for group in seen:
                check_lines(group)
            refuse(own, kinds, allowed)
        except UserError as error:
            raise UserError(f"--{split}: {error}") from None
    return of_split, table


def _check_folder(folder: Path) -> None:
    name = folder.resolve().name
    if not re.fullmatch(r"[\w.+-]+", name):
        raise UsageError(f"FOLDER: {name!r} has something else than letters, digits, _ . + and -")
    if name in tasks():
        raise UsageError(f"FOLDER: {name!r} is a published task's name; take another")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"FOLDER: {folder} exists already; take another name, or remove it")


def _write(
    options: NewOptions,
    pair: tuple[str, str],
    files: dict[str, Files],
    corpora: dict[str, Corpus],
) -> NewRecipe:
    folder, train = options.folder, corpora["train"]
    pairs = {split: corpus.pairs for split, corpus in corpora.items()}
    origins = {
        split: ", ".join(str(path) for group in groups for path in group)
        for split, groups in files.items()
    }
    missing = [split for split in SPLITS if split not in files]
    why = []
    if missing:
        given = [corpora[split].sources for split in corpora.keys() - {"train"}]
        apart = np.concatenate(given) if given else ()
        counts = train.divide(missing, options.seed, folder / TEXT, apart)
        pairs |= counts
        for split in ("train", *missing):
            files[split] = [[folder / TEXT / f"{split}.{code}" for code in pair]]
        origins |= dict.fromkeys(missing, f"held out of --train (seed {options.seed})")
        sizes = " and ".join(f"{counts[split]:,} pairs for {split}" for split in missing)
        why.append(f"{sizes} held out at random, among those that occur once")
    if train.blank:
        why.append(f"{train.blank:,} training pairs with a blank side are left out")
    wishes = Wishes(
        options.bpe, options.size, options.max_update, options.tokenized, options.sentencepiece
    )
    chosen = fit(train, pairs["train"], visible_gpus(), usable_cpus(), wishes)
    for split, what in (("valid", "validation"), ("test", "test")):
        if split in corpora and (repeated := train.shared(corpora[split])):
            why.append(
                f"{repeated:,} training pairs whose source is in the {what} set are left out"
            )
    chosen_why = (*why, *chosen.why)
    content = recipe_content(folder, options.archs, pair, files, pairs, chosen, train)
    path = folder / OWN
    write_text(path, as_text(content, chosen_why))
    return NewRecipe(Recipe(path), {split: pairs[split] for split in SPLITS}, origins, chosen_why)
