"""The analyses of a table or figure, as jobs that follow its runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..evaluation.metrics import METRICS
from ..flags import flag_value
from ..recipes.experiment import Experiment
from .document import SCORES, Entry, Item
from .jobs import Job, Options
from .systems import Decoding, decoding_of

_LARGE = ("sentences", "index")  # options that a sample's small text may not have


@dataclass(frozen=True)
class Runs:
    """The runs of one seed that an item's analyses read.

    Attributes:
        evaluations: translation → place of its evaluation in the plan
        to: folder for the output
    """

    item: Item
    options: Options
    seed: int
    evaluations: Mapping[Decoding, int]
    to: Path

    def run(self, decoding: Decoding) -> Experiment:
        return decoding.run(self.seed, self.options.sample)

    def folders(self, decodings: Iterable[Decoding]) -> list[str]:
        """Returns the folders of the runs, each once."""
        return list(dict.fromkeys(str(self.run(each).folder) for each in decodings))

    def job(
        self, name: str, words: Sequence[str], decodings: Iterable[Decoding], plot: bool = False
    ) -> Job:
        """Returns a job after the evaluations of its runs, with its output in a file."""
        if len(self.options.seeds) > 1:
            name = f"{name}-s{self.seed}"
        words = [*words, "--plot", str(self.to / name)] if plot else words
        after = tuple(dict.fromkeys(self.evaluations[each] for each in decodings))
        return Job("analysis", tuple(words), after, gpus=1, output=self.to / f"{name}.txt")

    def published_options(self) -> list[str]:
        """Returns the published options of the item's analysis."""
        words = []
        for name, value in self.item.analysis.items():
            if not (self.options.sample and name in _LARGE):
                words += [f"--{name}", value]
        return words


def analyses(runs: Runs, by: str, entries: Sequence[Entry]) -> Iterator[Job]:
    """Yields the jobs with which a command makes entries of an item.

    Args:
        by: of a part, such as ``analyze gates``
    """
    decodings = list(dict.fromkeys(decoding_of(entry) for entry in entries))
    command, *words = by.split()
    if command == "analyze":
        yield _analysis(runs, words, decodings, entries[0].measure)
    elif command == "probe":
        words = ["probe", *runs.folders(decodings), "--tasks", str(runs.options.probing)]
        yield runs.job("probing", [*words, *runs.published_options()], decodings, plot=True)
    elif command == "translate":
        yield from _translations(runs, decodings)
    elif words == ["--t-test"]:
        yield from _t_tests(runs, entries)


def _analysis(runs: Runs, by: Sequence[str], decodings: Sequence[Decoding], measure: str) -> Job:
    what = by[0]
    words = ["analyze", what, *runs.folders(decodings), "--subset", decodings[0].subset]
    words += runs.published_options()
    name = what
    if "--trees" in by:
        name = "parseval"
        words += ["--trees", str(runs.options.trees)]
    if what == "lengths":
        run = runs.run(decodings[0])
        if measure in SCORES and not METRICS[measure].tokenized:
            words += ["--reference", str(run.raw / f"{run.split}.{run.target}")]
            words += ["--tokenizer", flag_value(run.score, "--tokenizer") or "none"]
        words += run.decode
    return runs.job(name, words, decodings, plot=True)


def _translations(runs: Runs, decodings: Iterable[Decoding]) -> Iterator[Job]:
    """Yields a translation of the printed sentences for each decoder."""
    sentences = [word for text in runs.item.sources for word in ("--sentence", text)]
    for each in decodings:
        folder = runs.run(each).folder
        name = "-".join(filter(None, ("examples", folder.name, each.name)))
        words = ("translate", str(folder), *sentences, *each.flags)
        after = (runs.evaluations[each],)
        yield Job("analysis", words, after, gpus=1, output=runs.to / f"{name}.txt")


def _t_tests(runs: Runs, entries: Sequence[Entry]) -> Iterator[Job]:
    """Yields a test of each set and metric: the baseline, then the systems with a printed p."""
    for column, measure in dict.fromkeys((entry.column, entry.measure) for entry in entries):
        own = [entry for entry in entries if entry.column == column]
        decodings = list(dict.fromkeys(decoding_of(entry) for entry in own))
        systems = []
        for run in map(runs.run, decodings):
            systems.append(f"{run.folder}:{run.way}" if run.way else str(run.folder))
        words = ["compare", *systems, "--metric", measure, "--t-test"]
        yield runs.job(f"t-test-{column}", words, decodings)
