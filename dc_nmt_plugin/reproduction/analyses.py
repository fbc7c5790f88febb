"""The analyses of a table or figure, as jobs that follow its runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..evaluation.metrics import METRICS
from ..flags import flag_value
from ..papers.schema import SCORES, Entry, Item
from ..recipes.experiment import Experiment
from .jobs import Job, Options
from .producers import analysis_of
from .system import NeededDecoding, decoding

_LARGE = ("sentences", "index")  # options that a sample's small text may not have


@dataclass(frozen=True)
class Made:
    """Holds the runs of one seed that an item's analyses read.

    Attributes:
        item: the table or figure
        options: of the plan
        seed: of the runs
        evaluations: translation → place of its evaluation in the plan
        to: folder for the output
    """

    item: Item
    options: Options
    seed: int
    evaluations: Mapping[NeededDecoding, int]
    to: Path

    def run(self, way: NeededDecoding) -> Experiment:
        return way.run(self.seed, None, self.options.sample)

    def folders(self, ways: Iterable[NeededDecoding]) -> list[str]:
        """Returns the folders of the runs, each once."""
        return list(dict.fromkeys(str(self.run(way).folder) for way in ways))

    def job(
        self, name: str, words: Sequence[str], ways: Iterable[NeededDecoding], plot: bool = False
    ) -> Job:
        """Returns a job after the evaluations of its runs, with its output in a file."""
        if len(self.options.seeds) > 1:
            name = f"{name}-s{self.seed}"
        words = [*words, "--plot", str(self.to / name)] if plot else words
        after = tuple(dict.fromkeys(self.evaluations[way] for way in ways))
        return Job("analysis", tuple(words), after, gpus=1, output=self.to / f"{name}.txt")

    def published_options(self) -> list[str]:
        """Returns the options that the register has for the item."""
        return [
            word
            for name, value in self.item.analysis.items()
            if not (self.options.sample and name in _LARGE)
            for word in (f"--{name}", value)
        ]


def analyses(made: Made, by: str, entries: Sequence[Entry]) -> Iterator[Job]:
    """Yields the jobs with which a producer makes entries of an item."""
    ways = list(dict.fromkeys(decoding(entry) for entry in entries))
    if analysis_of(by):
        yield _of_models(made, by, ways, entries)
    elif by == "probing":
        words = ["probe", *made.folders(ways), "--tasks", made.options.files[by]]
        yield made.job(by, [*words, *made.published_options()], ways, plot=True)
    elif by == "examples":
        yield from _examples(made, ways)
    elif by == "t-test":
        yield from _t_tests(made, entries)


def _of_models(
    made: Made, by: str, ways: Sequence[NeededDecoding], entries: Sequence[Entry]
) -> Job:
    what = analysis_of(by)
    words = ["analyze", what, *made.folders(ways), "--subset", ways[0].subset]
    words += made.published_options()
    if by == "parseval":
        words += ["--trees", made.options.files[by]]
    if what == "lengths":
        words += _scored(made.run(ways[0]), entries[0].measure)
    return made.job(what if by != "parseval" else by, words, ways, plot=True)


def _scored(run: Experiment, measure: str) -> list[str]:
    """Returns options for ``analyze lengths``: the metric's text, and the run's search."""
    words = []
    if measure in SCORES and not METRICS[measure].tokenized:
        words += ["--reference", str(run.raw / f"{run.split}.{run.target}")]
        words += ["--tokenizer", flag_value(run.score, "--tokenizer") or "none"]
    return [*words, *run.decode]


def _examples(made: Made, ways: Iterable[NeededDecoding]) -> Iterator[Job]:
    """Yields a translation of the printed sentences for each decoder."""
    given = [word for text in made.item.sources for word in ("--sentence", text)]
    for way in ways:
        folder = made.run(way).folder
        name = "-".join(filter(None, ("examples", folder.name, way.name)))
        words = ["translate", str(folder), *given, *way.flags]
        job = Job("analysis", tuple(words), (made.evaluations[way],), gpus=1)
        yield Job(**{**vars(job), "output": made.to / f"{name}.txt"})


def _t_tests(made: Made, entries: Sequence[Entry]) -> Iterator[Job]:
    """Yields a test of each set and metric: the baseline, then the systems with a printed p."""
    columns = dict.fromkeys((entry.column, entry.measure) for entry in entries)
    for column, measure in columns:
        own = [entry for entry in entries if entry.column == column]
        ways = list(dict.fromkeys(decoding(entry) for entry in own))
        runs = [":".join(filter(None, (str(run.folder), run.way))) for run in map(made.run, ways)]
        words = ["compare", *runs, "--metric", measure, "--t-test"]
        yield made.job(f"t-test-{column}", words, ways)


def source_lengths(item: Item, entry: Entry) -> str:
    """Returns the groups of lengths of one entry: its own, such as ``<31``, else the item's."""
    own = re.fullmatch(r"<(\d+)", entry.of)
    return own[1] if own else item.analysis["edges"]
