"""Plans the commands for a table or figure, each once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UserError, check_choices
from ..evaluation.metrics import METRICS
from ..flags import flag_value
from ..papers.register import find_item, read_document
from ..papers.schema import MEASURES, SCORES, Entry, Item
from ..recipes.experiment import Experiment
from ..recipes.recipe import load
from ..recipes.settings import settings_of
from .state import COMMANDS, state_of
from .system import NeededDecoding, NeededTraining, decoding, has_recipe, layers_of

# a figure without numbers of its own → the table that has them
DRAWN_FROM = {"thesis, Figure 3.7": "thesis, Table 3.4"}
# sentences are measured in words; every other item says subword tokens
_IN_WORDS = ("context-aware, Figure 5",)
_SAMPLE_LAYERS = 4  # of a sample's narrow model, which needs the layers that rows name
_OF_RUNS = (*SCORES, "params", "train-steps", "decode-sentences", "decode-tokens")


@dataclass(frozen=True)
class Options:
    """Options of ``dc-nmt paper run``.

    Attributes:
        seeds: a training run for each
        sample: small, with about so many training pairs
        max_update: another number of updates
        text: further words for ``dc-nmt prepare``
    """

    seeds: tuple[int, ...] = (1,)
    sample: int | None = None
    max_update: int | None = None
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One command of dc-nmt.

    Attributes:
        kind: ``text``, ``training``, ``evaluation`` or ``analysis``
        words: of the command, without ``dc-nmt``
        after: places in the plan of the jobs that have to be done before
        gpus, hours: of a job on a cluster, by default; None: one GPU, one day
        output: file of standard output
    """

    kind: str
    words: tuple[str, ...]
    after: tuple[int, ...] = ()
    gpus: int | None = None
    hours: int | None = None
    output: Path | None = None

    def __str__(self) -> str:
        return f"dc-nmt {shlex.join(self.words)}" + (f" > {self.output}" if self.output else "")


@dataclass
class _Plan:
    jobs: list[Job] = field(default_factory=list)

    def add(self, job: Job) -> int:
        """Adds a job unless it exists, and returns its index."""
        if job not in self.jobs:
            self.jobs.append(job)
        return self.jobs.index(job)


def entries_of(item: Item, rows: Sequence[str] = ()) -> list[Entry]:
    """Returns the entries of an item that runs can give.

    Args:
        rows: names of rows or parts; none for all

    Raises:
        UserError: no such row, or nothing of the item can be run
    """
    place = f"{item.document}, {item.name}"
    if place in DRAWN_FROM:
        return entries_of(find_item(DRAWN_FROM[place]), rows)
    parts = {part.name: part for part in item.parts}
    check_choices("--rows", rows, dict.fromkeys([*item.rows, *parts]))
    named = {id(entry) for row in rows if row in parts for entry in parts[row].entries}
    chosen = [
        entry
        for entry in item.entries
        if not entry.system.other
        and MEASURES[entry.measure].fixed_by
        and (not rows or entry.row in rows or id(entry) in named)
    ]
    reasons = {
        id(entry): made.how
        for part in item.parts
        if (made := state_of(part)).kind == "needs"
        for entry in part.entries
    }
    found = [entry for entry in chosen if id(entry) not in reasons and has_recipe(entry)]
    if not found:
        why = [reasons[id(entry)] for entry in item.entries if id(entry) in reasons]
        reason = why[0] if why else "nothing of it is trained here"
        raise UserError(f"{place}: cannot be run: {reason}")
    return found


def plan(item: Item, rows: Sequence[str], options: Options, to: Path) -> list[Job]:
    """Returns the jobs of an item, ordered by their dependencies.

    Args:
        rows: names of rows or parts; none for all
        to: folder for the output of analyses

    Raises:
        UserError: no such row, or one that cannot be run
    """
    entries = entries_of(item, rows)
    ways = list(dict.fromkeys(_ways(entries)))
    found = _Plan()
    texts = _texts(found, ways, options)
    evaluations: dict[tuple[NeededDecoding, int], int] = {}
    for seed in options.seeds:
        for way in ways:
            trained = _training(found, way.training, seed, texts, options)
            words = ["evaluate", *_run_words(way.training, seed, options)]
            words += ["--subset", way.subset] if way.subset != "test" else []
            words += ["--as", way.name] if way.name else []
            words += way.flags
            evaluations[way, seed] = found.add(Job("evaluation", tuple(words), (trained,), gpus=1))
    _analyses(found, item, entries, evaluations, options, to)
    return found.jobs


