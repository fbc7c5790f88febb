"""Plans the commands for a table or figure, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..papers.register import read_document
from ..papers.schema import SCORES, Entry, Item, Part
from ..recipes.recipe import load
from ..recipes.settings import settings_of
from .analyses import Made, analyses, source_lengths
from .costs import cost_of, cost_of_text
from .jobs import Job, Options, Plan
from .obstacles import PEOPLE
from .selection import entries_of, entries_shown
from .system import NeededDecoding, NeededTraining, decoding, has_recipe, layers_of

_SAMPLE_LAYERS = 4  # of a sample's narrow model, which needs the layers that rows name
_OF_RUNS = (*SCORES, "params", "train-steps", "decode-sentences", "decode-tokens")
OF_TEXT = ("sentences", "length")
UNTRAINED = ("params", *OF_TEXT)  # measures of architectures and of text


def plan(item: Item, rows: Sequence[str], options: Options, to: Path) -> list[Job]:
    """Returns the jobs of an item, ordered by their dependencies.

    Args:
        rows: names of rows or parts; none for all
        to: folder for the output of analyses

    Raises:
        UserError: no such row, or one that cannot be run
    """
    entries = entries_of(item, rows, options)
    marks = [part for part in item.parts if not part.entries and (not rows or part.name in rows)]
    return plan_entries(item, entries, marks, options, to)


def plan_entries(
    item: Item,
    entries: Sequence[Entry],
    marks: Iterable[Part],
    options: Options,
    to: Path,
    against: bool = True,
) -> list[Job]:
    """Returns the jobs of entries of an item.

    Args:
        marks: parts without entries, such as the significance of the others
        against: also the runs of baselines
    """
    trained = [entry for entry in entries if entry.measure not in UNTRAINED]
    ways = list(dict.fromkeys(_ways(trained, against)))
    counted = [entry for entry in entries if entry.measure in OF_TEXT]
    found = Plan()
    texts = _texts(found, [*ways, *map(decoding, counted)], options)
    evaluations: dict[int, dict[NeededDecoding, int]] = {}
    for seed in options.seeds:
        evaluations[seed] = {way: _evaluation(found, way, seed, texts, options) for way in ways}
    if any(entry.measure == "params" for entry in entries):
        words = ("params", "--item", item.full_name)
        found.add(Job("analysis", words, output=to / "params.txt"))
    _count_lengths(found, item, counted, texts, options, to)
    ids = set(map(id, entries))
    shown: dict[str, list[Entry]] = {}
    for part in item.parts:
        own = [entry for entry in part.entries if id(entry) in ids]
        own = [entry for entry in own if entry.measure not in UNTRAINED]
        if part.by in PEOPLE and against:  # they see the systems of both sides
            own = [each for entry in own for each in (baseline(entry), entry) if each]
        shown.setdefault(part.by, []).extend(own)
    for part in marks:
        own = [entry for entry in entries_shown(item, part) if id(entry) in ids]
        bases = [base for entry in own if (base := baseline(entry))] if against else []
        shown.setdefault(part.by, []).extend([*bases, *own])
    for seed in options.seeds:
        made = Made(item, options, seed, evaluations[seed], to)
        for by, own in shown.items():
            for job in analyses(made, by, own) if own else ():
                found.add(job)
    return found.jobs


def _evaluation(
    found: Plan, way: NeededDecoding, seed: int, texts: dict[str, int], options: Options
) -> int:
    trained = _training(found, way.training, seed, texts, options)
    words = ["evaluate", *_run_words(way.training, seed, options)]
    words += ["--subset", way.subset] if way.subset != "test" else []
    words += ["--as", way.name] if way.name else []
    return found.add(Job("evaluation", (*words, *way.flags), (trained,), gpus=1))


def _count_lengths(
    found: Plan,
    item: Item,
    entries: Iterable[Entry],
    texts: dict[str, int],
    options: Options,
    to: Path,
) -> None:
    """Adds counts of source sentences by length, in the prepared text: no model is needed."""
    for entry in entries:
        way = decoding(entry)
        run = way.run(options.seeds[0], None, options.sample)
        pieces = run.binarised.with_name(run.binarised.name.replace("bin", "bpe", 1))
        folder = pieces if item.analysis["unit"] == "pieces" else run.raw / "tokenised"
        edges = source_lengths(item, entry)
        words = ("check-text", "--lengths", edges, str(folder / f"{run.split}.{run.source}"))
        after = (texts[load(way.training.task).folder],)
        name = "source-lengths" if edges == item.analysis["edges"] else f"source-lengths-{edges}"
        found.add(Job("analysis", words, after, output=to / f"{name}.txt"))


def _ways(entries: Iterable[Entry], against: bool) -> Iterable[NeededDecoding]:
    """Yields the entries' translations, and those of their baselines."""
    for entry in entries:
        base = baseline(entry) if against else None
        if base is not None:
            yield decoding(base)
        yield decoding(entry)


