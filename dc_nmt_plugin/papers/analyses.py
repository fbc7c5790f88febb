"""The analyses of a table or figure, as jobs that follow its runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..evaluation.metrics import METRICS
from ..flags import flag_value
from .document import SCORES, Entry, Item
from .jobs import Job, Options
from .systems import Decoding, decoding_of


@dataclass(frozen=True)
class Analyses:
    """Makes the analyses of an item's runs of one seed.

    Attributes:
        item, options, seed: of the runs
        to: folder for the output
    """

    item: Item
    options: Options
    seed: int
    to: Path

    def jobs(self, by: str, entries: Sequence[Entry]) -> Iterator[Job]:
        """Yields the jobs with which a command, such as ``analyze gates``, makes entries."""
        decodings = list(dict.fromkeys(decoding_of(entry) for entry in entries))
        command, *words = by.split()
        if command == "analyze":
            yield self._analysis(words, decodings, entries[0].measure)
        elif command == "probe":
            words = ["probe", *self._folders(decodings), "--tasks", str(self.options.probing)]
            yield self._job("probing", [*words, *self._published()], plot=True)
        elif command == "translate":
            sentences = [word for text in self.item.sources for word in ("--sentence", text)]
            for each in decodings:
                folder = each.run(self.seed).folder
                name = f"examples-{folder.name}-{each.name}".removesuffix("-")
                words = ["translate", str(folder), *sentences, *each.flags]
                yield Job(tuple(words), output=self.to / f"{name}.txt")
        elif words == ["--t-test"]:
            yield from self._t_tests(entries)

    def _analysis(self, by: Sequence[str], decodings: Sequence[Decoding], measure: str) -> Job:
        name = by[0]
        words = ["analyze", name, *self._folders(decodings), "--subset", decodings[0].subset]
        words += self._published()
        if "--trees" in by:
            name = "parseval"
            words += ["--trees", str(self.options.trees)]
        if name == "lengths":
            run = decodings[0].run(self.seed)
            if measure in SCORES and not METRICS[measure].tokenized:
                words += ["--reference", str(run.raw / f"{run.split}.{run.target}")]
                words += ["--tokenizer", flag_value(run.score, "--tokenizer") or "none"]
            words += run.decode
        return self._job(name, words, plot=True)

    def _t_tests(self, entries: Sequence[Entry]) -> Iterator[Job]:
        """Yields a test of each set and metric: the baseline, then the systems with a printed p."""
        for column, measure in dict.fromkeys((entry.column, entry.measure) for entry in entries):
            own = [entry for entry in entries if entry.column == column]
            systems = []
            for each in dict.fromkeys(decoding_of(entry) for entry in own):
                run = each.run(self.seed)
                systems.append(f"{run.folder}:{run.way}" if run.way else str(run.folder))
            words = ["compare", *systems, "--metric", measure, "--t-test"]
            yield self._job(f"t-test-{column}", words)

    def _folders(self, decodings: Sequence[Decoding]) -> list[str]:
        return list(dict.fromkeys(str(each.run(self.seed).folder) for each in decodings))

    def _published(self) -> list[str]:
        """Returns the published options of the analysis."""
        words = []
        for name, value in self.item.analysis.items():
            words += [f"--{name}", value]
        return words

    def _job(self, name: str, words: Sequence[str], plot: bool = False) -> Job:
        """Returns a job with its output in a file, and its figure beside this file."""
        if len(self.options.seeds) > 1:
            name = f"{name}-s{self.seed}"
        words = [*words, "--plot", str(self.to / name)] if plot else words
        return Job(tuple(words), output=self.to / f"{name}.txt")
