"""Plans the commands that make a table or figure again, each once, and runs them."""

from __future__ import annotations

import contextlib
import importlib
import shlex
from collections.abc import Iterable, Sequence
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
from .systems import NeededTraining, NeededTranslation, translation_of


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
    training: NeededTraining | None = None

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
    translations = _translations(trained)
    jobs = _texts(translations, options)
    for seed in options.seeds:
        for translation in translations:
            jobs += _training_and_evaluation(translation, seed, options)
    if any(entry.measure == "params" for entry in entries):
        words = ("paper", "parameters", "--item", item.full_name)
        jobs.append(Job(words, output=to / "params.txt"))
    shown_by = _shown_by(trained)
    if item.significance and not rows:
        shown_by[item.significance] = _with_baselines(trained)
    for seed in options.seeds:
        for by, shown in shown_by.items():
            jobs += _jobs_of(by, Shown(item, shown, options, seed, to))
    return list(dict.fromkeys(jobs))


def added_baselines(item: Item, rows: Sequence[str], flags: Sequence[str]) -> dict[str, list[str]]:
    """Returns the baselines that a plan adds to the chosen rows → the rows that need them.

    Args:
        rows, flags: as of :func:`entries_of`
    """
    trained = [entry for entry in entries_of(item, rows, flags) if entry.measure != "params"]
    chosen = {translation_of(entry) for entry in trained}
    added: dict[str, list[str]] = {}
    for entry in trained:
        base = baseline(entry)
        if base is not None and translation_of(base) not in chosen:
            name = base.row if base.item == item.name else f"{base.item}, {base.row}"
            if base.cell == entry.cell:  # the same system, decoded in another way
                name = f"{base.row} as it is"
            added.setdefault(name, []).append(entry.row)
    return {name: list(dict.fromkeys(rows)) for name, rows in added.items()}


def _translations(entries: Iterable[Entry]) -> list[NeededTranslation]:
    """Returns the translations that entries and their baselines need, each once."""
    needed = []
    for entry in entries:
        base = baseline(entry)
        if base is not None:
            needed.append(translation_of(base))
        needed.append(translation_of(entry))
    return list(dict.fromkeys(needed))