def baseline(entry: Entry) -> Entry | None:
    """Returns the entry of the baseline, if runs can give it.

    It is a row of its item, or a system that has numbers elsewhere in the document.
    """
    if is_masked(entry):
        whole = {k: v for k, v in entry.decoding.items() if k != "mask_source_layers"}
        return _changed(entry, decoding=whole)
    ours = [e for e in read_document(entry.document).entries if not e.system.other]
    places = (entry.item, entry.against, entry.column)
    found = [e for e in ours if (e.item, e.row, e.column) == places]
    found = found or [e for e in ours if e.system.name == entry.against and _alike(e, entry)]
    # a system's rows may have flags on top of its own
    base = min(found, key=lambda e: len(e.system.flags), default=None)
    return None if base is entry else base


def is_masked(entry: Entry) -> bool:
    """Returns True if encoder layers are masked; the comparison is with the same unmasked model."""
    return bool(entry.decoding.get("mask_source_layers"))


def _alike(one: Entry, other: Entry) -> bool:
    """Returns True if two entries have the same training, test set and search."""
    names = ("task", "direction", "subset", "training", "decoding")
    alike = all(getattr(one, name) == getattr(other, name) for name in names)
    return alike and one.measure in SCORES and one.part == "main"


def _changed(entry: Entry, **values: object) -> Entry:
    return Entry(**{**vars(entry), **values})


def _texts(found: Plan, ways: Iterable[NeededDecoding], options: Options) -> dict[str, int]:
    """Returns a preparation for each text, with all segmentations that are needed."""
    wanted: dict[str, tuple[str, dict[str, None]]] = {}
    for way in ways:
        training = way.training
        recipe = load(training.task)
        bpe = settings_of(recipe, training.arch, like=training.like).bpe
        wanted.setdefault(recipe.folder, (training.task, {}))[1][bpe] = None
    places = {}
    for folder, (task, names) in wanted.items():
        words = ["prepare", task, "--bpe", *names, *_sample(options), *options.text]
        cost = None if options.sample else cost_of_text(task)
        places[folder] = found.add(Job("text", tuple(words), cost=cost))
    return places


def _training(
    found: Plan, training: NeededTraining, seed: int, texts: dict[str, int], options: Options
) -> int:
    recipe = load(training.task)
    settings = settings_of(recipe, training.arch, like=training.like)
    words = ["train", *_run_words(training, seed, options)]
    words += ["--max-update", str(options.max_update)] if options.max_update else []
    if options.sample and training.arch.startswith("transformer"):
        for side, number in zip(("encoder", "decoder"), layers_of(training), strict=True):
            words += [f"--{side}-layers", str(number)] if number != _SAMPLE_LAYERS else []
    words += training.flags
    after, cost = texts[recipe.folder], None
    if not options.sample:
        cost = cost_of(training, options.max_update)
    job = Job("training", tuple(words), (after,), settings.gpus, settings.hours, cost=cost)
    return found.add(job)


def _run_words(training: NeededTraining, seed: int, options: Options) -> list[str]:
    run = training.options(seed, None, options.sample)
    words = [training.task, training.arch, "--seed", str(seed)]
    words += ["--like", run.like] if run.like else []
    words += ["--name", run.name] if run.name else []
    return words + _sample(options)


def _sample(options: Options) -> list[str]:
    return ["--sample", str(options.sample)] if options.sample else []


def of_runs(entry: Entry) -> bool:
    """Returns True if every evaluation produces an entry's number."""
    return entry.measure in _OF_RUNS and has_recipe(entry)
