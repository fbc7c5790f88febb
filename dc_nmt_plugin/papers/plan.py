"""Plans the commands that make a table or figure again, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..recipes.recipe import load
from .analyses import Analyses
from .document import Entry, Item
from .jobs import Job, Options, add
from .selection import baseline, entries_of
from .systems import OF_TEXT, UNTRAINED, Decoding, decoding_of

_SAMPLE_LAYERS = "4"  # of a sample's narrow model, which needs the layers that rows name


def plan(item: Item, rows: Sequence[str], options: Options, to: Path) -> list[Job]:
    """Returns the jobs of an item, ordered by their dependencies.

    Args:
        rows: as of :func:`entries_of`
        to: folder for the output of analyses

    Raises:
        UserError: no such row, or one that cannot be run
    """
    entries = entries_of(item, rows, options.given)
    trained = [entry for entry in entries if entry.measure not in UNTRAINED]
    of_text = [entry for entry in entries if entry.measure in OF_TEXT]
    decodings: dict[Decoding, None] = {}
    for entry in trained:
        base = baseline(entry)
        if base is not None:
            decodings[decoding_of(base)] = None
        decodings[decoding_of(entry)] = None

    jobs: list[Job] = []
    texts = _add_texts(jobs, [*decodings, *map(decoding_of, of_text)], options)
    evaluations = {
        seed: {each: _add_evaluation(jobs, each, seed, texts, options) for each in decodings}
        for seed in options.seeds
    }
    if any(entry.measure == "params" for entry in entries):
        words = ("paper", "parameters", "--item", item.full_name)
        add(jobs, Job("analysis", words, output=to / "params.txt"))
    for entry in of_text:
        add(jobs, _counting(item, entry, texts, options, to))

    shown: dict[str, list[Entry]] = {}  # command → the entries that it shows
    for entry in trained:
        shown.setdefault(entry.by, []).append(entry)
    if item.significance and not rows:
        tested = [entry for entry in trained if entry.p is not None]
        shown[item.significance] = [*filter(None, map(baseline, tested)), *tested]
    for seed in options.seeds:
        analyses = Analyses(item, options, seed, evaluations[seed], to)
        for by, own in shown.items():
            for job in analyses.jobs(by, own):
                add(jobs, job)
    return jobs


def _add_texts(jobs: list[Job], decodings: Iterable[Decoding], options: Options) -> dict[str, int]:
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
        places[folder] = add(jobs, Job("text", words))
    return places


def _add_evaluation(
    jobs: list[Job], decoding: Decoding, seed: int, texts: Mapping[str, int], options: Options
) -> int:
    """Adds a translation after its training run."""
    training, settings = decoding.training, decoding.training.settings
    name = training.name(seed)
    run = [training.task, training.arch, "--seed", str(seed)]
    run += ["--like", training.like] if training.like else []
    run += ["--name", name] if name else []
    run += _sample(options)

    words = ["train", *run]
    words += ["--max-update", str(options.max_update)] if options.max_update else []
    if options.sample and training.arch.startswith("transformer"):
        for flag, number in training.layers().items():
            words += [flag, number] if number != _SAMPLE_LAYERS else []
    words += training.flags
    after = (texts[load(training.task).folder],)
    known = None if options.sample else training
    job = Job("training", tuple(words), after, settings.gpus, settings.hours, training=known)
    trained = add(jobs, job)

    words = ["evaluate", *run]
    words += ["--subset", decoding.subset] if decoding.subset != "test" else []
    words += ["--as", decoding.name] if decoding.name else []
    return add(jobs, Job("evaluation", (*words, *decoding.flags), (trained,), gpus=1))


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
