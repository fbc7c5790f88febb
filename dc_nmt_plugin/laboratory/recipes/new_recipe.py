"""Writes the recipe of a user's text, and the sets that are held out."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ...errors import UsageError, UserError, counted, printable
from ...files import folder_problem, making, sha256, write_parallel, write_text
from ...flags import flag_name
from ...text.lines import PACKED
from ...text.segmentation import SEGMENTERS, SENTENCEPIECE
from ..evaluation.metrics import default_bleu
from ..raw_text import TextSettings
from ..raw_text.checks import Scan, shared_lines, unseen_characters
from .existing import Binarised, Existing, StartRun
from .formats import read_pairs
from .held_out import SEED, lines_that_occur_once
from .new_settings import (
    SIZES,
    Choices,
    bpe_of_like,
    choose,
    mark_notes,
    notes_of_like,
    settings_by_size,
    settings_of_like,
)
from .new_text import Added, NewOptions, PlainText, plain_text, scans_of
from .recipe import OWN, SPLITS, Recipe, load, set_values, tasks
from .settings import translation_family

SAMPLED = 1000  # pairs, spread over the text, from which the tokeniser and dictionary are chosen
# option → options whose values it replaces
CONTRADICTIONS = {
    "data_bin": "train valid test add source_lang target_lang report dictionary bpe segment start",
    "start": "archs dictionary bpe segment like",
    "codes": "bpe segment",
}
FLAG_OF = {"archs": "ARCH", "start": "--from"}


def make_recipe(options: NewOptions) -> tuple[Recipe, list[str]]:
    """Checks the text and writes ``folder``; leaves nothing after a failure.

    Returns:
        the recipe, and the lines that begin it: the sets and the settings

    Raises:
        UserError: unusable text, an unknown architecture, or an existing folder
    """
    name = options.folder.resolve().name
    if problem := folder_problem(options.folder):
        raise UsageError(f"FOLDER: {problem}")
    if name in tasks():
        raise UsageError(f"FOLDER: {name!r} is a published task's name; take another")
    for arch in options.archs:
        translation_family(arch)
    _check_contradictions(options)
    if options.data_bin:
        binarised = Binarised.read(options.data_bin)
        with making(options.folder) as folder:
            notes = _write_binarised(folder, options, binarised)
            Recipe(folder / OWN).check()
        return Recipe(options.folder / OWN), notes
    start = StartRun.read(options.start, options.codes) if options.start else None
    if start:
        options = _of_start(options, start)
    existing = start.existing if start else Existing.of(options.codes, options.dictionary)
    existing.check_dictionaries()
    if existing.codes:
        options = dataclasses.replace(options, segment=existing.segmenter.name)
    with making(options.folder) as folder:
        text = plain_text(options, folder / "text")
        if start:
            start.check_languages(text.languages)
        try:
            scans = scans_of(text, options)
            notes = _write(folder, options, text, scans, existing, start)
        except UserError as error:
            raise type(error)(text.named(error)) from error
    return Recipe(options.folder / OWN), notes


def _check_contradictions(options: NewOptions) -> None:
    """Raises UsageError for an option whose value another one would replace."""
    for name, others in CONTRADICTIONS.items():
        for other in others.split():
            if getattr(options, name) and getattr(options, other):
                one, two = (FLAG_OF.get(each, flag_name(each)) for each in (name, other))
                raise UsageError(f"{two}: contradicts {one}, which decides it; leave out {two}")


def _of_start(options: NewOptions, start: StartRun) -> NewOptions:
    """Returns the options with the architecture of a run, and how its text was prepared."""
    tokenized = options.tokenized
    if start.text:
        tokenized = start.text.tokenizer == "none"
        if options.tokenized and not tokenized:
            raise UsageError(
                f"--tokenized: contradicts --from {start.path}, whose text is tokenised by "
                f"{start.text.tokenizer}; give raw text"
            )
    archs = [arch] if (arch := start.record.architecture) else []
    return dataclasses.replace(options, archs=archs, tokenized=tokenized)


def _write(
    folder: Path,
    options: NewOptions,
    text: PlainText,
    scans: dict[str, list[Scan]],
    existing: Existing,
    start: StartRun | None,
) -> list[str]:
    """Writes the held-out text and the recipe; returns the recipe's first lines."""
    step = scans["train"][0].lines // SAMPLED + 1
    languages = text.languages
    sample = list(islice(read_pairs("plain", text.files["train"]), 0, None, step))
    pairs, notes = _write_sets(folder, text, scans, options.added)
    total = pairs["train"] + sum(
        corpus.repeat * pairs[name] for name, corpus in options.added.items()
    )
    choices = choose(options, languages, sample, total)
    choices = dataclasses.replace(choices, given=existing.segmentation(languages))
    prepared = msgspec.convert({"tokenizer": choices.tokenizer}, TextSettings)
    if start and start.text:
        prepared = start.text
        choices = dataclasses.replace(choices, tokenizer=prepared.tokenizer)
    notes += choices.text_notes(languages)
    notes += mark_notes(sample, languages, choices.tokenizer)
    settings = None
    if existing.codes:
        lines, pieces = existing.check(sample, languages, prepared)
        notes += lines
        settings = start.settings(total, pieces) if start else None
    content = _files(folder, text, pairs, options.added)
    copied = existing.copied(folder, languages)
    content["files"] |= {name: _file(folder, path) for name, path in copied.items()}
    content["text"] = {"tokenizer": prepared.tokenizer, **set_values(prepared)}
    return _write_recipe(folder, options, languages, choices, content, notes, settings)