def _shown_by(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Returns command → the entries that it shows."""
    shown_by: dict[str, list[Entry]] = {}
    for entry in entries:
        shown_by.setdefault(entry.by, []).append(entry)
    return shown_by


def _with_baselines(entries: Iterable[Entry]) -> list[Entry]:
    """Returns the baselines of the entries with a printed p, and these entries."""
    tested = [entry for entry in entries if entry.p is not None]
    return [*filter(None, map(baseline, tested)), *tested]


def _texts(translations: Iterable[NeededTranslation], options: Options) -> list[Job]:
    """Returns the preparation of each text, with all segmentations that are needed."""
    tasks: dict[str, str] = {}  # folder of the recipe → task in one of its directions
    segmentations: dict[str, dict[str, None]] = {}
    for translation in translations:
        training = translation.training
        folder = load(training.task).folder
        tasks.setdefault(folder, training.task)
        segmentations.setdefault(folder, {})[training.settings.bpe] = None
    return [
        Job(("prepare", task, "--bpe", *segmentations[folder], *options.text))
        for folder, task in tasks.items()
    ]


def _training_and_evaluation(
    translation: NeededTranslation, seed: int, options: Options
) -> list[Job]:
    training = translation.training
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
    words += ["--subset", translation.subset] if translation.subset != "test" else []
    words += ["--as", translation.name] if translation.name else []
    return [train, Job((*words, *translation.flags))]


# -- the commands that show numbers: one function for each kind -------------------------------


@dataclass(frozen=True)
class Shown:
    """Entries of an item that one command shows, for one seed; `to` is the folder of its output."""

    item: Item
    entries: Sequence[Entry]
    options: Options
    seed: int
    to: Path

    @property
    def translations(self) -> list[NeededTranslation]:
        return list(dict.fromkeys(translation_of(entry) for entry in self.entries))

    @property
    def folders(self) -> list[str]:
        """Returns the folders of the runs, each once."""
        runs = [translation.decoding(self.seed).run for translation in self.translations]
        return list(dict.fromkeys(str(run.folder) for run in runs))

    @property
    def published_options(self) -> list[str]:
        """Returns the published options of the analysis, as words of a command line."""
        return [word for name, value in self.item.analysis.items() for word in (f"--{name}", value)]

    def job(self, name: str, words: Sequence[str], plot: bool = False) -> Job:
        """Returns a job with its output in a file, and its figure beside this file."""
        if len(self.options.seeds) > 1:
            name = f"{name}-s{self.seed}"
        if plot:
            words = [*words, "--plot", str(self.to / name)]
        return Job(tuple(words), output=self.to / f"{name}.txt")


def _jobs_of(by: str, shown: Shown) -> list[Job]:
    """Returns the jobs of a command such as ``analyze gates``; evaluations are planned already."""
    command, *words = by.split()
    if command == "analyze":
        return [_analysis(words, shown)]
    if command == "probe":
        return [_probing(shown)]
    if command == "translate":
        return _example_translations(shown)
    if words == ["--t-test"]:
        return _t_tests(shown)
    return []


def _analysis(words: Sequence[str], shown: Shown) -> Job:
    """Returns the job of ``analyze NAME``, or of ``analyze trees --trees``, which is ParsEval."""
    name = words[0]
    analysis = ["analyze", name, *shown.folders, "--subset", shown.translations[0].subset]
    analysis += shown.published_options
    if "--trees" in words:
        name = "parseval"
        analysis += ["--trees", str(shown.options.trees)]
    if name == "lengths":
        analysis += _scoring_options(shown)
    return shown.job(name, analysis, plot=True)


def _scoring_options(shown: Shown) -> list[str]:
    """Returns the options with which ``analyze lengths`` scores as the evaluation did."""
    decoding = shown.translations[0].decoding(shown.seed)
    measure = shown.entries[0].measure
    words = []
    if measure in SCORES and not METRICS[measure].tokenized:
        words += ["--reference", str(decoding.raw_text(decoding.run.text.target))]
        words += ["--tokenizer", flag_value(decoding.score, "--tokenizer") or "none"]
    return [*words, *decoding.search]


def _probing(shown: Shown) -> Job:
    words = ["probe", *shown.folders, "--tasks", str(shown.options.probing)]
    return shown.job("probing", [*words, *shown.published_options], plot=True)


def _example_translations(shown: Shown) -> list[Job]:
    """Returns a translation of the printed sentences by each system."""
    sentences = [word for text in shown.item.sources for word in ("--sentence", text)]
    jobs = []
    for translation in shown.translations:
        folder = translation.decoding(shown.seed).run.folder
        name = f"examples-{folder.name}-{translation.name}".removesuffix("-")
        words = ("translate", str(folder), *sentences, *translation.flags)
        jobs.append(Job(words, output=shown.to / f"{name}.txt"))
    return jobs


def _t_tests(shown: Shown) -> list[Job]:
    """Returns a test for each set and metric: of the baseline, then of the tested systems."""
    jobs = []
    for column, measure in dict.fromkeys((entry.column, entry.measure) for entry in shown.entries):
        of_column = [entry for entry in shown.entries if entry.column == column]
        systems = []
        for translation in dict.fromkeys(map(translation_of, of_column)):
            decoding = translation.decoding(shown.seed)
            folder, key = decoding.run.folder, decoding.key
            systems.append(f"{folder}:{key}" if key else str(folder))
        words = ["compare", *systems, "--metric", measure, "--t-test"]
        jobs.append(shown.job(f"t-test-{column}", words))
    return jobs


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
