"""Plans the commands that make a table or figure again, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..recipes.recipe import load
from .analyses import Analyses
from .document import Entry, Item
from .jobs import Job, Options
from .selection import baseline, entries_of
from .systems import OF_TEXT, UNTRAINED, Decoding, decoding_of


def plan(item: Item, rows: Sequence[str], options: Options, to: Path) -> list[Job]:
    """Returns the jobs of an item; each follows the jobs whose files it needs.

    Args:
        rows: as of :func:`entries_of`
        to: folder for the output of analyses

    Raises:
        UserError: no such row, or one that cannot be run
    """
    entries = entries_of(item, rows, options.flags)
    trained = [entry for entry in entries if entry.measure not in UNTRAINED]
    of_text = [entry for entry in entries if entry.measure in OF_TEXT]
    decodings: dict[Decoding, None] = {}
    for entry in trained:
        base = baseline(entry)
        if base is not None:
            decodings[decoding_of(base)] = None
        decodings[decoding_of(entry)] = None

    jobs = _texts([*decodings, *map(decoding_of, of_text)], options)
    for seed in options.seeds:
        for decoding in decodings:
            jobs += _training_and_evaluation(decoding, seed, options)
    if any(entry.measure == "params" for entry in entries):
        words = ("paper", "parameters", "--item", item.full_name)
        jobs.append(Job(words, output=to / "params.txt"))
    jobs += [_counting(item, entry, options, to) for entry in of_text]

    shown: dict[str, list[Entry]] = {}  # command → the entries that it shows
    for entry in trained:
        shown.setdefault(entry.by, []).append(entry)
    if item.significance and not rows:
        tested = [entry for entry in trained if entry.p is not None]
        shown[item.significance] = [*filter(None, map(baseline, tested)), *tested]
    for seed in options.seeds:
        analyses = Analyses(item, options, seed, to)
        for by, own in shown.items():
            jobs += analyses.jobs(by, own)
    return list(dict.fromkeys(jobs))


def _texts(decodings: Iterable[Decoding], options: Options) -> list[Job]:
    """Returns the preparation of each text, with all segmentations that are needed."""
    tasks: dict[str, str] = {}  # folder of the recipe → task in one of its directions
    segmentations: dict[str, dict[str, None]] = {}
    for each in decodings:
        folder = load(each.training.task).folder
        tasks.setdefault(folder, each.training.task)
        segmentations.setdefault(folder, {})[each.training.settings.bpe] = None
    return [
        Job(("prepare", task, "--bpe", *segmentations[folder], *options.text))
        for folder, task in tasks.items()
    ]


def _training_and_evaluation(decoding: Decoding, seed: int, options: Options) -> list[Job]:
    training = decoding.training
    name = training.name(seed)
    run = [training.task, training.arch, "--seed", str(seed)]
    run += ["--like", training.like] if training.like else []
    run += ["--name", name] if name else []

    words = ["train", *run]
    words += ["--max-update", str(options.max_update)] if options.max_update else []
    train = Job((*words, *training.flags), training=training)

    words = ["evaluate", *run]
    words += ["--subset", decoding.subset] if decoding.subset != "test" else []
    words += ["--as", decoding.name] if decoding.name else []
    return [train, Job((*words, *decoding.flags))]


def _counting(item: Item, entry: Entry, options: Options, to: Path) -> Job:
    """Returns the job that counts source sentences by length; it needs no model."""
    run = decoding_of(entry).run(options.seeds[0])
    pieces = run.binarised.with_name(run.binarised.name.replace("bin", "bpe", 1))
    folder = pieces if item.analysis["unit"] == "pieces" else run.raw / "tokenised"
    own = re.fullmatch(r"<(\d+)", entry.of)  # a group of its own, such as <31
    edges = own[1] if own else item.analysis["edges"]
    words = ("check-text", "--lengths", edges, str(folder / f"{run.split}.{run.source}"))
    name = f"source-lengths-{edges}" if own else "source-lengths"
    return Job(words, output=to / f"{name}.txt")
