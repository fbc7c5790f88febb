"""Quality by length and by frequency, and the sentences that differ most, from compare-mt.

Its numbers are taken, not its page: a picture there has room for eight systems, and a name such as
``<b>`` becomes a tag. Its test is left out: it is one-sided, on half-size samples.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...laboratory.evaluation.metrics import METRICS, Metric, default_bleu
from ...laboratory.evaluation.systems import ComparedSystem, metric_words, sides_of
from ..analysis.figure import Chart

EXAMPLES = 3  # sentences that are better, and as many that are worse
REFERENCE, F1 = 1, 5  # of the words of a group, in compare-mt's statistics


@dataclass(frozen=True)
class Example:
    """A sentence that a system translates otherwise than the baseline.

    Attributes:
        number: of the sentence, from 1
        gain: its sentence BLEU minus that of the baseline
        lines: name → text: the reference, the baseline, the system
    """

    number: int
    gain: float
    lines: dict[str, str]


class Words:
    """The texts of systems in words; the first system is the baseline.

    The words are those of the metric if it is BLEU, else those of the language's BLEU.
    """

    def __init__(self, systems: Sequence[ComparedSystem], metric: Metric) -> None:
        language = systems[0].target_lang
        if not metric.is_bleu:
            metric = METRICS[default_bleu(language, systems[0].texts.raw.references)]
        sides = sides_of(systems, metric)
        self.reference = sides[systems[0].label].references
        self.hypotheses = {label: side.hypotheses for label, side in sides.items()}
        texts = [self.reference, *self.hypotheses.values()]
        lines = [metric_words(text, metric, language) for text in texts]
        self._reference, *self._systems = [[line.split() for line in text] for text in lines]
        self._lowercase = metric.lowercase

    def by_length(self) -> Chart:
        """Returns BLEU by the number of words in the reference."""
        found = self._compared("sentence_bucketed_report", bucket_type="length",
                               statistic_type="score", score_measure="bleu")  # fmt: skip
        groups = {found.bucketer.cutoff_into_bucket(len(words)) for words in self._reference}
        return self._chart("words of the reference", "BLEU", found, sorted(groups), found.sys_stats)

    def by_frequency(self) -> Chart:
        """Returns F1 of words by their frequency in the reference."""
        found = self._compared("word_accuracy_report", bucket_type="freq")
        scores = [[float(group[F1]) for group in groups] for groups in found.statistics]
        groups = [number for number, of in enumerate(found.statistics[0]) if of[REFERENCE]]
        return self._chart("frequency in the reference", "F1 of words", found, groups, scores)

    def examples(self) -> dict[str, list[Example]]:
        """Returns system → the sentences with the greatest gains, then the greatest losses."""
        baseline, *others = self.hypotheses
        examples = {}
        for number, label in enumerate(others, start=1):
            found = self._compared("sentence_examples", compare_directions=f"0-{number}")
            (rising,) = found.scorediff_lists  # (gain, …, index of the sentence)
            best, worst = rising[: -EXAMPLES - 1 : -1], rising[:EXAMPLES]
            chosen = [one for one in best if one[0] > 0] + [one for one in worst if one[0] < 0]
            examples[label] = [
                self._example(gain, index, (baseline, label)) for gain, *_, index in chosen
            ]
        return examples

    def _compared(self, name: str, **options: Any) -> Any:
        """Returns a report of compare-mt, without what it prints."""
        from compare_mt import compare_mt_main, reporters

        reporters.sys_names = [*self.hypotheses]
        with contextlib.redirect_stdout(io.StringIO()):
            function = getattr(compare_mt_main, f"generate_{name}")
            options["case_insensitive"] = self._lowercase
            return function(self._reference, self._systems, **options)

    def _chart(
        self, x: str, y: str, found: Any, groups: Sequence[int], scores: Sequence[Sequence[float]]
    ) -> Chart:
        """Returns a chart of the groups of these numbers; the others are empty."""
        bars = {
            label: [of_system[group] for group in groups]
            for label, of_system in zip(self.hypotheses, scores, strict=True)
        }
        return Chart(x, y, bars=bars, groups=[found.bucketer.bucket_strs[g] for g in groups])

    def _example(self, gain: float, index: int, labels: Sequence[str]) -> Example:
        lines = {label: self.hypotheses[label][index] for label in labels}
        return Example(index + 1, gain, {"reference": self.reference[index], **lines})
