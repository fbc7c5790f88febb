"""Gain over a baseline by length of the source: context-aware, Fig. 5; thesis 3.5.1, Fig. 3.6."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import UsageError, UserError
from ...laboratory.evaluation.chance import Difference
from ...laboratory.evaluation.metrics import Metric
from ...laboratory.evaluation.significance import paired_bootstrap
from ...laboratory.evaluation.table_text import difference_cells
from ...laboratory.table import number_cell
from ...text.languages import is_spaceless
from ...text.segmentation import piece_kind, words_of
from . import EDGES
from .figure import Chart, draw_charts
from .report import HIDDEN, Table
from .subject import Subject
from .text_score import TextScore

LEAST_SENTENCES = 50  # of a group; fewer show chance alone
LEAST_NGRAMS = 10  # matching 4-grams of a group; BLEU of fewer says nothing
NO_SCORE = f"-: fewer than {LEAST_SENTENCES} sentences, or than {LEAST_NGRAMS} matching 4-grams"
PANEL = (8.0, 2.8)  # inches


@dataclass(frozen=True)
class LengthGroup:
    """Sentences of some source lengths in one run, or its whole text."""

    from_: int  # lengths
    to: int | None  # None: all that are longer
    sentences: int
    bleu: float | None  # None where chance decides it
    hypotheses: list[str] = field(metadata=HIDDEN)  # lines as they are scored, both
    references: list[str] = field(metadata=HIDDEN)
    # BLEU minus that of the first run; None for this run, and without a score
    difference: float | None = None
    against: Difference | None = None  # its test; None where there is too little text

    @property
    def name(self) -> str:
        if self.to is None:
            return f"{self.from_}+"
        return str(self.from_) if self.from_ == self.to else f"{self.from_}-{self.to}"


@dataclass(frozen=True)
class LengthScores:
    """BLEU of one run by source length."""

    unit: str  # of the lengths, words or pieces
    text: str  # description of the scored text
    bleu: float  # of all sentences
    signature: str
    groups: list[LengthGroup]
    whole: LengthGroup
    lang: str = field(metadata=HIDDEN)  # of the scores
    metric: Metric = field(metadata=HIDDEN)


def measure(subject: Subject, *, unit: str = "words", edges: Sequence[int] = EDGES) -> LengthScores:
    """Translates, and returns BLEU of every group; the first one is shorter than all `edges`."""
    lengths = _lengths(subject, unit)
    score = TextScore(subject)
    translations = subject.translate()
    bleu, signature = score(translations)
    lines, references = score.lines(translations), score.references(translations)
    sacrebleu = score.metric.make(score.lang)
    groups = []
    for low, end in zip((0, *edges), (*edges, math.inf), strict=True):
        chosen = [i for i, length in enumerate(lengths) if low <= length < end]
        if chosen:
            last = None if end == math.inf else int(end) - 1
            text = [lines[i] for i in chosen], [references[i] for i in chosen]
            groups.append(LengthGroup(low, last, len(chosen), group_bleu(sacrebleu, *text), *text))
    whole = LengthGroup(0, None, len(lines), bleu, lines, references)
    return LengthScores(unit, score.text, bleu, signature, groups, whole, score.lang, score.metric)


def _lengths(subject: Subject, unit: str) -> list[int]:
    """Returns the length of each source sentence."""
    all_pieces = subject.sentence_pieces("encoder").values()
    if unit == "pieces":
        return [len(pieces) for pieces in all_pieces]
    kind = piece_kind(subject.task.source_dictionary)
    if kind == "sentencepiece" and is_spaceless(subject.source_lang):
        raise UsageError(
            f"--unit words: {subject.source_lang} has no spaces between words; give pieces."
        )
    return [len(words_of(pieces, kind)) for pieces in all_pieces]


def group_bleu(metric: Any, hypotheses: Sequence[str], references: Sequence[str]) -> float | None:
    """Returns BLEU of a group of sentences by sacreBLEU's `metric`; None where chance decides it.

    Short sentences have no 4-gram, so that even perfect ones would have 0.00 BLEU.
    """
    if len(hypotheses) < LEAST_SENTENCES:
        return None
    result = metric.corpus_score(hypotheses, [references])
    return float(result.score) if result.counts[3] >= LEAST_NGRAMS else None


def with_gains(results: Mapping[str, LengthScores]) -> dict[str, LengthScores]:
    """Returns the results of several runs with their differences from the first run.

    Raises:
        UserError: the groups differ: other text, or other pieces
    """
    first, baseline = next(iter(results.items()))
    compared = {first: baseline}
    for label, result in results.items():
        if label == first:
            continue
        if _ranges(result) != _ranges(baseline):
            raise UserError(
                f"{first} and {label} have other sentences in their length groups: compare runs "
                "on the same text, with --unit words where their pieces differ."
            )
        pairs = zip(result.groups, baseline.groups, strict=True)
        groups = [_with_gain(group, reference, result) for group, reference in pairs]
        whole = _with_gain(result.whole, baseline.whole, result)
        compared[label] = replace(result, groups=groups, whole=whole)
    return compared


def _ranges(result: LengthScores) -> list[tuple[int, int | None, int]]:
    return [(group.from_, group.to, group.sentences) for group in result.groups]


def _with_gain(group: LengthGroup, baseline: LengthGroup, result: LengthScores) -> LengthGroup:
    if group.bleu is None or baseline.bleu is None:
        return group
    systems = {"": baseline.hypotheses, "system": group.hypotheses}
    _, gain = paired_bootstrap(systems, baseline.references, result.lang, result.metric)
    return replace(group, difference=gain.difference, against=gain.against)


def tables(results: Mapping[str, LengthScores]) -> list[Table]:
    """Returns a row for each group; from the second run on, BLEU with its gain and interval."""
    first, *others = results
    baseline = results[first]
    header = [f"source {baseline.unit}", "sentences", first]
    for label in others:
        header += [label, "gain", "95% interval"]
    title = f"BLEU by source length in {baseline.unit}; {baseline.text}"
    table = Table(title, header)
    for row, group in enumerate(baseline.groups):
        cells = _group_cells([result.groups[row] for result in results.values()])
        table.rows.append([group.name, *cells])
    table.rows.append(["all", *_group_cells([result.whole for result in results.values()])])
    groups = [group for result in results.values() for group in (*result.groups, result.whole)]
    if any(group.bleu is None for group in groups):
        table.notes.append(NO_SCORE)
    if others:
        about = f"gain: over {first}; its interval includes variation between sentences only"
        table.notes.append(about)
    return [table]


def _group_cells(groups: Sequence[LengthGroup]) -> list[str]:
    """Returns the cells of one group of sentences in every run."""
    baseline, *others = groups
    cells = [f"{baseline.sentences:,}", number_cell(baseline.bleu, ".2f") or "-"]
    for group in others:
        cells.append(number_cell(group.bleu, ".2f") or "-")
        if group.difference is None:
            cells += ["-", "-"]
        else:
            tested = difference_cells(group.difference, group.against, None, several=False)
            cells += [tested["difference"], tested["interval"]]
    return cells


def draw(figure: Any, results: Mapping[str, LengthScores]) -> None:
    """Draws BLEU above, and the gains over the first run with their intervals below (Fig. 5)."""
    first, *others = results
    baseline = results[first]
    labels = [f"{group.name}\n({group.sentences:,})" for group in baseline.groups]
    x = f"{baseline.unit} of the source sentence (number of sentences)"

    def name_groups(axes: Any) -> None:
        axes.set_xticks(range(len(labels)), labels, fontsize=8)

    def add_intervals(axes: Any) -> None:
        name_groups(axes)
        for line, label in zip(list(axes.lines), others, strict=True):
            for column, group in enumerate(results[label].groups):
                if group.against:
                    interval = group.against.interval
                    axes.vlines(column, *interval, color=line.get_color(), linewidth=1)

    scores = {label: _points(result, "bleu") for label, result in results.items()}
    gains = {label: _points(results[label], "difference") for label in others}
    charts = [Chart(x, "BLEU", scores, finish=name_groups)]
    if others:
        charts.append(Chart(x, "gain in BLEU, 95%", gains, finish=add_intervals))
    draw_charts(figure, charts, columns=1, size=PANEL)


def _points(result: LengthScores, number: str) -> dict[int, float]:
    """Returns column of a group → its number; NaN leaves a gap."""
    points = {}
    for column, group in enumerate(result.groups):
        value = getattr(group, number)
        points[column] = math.nan if value is None else value
    return points
