"""Plans the commands that make a table or figure again, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...flags import flag_value
from ...laboratory.evaluation.metrics import METRICS
from ...laboratory.recipes.done import has_scores
from ...laboratory.recipes.plan import TrainPlan, plan_training
from ...laboratory.recipes.planned import Experiment, TrainOptions
from ...laboratory.recipes.preparation import TextOptions, plan_text
from ...laboratory.recipes.recipe import load
from ...laboratory.recipes.scoring import evaluation_command
from ...laboratory.recipes.sources import DOWNLOADS
from ...laboratory.steps import Command, Grid, GridRun
from .document import SCORES, Entry, Item
from .selection import NEEDED, baseline, entries_of
from .systems import NeededTraining, NeededTranslation, translation_of


@dataclass(frozen=True)
class Options:
    """Options of ``dc-nmt paper run``."""

    seeds: tuple[int, ...] = (1,)
    max_update: int | None = None
    raw: Path | None = None
    downloads: Path = DOWNLOADS
    any_counts: bool = False
    gpus: int | None = None
    probing: Path | None = None
    trees: Path | None = None

    @property
    def flags(self) -> list[str]:
        """Returns the flags of :data:`NEEDED` that are given."""
        values = (self.any_counts, self.probing, self.trees)
        return [flag for flag, value in zip(NEEDED, values, strict=True) if value]


def plan(item: Item, rows: Sequence[str], options: Options, to: Path) -> Grid:
    """Returns the texts, runs and analyses of an item, and its table.

    Args:
        to: folder for the output of analyses

    Raises:
        UserError: no such row, or one that cannot be run
    """
    entries = entries_of(item, rows, options.flags)
    trained = _trained(entries)
    translations = _translations(trained)
    texts = _texts(translations, options)
    analyses = []
    if any(entry.measure == "params" for entry in entries):
        words = ("paper", "parameters", "--item", item.full_name)
        analyses.append(Command(words, output=str(to / "params.txt")))
    shown_by = _shown_by(trained)
    if item.significance and not rows:
        shown_by[item.significance] = _with_baselines(trained)
    for seed in options.seeds:
        for by, shown in shown_by.items():
            analyses += _analyses_of(by, Shown(item, shown, options, seed, to))
    table = ["paper", "table", item.full_name, "--seeds", ",".join(map(str, options.seeds))]
    table += ["--rows", ";".join(rows)] if rows else []
    return Grid(
        _runs(translations, options),
        texts,
        list(dict.fromkeys(analyses)),
        Command(tuple(table)),
    )


def training_runs(item: Item, rows: Sequence[str], options: Options) -> list[NeededTraining]:
    """Returns the training runs of :func:`plan` for one seed."""
    translations = _translations(_trained(entries_of(item, rows, options.flags)))
    return list(dict.fromkeys(translation.training for translation in translations))


def _trained(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.measure != "params"]


def added_baselines(item: Item, rows: Sequence[str], flags: Sequence[str]) -> dict[str, list[str]]:
    """Returns the baselines that a plan adds to the chosen rows → the rows that need them."""
    trained = _trained(entries_of(item, rows, flags))
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


def _texts(translations: Iterable[NeededTranslation], options: Options) -> list[Command]:
    """Returns the preparation of each text, with all segmentations that are needed."""
    tasks: dict[str, str] = {}  # folder of the recipe → task in one of its directions
    segmentations: dict[str, dict[str, None]] = {}
    for translation in translations:
        training = translation.training
        folder = load(training.task).folder
        tasks.setdefault(folder, training.task)
        segmentations.setdefault(folder, {})[training.settings.bpe] = None
    return [
        plan_text(
            TextOptions(
                task,
                bpe=tuple(segmentations[folder]),
                raw=options.raw,
                downloads=options.downloads,
                any_counts=options.any_counts,
            )
        )
        for folder, task in tasks.items()
    ]


def _runs(translations: Sequence[NeededTranslation], options: Options) -> list[GridRun]:
    """Returns the runs: each is trained once, and translates in all ways that are needed."""
    by_training: dict[NeededTraining, list[NeededTranslation]] = {}
    for translation in translations:
        by_training.setdefault(translation.training, []).append(translation)
    several_tasks = len({training.task for training in by_training}) > 1
    runs = []
    for seed in options.seeds:
        for training, of_training in by_training.items():
            run = _run(training, of_training, seed, options)
            runs.append(replace(run, task=training.task) if several_tasks else run)
    return runs


def _run(
    training: NeededTraining,
    translations: Sequence[NeededTranslation],
    seed: int,
    options: Options,
) -> GridRun:
    plan = train_plan(training, seed, options)  # refused before the text is prepared
    evaluations = []
    for translation in translations:
        experiment, decoding = translation.experiment(seed), translation.decoding(seed)
        command = evaluation_command(
            experiment, decoding, translation.flags, hides_gpus=options.gpus == 0
        )
        evaluations.append(command)

    def is_finished() -> bool:
        return plan.is_done() and all(has_scores(needed.decoding(seed)) for needed in translations)

    return GridRun(
        plan.run.folder,
        seed,
        (plan.command, *evaluations),
        is_finished,
        plan.settings.updates,
        plan.settings.most_gpus,
    )


def train_plan(training: NeededTraining, seed: int, options: Options) -> TrainPlan:
    """Returns the plan of one training, as ``dc-nmt train`` makes it."""
    name = training.name(seed)
    run = Experiment(training.task, training.arch, seed=seed, name=name, like=training.like)
    flags = TrainOptions(training.flags, options.max_update, gpus=options.gpus)
    return plan_training(run, flags)


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

    def command(self, name: str, words: Sequence[str], plot: bool = False) -> Command:
        """Returns a command with its output in a file, and its figure beside this file."""
        if len(self.options.seeds) > 1:
            name = f"{name}-s{self.seed}"
        if plot:
            words = [*words, "--plot", str(self.to / name)]
        return Command(tuple(words), output=str(self.to / f"{name}.txt"))


def _analyses_of(by: str, shown: Shown) -> list[Command]:
    """Returns the commands of one such as ``analyze gates``; evaluations are planned already."""
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


def _analysis(words: Sequence[str], shown: Shown) -> Command:
    """Returns the command ``analyze NAME``, or of ``analyze trees --trees``, which is ParsEval."""
    name = words[0]
    analysis = ["analyze", name, *shown.folders, "--subset", shown.translations[0].subset]
    analysis += shown.published_options
    if "--trees" in words:
        name = "parseval"
        analysis += ["--trees", str(shown.options.trees)]
    if name == "lengths":
        analysis += _scoring_options(shown)
    return shown.command(name, analysis, plot=True)


def _scoring_options(shown: Shown) -> list[str]:
    """Returns the options with which ``analyze lengths`` scores as the evaluation did."""
    decoding = shown.translations[0].decoding(shown.seed)
    measure = shown.entries[0].measure
    words = []
    if measure in SCORES and not METRICS[measure].tokenized:
        words += ["--reference", str(decoding.raw_text(decoding.run.text.target))]
        words += ["--tokenizer", flag_value(decoding.score, "--tokenizer") or "none"]
    return [*words, *decoding.search]


def _probing(shown: Shown) -> Command:
    words = ["probe", *shown.folders, "--tasks", str(shown.options.probing)]
    return shown.command("probing", [*words, *shown.published_options], plot=True)


def _example_translations(shown: Shown) -> list[Command]:
    """Returns a translation of the printed sentences by each system."""
    sentences = [word for text in shown.item.sources for word in ("--sentence", text)]
    lines = []
    for translation in shown.translations:
        folder = translation.decoding(shown.seed).run.folder
        name = f"examples-{folder.name}-{translation.name}".removesuffix("-")
        words = ("translate", str(folder), *sentences, *translation.flags)
        lines.append(Command(words, output=str(shown.to / f"{name}.txt")))
    return lines


def _t_tests(shown: Shown) -> list[Command]:
    """Returns a test for each set and metric: of the baseline, then of the tested systems."""
    lines = []
    for column, measure in dict.fromkeys((entry.column, entry.measure) for entry in shown.entries):
        of_column = [entry for entry in shown.entries if entry.column == column]
        systems = []
        for translation in dict.fromkeys(map(translation_of, of_column)):
            decoding = translation.decoding(shown.seed)
            folder, key = decoding.run.folder, decoding.key
            systems.append(f"{folder}:{key}" if key else str(folder))
        words = ["compare", *systems, "--metric", measure, "--t-test"]
        lines.append(shown.command(f"t-test-{column}", words))
    return lines
