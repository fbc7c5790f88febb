"""Plans the commands that make a table or figure again, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..recipes.recipe import load
from .analyses import Runs, analyses
from .document import Entry, Item
from .jobs import Job, Jobs, Options
from .selection import baseline, entries_of, entries_shown
from .systems import OF_TEXT, UNTRAINED, Decoding, Training, decoding_of

_SAMPLE_LAYERS = "4"  # of a sample's narrow model, which needs the layers that rows name


def plan(item: Item, rows: Sequence[str], options: Options, to: Path) -> list[Job]:
    """Returns the jobs of an item, ordered by their dependencies.

    Args:
        rows: names of rows or parts; none for all
        to: folder for the output of analyses

    Raises:
        UserError: no such row, or one that cannot be run
    """
    entries = entries_of(item, rows, options.given)
    found = Jobs()
    trained = [entry for entry in entries if entry.measure not in UNTRAINED]
    decodings = list(dict.fromkeys(_decodings(trained)))
    of_text = [entry for entry in entries if entry.measure in OF_TEXT]
    texts = _add_texts(found, [*decodings, *map(decoding_of, of_text)], options)
    evaluations = {
        seed: {each: _add_evaluation(found, each, seed, texts, options) for each in decodings}
        for seed in options.seeds
    }
    if any(entry.measure == "params" for entry in entries):
        words = ("paper", "parameters", "--item", item.full_name)
        found.add(Job("analysis", words, output=to / "params.txt"))
    for entry in of_text:
        found.add(_counting(item, entry, texts, options, to))

    cells = {entry.cell for entry in entries}
    shown: dict[str, list[Entry]] = {}  # command → the entries that it shows
    for part in item.parts:
        own = [entry for entry in part.entries if entry.cell in cells]
        shown.setdefault(part.by, []).extend(e for e in own if e.measure not in UNTRAINED)
    for part in item.parts:
        if not part.entries and (not rows or part.name in rows):
            own = [entry for entry in entries_shown(item, part) if entry.cell in cells]
            bases = [base for base in map(baseline, own) if base]
            shown.setdefault(part.by, []).extend([*bases, *own])
    for seed in options.seeds:
        runs = Runs(item, options, seed, evaluations[seed], to)
        for by, own in shown.items():
            for job in analyses(runs, by, own) if own else ():
                found.add(job)
    return found.jobs


def _decodings(entries: Iterable[Entry]) -> Iterable[Decoding]:
    """Yields the translations of entries, each after that of its baseline."""
    for entry in entries:
        base = baseline(entry)
        if base is not None:
            yield decoding_of(base)
        yield decoding_of(entry)


def _add_texts(found: Jobs, decodings: Iterable[Decoding], options: Options) -> dict[str, int]:
    """Adds the preparation of each text, with all segmentations that are needed.

    Returns:
        folder of the recipe → place of the job
    """
    needed: dict[str, tuple[str, dict[str, None]]] = {}
    for each in decodings:
        training = each.training
        folder = load(training.task).folder
        needed.setdefault(folder, (training.task, {}))[1][training.settings.bpe] = None
    places = {}
    for folder, (task, names) in needed.items():
        words = ("prepare", task, "--bpe", *names, *_sample(options), *options.text)
        places[folder] = found.add(Job("text", words))
    return places


def _add_evaluation(
    found: Jobs, decoding: Decoding, seed: int, texts: Mapping[str, int], options: Options
) -> int:
    training = decoding.training
    trained = _add_training(found, training, seed, texts, options)
    words = ["evaluate", *_run_words(training, seed, options)]
    words += ["--subset", decoding.subset] if decoding.subset != "test" else []
    words += ["--as", decoding.name] if decoding.name else []
    return found.add(Job("evaluation", (*words, *decoding.flags), (trained,), gpus=1))


def _add_training(
    found: Jobs, training: Training, seed: int, texts: Mapping[str, int], options: Options
) -> int:
    words = ["train", *_run_words(training, seed, options)]
    words += ["--max-update", str(options.max_update)] if options.max_update else []
    if options.sample and training.arch.startswith("transformer"):
        for flag, number in training.layers().items():
            words += [flag, number] if number != _SAMPLE_LAYERS else []
    settings = training.settings
    job = Job(
        "training",
        (*words, *training.flags),
        (texts[load(training.task).folder],),
        settings.gpus,
        settings.hours,
        training=None if options.sample else training,
    )
    return found.add(job)


def _run_words(training: Training, seed: int, options: Options) -> list[str]:
    name = training.name(seed)
    words = [training.task, training.arch, "--seed", str(seed)]
    words += ["--like", training.like] if training.like else []
    words += ["--name", name] if name else []
    return words + _sample(options)


def _sample(options: Options) -> list[str]:
    return ["--sample", str(options.sample)] if options.sample else []


def _counting(
    item: Item, entry: Entry, texts: Mapping[str, int], options: Options, to: Path
) -> Job:
    """Returns the job that counts source sentences by length; it needs no model."""
    decoding = decoding_of(entry)
    run = decoding.run(options.seeds[0], options.sample)
    pieces = run.binarised.with_name(run.binarised.name.replace("bin", "bpe", 1))
    folder = pieces if item.analysis["unit"] == "pieces" else run.raw / "tokenised"
    own = re.fullmatch(r"<(\d+)", entry.of)  # a group of its own, such as <31
    edges = own[1] if own else item.analysis["edges"]
    words = ("check-text", "--lengths", edges, str(folder / f"{run.split}.{run.source}"))
    name = f"source-lengths-{edges}" if own else "source-lengths"
    after = (texts[load(decoding.training.task).folder],)
    return Job("analysis", words, after, output=to / f"{name}.txt")