def _write_binarised(folder: Path, options: NewOptions, binarised: Binarised) -> list[str]:
    """Writes the recipe of a folder of fairseq-preprocess; returns its first lines."""
    languages, pairs = binarised.languages, binarised.pairs
    existing = Existing.of(options.codes, binarised.dictionaries if options.codes else ())
    existing.check_dictionaries()
    existing = dataclasses.replace(existing, dictionaries=())  # they stay where they are
    given = {**existing.segmentation(languages), **binarised.segmentation}
    size = next(size for size in SIZES if pairs["train"] < size.below)
    segmenter = SEGMENTERS[given["segment"]]
    tokenizer, metric = "none", "multi-bleu"
    if segmenter is SENTENCEPIECE:
        tokenizer, metric = "raw", default_bleu(languages[1])
    choices = Choices(size, segmenter, 0, 0, tokenizer, metric, given)
    copied = existing.copied(folder, languages)
    files = {path.name: path for path in binarised.files} | copied
    content = {
        "files": {name: _file(folder, path) for name, path in files.items()},
        "parts": {name: {"format": "binarised", "lines": lines} for name, lines in pairs.items()},
        "splits": {
            **{split: [split] for split in SPLITS},
            "tests": {split: [split] for split in pairs if split not in SPLITS},
        },
        "text": {"tokenizer": tokenizer},
    }
    notes = [
        f"{split}: {counted(lines, 'pair')}, binarised in {options.data_bin}"
        for split, lines in pairs.items()
    ]
    notes.append("scores are of the text as it was segmented, with joined pieces")
    return _write_recipe(folder, options, languages, choices, content, notes)


def _write_recipe(
    folder: Path,
    options: NewOptions,
    languages: tuple[str, str],
    choices: Choices,
    content: Mapping[str, Any],
    notes: list[str],
    of_start: dict[str, Any] | None = None,
) -> list[str]:
    """Writes the recipe with files and text in `content`; returns its first lines."""
    archs = list(options.archs) or ["transformer_standard"]
    bpe = {"default": choices.segmentation}
    if of_start is not None:
        settings = settings_by_size(choices.size, choices.joint, choices.metric)
        settings = {"all": settings["all"] | of_start}
        notes.append(f"updates: {of_start['updates']:,}; {of_start['source']}")
    elif options.like is None:
        notes += choices.notes(languages)
        settings = settings_by_size(choices.size, choices.joint, choices.metric)
    else:
        like = load(options.like)
        bpe = bpe_of_like(like, options, choices.given)
        notes += notes_of_like(like, archs, bpe)
        settings = settings_of_like(like, "-".join(languages), choices.metric)
    recipe = {
        "title": f"{options.folder.resolve().name}, your own text",
        "pair": "-".join(languages),
        "archs": archs,
        **content,
        "bpe": bpe,
        "settings": settings,
    }
    head = ["Made by dc-nmt new; yours to change.", *notes]
    body = yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True, width=96)
    write_text(folder / OWN, "".join(f"# {printable(line)}\n" for line in head) + body)
    return notes


