"""Plans the commands that make a table or figure again, each once, and runs them."""

from __future__ import annotations

import contextlib
import importlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError
from ..evaluation.metrics import METRICS
from ..files import writing
from ..flags import flag_value
from ..recipes.recipe import load
from ..recipes.settings import with_updates
from .document import SCORES, Entry, Item
from .selection import NEEDED, baseline, entries_of
from .systems import Decoding, Training, decoding_of


@dataclass(frozen=True)
class Options:
    """Options of ``dc-nmt paper run``.

    Attributes:
        seeds: a training run for each
        max_update: another number of updates
        text: further words for ``dc-nmt prepare``
        any_counts: train on the pairs that are there
        probing, trees: the user's files
    """

    seeds: tuple[int, ...] = (1,)
    max_update: int | None = None
    text: tuple[str, ...] = ()
    any_counts: bool = False
    probing: Path | None = None
    trees: Path | None = None

    @property
    def flags(self) -> list[str]:
        """Returns the flags of :data:`NEEDED` that are given."""
        values = (self.any_counts, self.probing, self.trees)
        return [flag for flag, value in zip(NEEDED, values, strict=True) if value]


@dataclass(frozen=True)
class Job:
    """One command of dc-nmt.

    Attributes:
        words: of the command, without ``dc-nmt``
        output: file of standard output
        training: the run; None for other commands
    """

    words: tuple[str, ...]
    output: Path | None = None
    training: Training | None = None

    def __str__(self) -> str:
        return f"dc-nmt {shlex.join(self.words)}" + (f" > {self.output}" if self.output else "")


def plan(item: Item, rows: Sequence[str], options: Options, to: Path) -> list[Job]:
    """Returns the jobs of an item; each follows the jobs whose files it needs.

    Args:
        rows: as of :func:`entries_of`
        to: folder for the output of analyses

    Raises:
        UserError: no such row, or one that cannot be run
    """
    entries = entries_of(item, rows, options.flags)
    trained = [entry for entry in entries if entry.measure != "params"]
    decodings: dict[Decoding, None] = {}
    for entry in trained:
        base = baseline(entry)
        if base is not None:
            decodings[decoding_of(base)] = None
        decodings[decoding_of(entry)] = None

    jobs = _texts(decodings, options)
    for seed in options.seeds:
        for decoding in decodings:
            jobs += _training_and_evaluation(decoding, seed, options)
    if any(entry.measure == "params" for entry in entries):
        words = ("paper", "parameters", "--item", item.full_name)
        jobs.append(Job(words, output=to / "params.txt"))

    shown: dict[str, list[Entry]] = {}  # command → the entries that it shows
    for entry in trained:
        shown.setdefault(entry.by, []).append(entry)
    if item.significance and not rows:
        tested = [entry for entry in trained if entry.p is not None]
        shown[item.significance] = [*filter(None, map(baseline, tested)), *tested]
    for seed in options.seeds:
        for by, own in shown.items():
            jobs += _analyses(item, by, own, options, seed, to)
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
    if options.max_update:  # refuses too few updates before the text is prepared
        with_updates(training.settings, options.max_update, warmup=None)
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


def _analyses(
    item: Item, by: str, entries: Sequence[Entry], options: Options, seed: int, to: Path
) -> Iterator[Job]:
    """Yields the jobs with which a command, such as ``analyze gates``, makes entries of a seed."""
    decodings = list(dict.fromkeys(decoding_of(entry) for entry in entries))
    runs = [decoding.run(seed) for decoding in decodings]
    folders = list(dict.fromkeys(str(run.folder) for run in runs))
    # the published options of the analysis
    published = [word for name, value in item.analysis.items() for word in (f"--{name}", value)]

    def job(name: str, words: Sequence[str], plot: bool = False) -> Job:
        """Returns a job with its output in a file, and its figure beside this file."""
        if len(options.seeds) > 1:
            name = f"{name}-s{seed}"
        words = [*words, "--plot", str(to / name)] if plot else words
        return Job(tuple(words), output=to / f"{name}.txt")

    command, *words = by.split()
    if command == "analyze":
        name = words[0]
        analysis = ["analyze", name, *folders, "--subset", decodings[0].subset, *published]
        if "--trees" in words:
            name = "parseval"
            analysis += ["--trees", str(options.trees)]
        if name == "lengths":
            run, measure = runs[0], entries[0].measure
            if measure in SCORES and not METRICS[measure].tokenized:
                analysis += ["--reference", str(run.raw / f"{run.split}.{run.target}")]
                analysis += ["--tokenizer", flag_value(run.score, "--tokenizer") or "none"]
            analysis += run.decode
        yield job(name, analysis, plot=True)
    elif command == "probe":
        probing = ["probe", *folders, "--tasks", str(options.probing), *published]
        yield job("probing", probing, plot=True)
    elif command == "translate":
        sentences = [word for text in item.sources for word in ("--sentence", text)]
        for decoding, run in zip(decodings, runs, strict=True):
            name = f"examples-{run.folder.name}-{decoding.name}".removesuffix("-")
            translation = ("translate", str(run.folder), *sentences, *decoding.flags)
            yield Job(translation, output=to / f"{name}.txt")
    elif words == ["--t-test"]:  # of each set and metric: the baseline, then the tested systems
        for column, measure in dict.fromkeys((entry.column, entry.measure) for entry in entries):
            own = [entry for entry in entries if entry.column == column]
            systems = []
            for run in (each.run(seed) for each in dict.fromkeys(map(decoding_of, own))):
                systems.append(f"{run.folder}:{run.key}" if run.key else str(run.folder))
            yield job(f"t-test-{column}", ["compare", *systems, "--metric", measure, "--t-test"])


def run_jobs(jobs: Sequence[Job]) -> None:
    """Runs the jobs of a plan, one after the other.

    Skips finished texts, training runs and evaluations; always repeats analyses.

    Raises:
        UserError: a job failed
    """
    for number, job in enumerate(jobs, 1):
        print(f"[{number}/{len(jobs)}] {job}", flush=True)
        name = job.words[0].replace("-", "_")
        main = importlib.import_module(f"dc_nmt_plugin.commands.{name}").main
        if job.output is None:
            code = main(list(job.words[1:]))
        else:
            job.output.parent.mkdir(parents=True, exist_ok=True)
            with writing(job.output) as out, contextlib.redirect_stdout(out):
                code = main(list(job.words[1:]))
        if code:
            raise UserError(f"failed: {job}")