def _ways(entries: Iterable[Entry]) -> Iterable[NeededDecoding]:
    """Yields the entries' translations, and those of their baselines."""
    for entry in entries:
        base = baseline(entry)
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


def _texts(found: _Plan, ways: Iterable[NeededDecoding], options: Options) -> dict[str, int]:
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
        places[folder] = found.add(Job("text", tuple(words)))
    return places


def _training(
    found: _Plan, training: NeededTraining, seed: int, texts: dict[str, int], options: Options
) -> int:
    recipe = load(training.task)
    settings = settings_of(recipe, training.arch, like=training.like)
    words = ["train", *_run_words(training, seed, options)]
    words += ["--max-update", str(options.max_update)] if options.max_update else []
    if options.sample and training.arch.startswith("transformer"):
        for side, number in zip(("encoder", "decoder"), layers_of(training), strict=True):
            words += [f"--{side}-layers", str(number)] if number != _SAMPLE_LAYERS else []
    words += training.flags
    job = Job("training", tuple(words), (texts[recipe.folder],), settings.gpus, settings.hours)
    return found.add(job)


def _run_words(training: NeededTraining, seed: int, options: Options) -> list[str]:
    run = training.options(seed, None, options.sample)
    words = [training.task, training.arch, "--seed", str(seed)]
    words += ["--like", run.like] if run.like else []
    words += ["--name", run.name] if run.name else []
    return words + _sample(options)


def _sample(options: Options) -> list[str]:
    return ["--sample", str(options.sample)] if options.sample else []


def _analyses(
    found: _Plan,
    item: Item,
    entries: Iterable[Entry],
    evaluations: dict[tuple[NeededDecoding, int], int],
    options: Options,
    to: Path,
) -> None:
    """Adds the analyses of an item, each with the first seed's runs together."""
    ids = {id(entry) for entry in entries}
    kinds: dict[str, dict[NeededDecoding, str]] = {}  # translations, and measures of them
    for part in item.parts:
        command = COMMANDS.get(part.by, "")
        own = [entry for entry in part.entries if id(entry) in ids]
        if command.startswith("dc-nmt analyze ") and own:
            runs = kinds.setdefault(command.removeprefix("dc-nmt "), {})
            runs.update((decoding(entry), entry.measure) for entry in own)
    for command, ways in kinds.items():
        runs_of = [way.run(options.seeds[0], None, options.sample) for way in ways]
        subset = next(iter(ways)).subset
        what = command.split()[1]
        words = [*command.split(), *(str(run.folder) for run in runs_of), "--subset", subset]
        words += _lengths(item, runs_of[0], next(iter(ways.values()))) if what == "lengths" else []
        words += ["--plot", str(to / what)]
        after = tuple(evaluations[way, options.seeds[0]] for way in ways)
        found.add(Job("analysis", tuple(words), after, gpus=1, output=to / f"{what}.txt"))


def _lengths(item: Item, run: Experiment, measure: str) -> list[str]:
    """Returns options for ``analyze lengths``: unit, groups and metric, and the run's search."""
    words = [] if f"{item.document}, {item.name}" in _IN_WORDS else ["--unit", "pieces"]
    edges = _edges(item.columns)
    words += ["--edges", ",".join(map(str, edges))] if edges else []
    if measure in SCORES and not METRICS[measure].tokenized:
        words += ["--reference", str(run.raw / f"{run.split}.{run.target}")]
        words += ["--tokenizer", flag_value(run.score, "--tokenizer") or "none"]
    return [*words, *run.decode]


def _edges(columns: Sequence[str]) -> list[int]:
    """Returns the first length of each group, from columns such as <10, 10-20, 20-30, >30.

    Groups are equally wide, so that the open one begins where another one would. Nothing where
    columns are no groups.
    """
    starts = [int(match[1]) for name in columns if (match := re.fullmatch(r"(\d+)-\d+", name))]
    if len(starts) < 2:
        return []
    edges = [*starts, 2 * starts[-1] - starts[-2]]
    return edges if columns[0].startswith("<") else edges[1:]


def of_runs(entry: Entry) -> bool:
    """Returns True if every evaluation produces an entry's number."""
    return entry.measure in _OF_RUNS