def _write_sets(
    folder: Path, text: PlainText, scans: dict[str, list[Scan]], added: Mapping[str, Added]
) -> tuple[dict[str, int], list[str]]:
    """Writes the sets that are held out, and adds their files to those of `text`.

    Returns:
        set → pairs, and lines about the sets
    """
    pairs = {split: sides[0].lines for split, sides in scans.items()}
    missing = [split for split in SPLITS if split not in text.files]
    if missing:
        set_of = lines_that_occur_once(missing, scans)
        pairs |= _write_held_out(set_of, folder / "text", text.files["train"], text.languages)
        for split in ("train", *missing):
            text.files[split] = [folder / "text" / f"{split}.{code}" for code in text.languages]
        for split in missing:
            text.origins[split] = f"held out of --train (seed {SEED}): translations that occur once"
    notes = [f"{name}: {counted(pairs[name], 'pair')}, {text.origins[name]}" for name in SPLITS]
    for name, corpus in added.items():
        settings = "".join(f", {key}={value}" for key, value in corpus.settings.items())
        notes.append(f"{name}: {counted(pairs[name], 'pair')}{settings}, {text.origins[name]}")
    notes += _notes_about_scores(scans, added)
    return pairs, list(dict.fromkeys(map(text.named, notes)))


def _notes_about_scores(
    scans: Mapping[str, Sequence[Scan]], added: Collection[str]
) -> Iterator[str]:
    """Yields lines about what makes the scores of sets misleading.

    Args:
        scans: set or added corpus → its sides
        added: names of the added corpora
    """
    train, *scored = [scans[split] for split in SPLITS if split in scans]
    for name in added:
        yield from shared_lines([scans[name], *scored])
        for side, further in zip(train, scans[name], strict=True):
            side.characters |= further.characters
    for sides in scored:
        for side, other in zip(train, sides, strict=True):
            yield from unseen_characters(side, other)
    yield from shared_lines([train, *scored])


def _write_held_out(
    set_of: dict[int, str], folder: Path, paths: Sequence[Path], languages: tuple[str, str]
) -> dict[str, int]:
    """Writes ``folder/SET.LANG`` for each held-out set, and for the rest of the training text.

    Args:
        set_of: line of the training text → held-out set
        folder: to write
        paths: of the training text
        languages: codes

    Returns:
        set → pairs
    """
    pairs = {}
    for name in (*dict.fromkeys(set_of.values()), "train"):  # whose files may be `paths`
        rows = enumerate(read_pairs("plain", paths))
        pairs[name] = write_parallel(
            [folder / f"{name}.{code}" for code in languages],
            (row for place, row in rows if set_of.get(place, "train") == name),
        )
    return pairs


def _files(
    folder: Path, text: PlainText, pairs: dict[str, int], added: Mapping[str, Added]
) -> dict[str, Any]:
    """Returns files, parts and splits of the recipe."""
    sources: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for split in (*SPLITS, *added):
        parts[split] = {"format": "plain", "files": {}, "lines": pairs[split]}
        if split in added:
            parts[split] |= added[split].settings
        for code, path in zip(text.languages, text.files[split], strict=True):
            name = f"{split}.{code}{path.suffix if path.suffix in PACKED else ''}"
            sources[name] = _file(folder, path)
            parts[split]["files"][code] = name
    splits: dict[str, Any] = {split: [split] for split in SPLITS}
    splits["train"] += added
    splits |= {"exclude_test": True, "exclude_valid": True}
    return {"files": sources, "parts": parts, "splits": splits}


def _file(folder: Path, path: Path) -> dict[str, Any]:
    """Returns the recipe's entry of a file."""
    state, absolute = path.stat(), path.resolve()
    # files beside the folder can move together with it
    near = absolute.is_relative_to(folder.resolve().parent)
    return {
        "path": os.path.relpath(absolute, folder.resolve()) if near else str(absolute),
        "sha256": sha256(path),
        "bytes": state.st_size,
        "modified": int(state.st_mtime),
    }
