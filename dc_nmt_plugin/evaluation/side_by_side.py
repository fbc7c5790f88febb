"""Compares finished runs: scores, confidence intervals, example sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..runs.finding import Run
from ..table import format_table, number_cell
from .difference_text import format_comparisons
from .scores import COLUMNS
from .significance import paired_bootstrap
from .systems import PlainTextOptions, labels, load_systems

EXAMPLES = 3  # sentences shown after a training run


def format_side_by_side(given: Sequence[Run | Path], examples: int) -> str:
    """Returns a table of models, and with text also tests of the differences and sentences.

    Args:
        given: runs with their translations, or their folders
        examples: sentences shown

    Raises:
        UserError: a record is unusable, or they are of different tests
    """
    runs = [Run.read(each) if isinstance(each, Path) else each for each in given]
    names = labels(runs)
    blocks = [format_results(dict(zip(names, runs, strict=True)))]
    if all(run.decoding.hypotheses for run in runs):
        systems = load_systems(runs, PlainTextOptions(), names)
        texts = {system.label: system.texts.raw.hypotheses for system in systems}
        references, language = systems[0].texts.raw.references, systems[0].target_lang
        if len(texts) > 1:
            blocks.append(format_comparisons(paired_bootstrap(texts, references, language)))
        if examples > 0:
            source = systems[0].source or []
            blocks.append(format_examples(texts, references, source, examples))
    return "\n\n".join(blocks)


def format_results(runs: Mapping[str, Run]) -> str:
    """Returns a row for each model: scores, parameters, updates, speeds; signatures below."""
    header = ("model", *COLUMNS, "parameters", "updates", "train tokens/s", "decode sentences/s")
    rows = []
    signatures: dict[str, set[str]] = {heading: set() for heading in COLUMNS}
    for name, run in runs.items():
        training = run.record.training
        cells = []
        for heading, metrics in COLUMNS.items():
            score = run.decoding.score(*metrics)
            cells.append(f"{score.value:.2f}" if score else "")
            signatures[heading] |= {score.signature} if score else set()
        rows.append(
            (
                name,
                *cells,
                number_cell(training.parameters, ",d"),
                number_cell(run.updates, ",d"),
                number_cell(training.tokens_per_second, ",.0f"),
                number_cell(run.decoding.sentences_per_second, ",.1f"),
            )
        )
    notes = [f"{name:<7}  {text}" for name, found in signatures.items() for text in sorted(found)]
    return "\n".join([format_table(header, rows), "", *notes])


def format_examples(
    texts: Mapping[str, Sequence[str]], reference: Sequence[str], source: Sequence[str], count: int
) -> str:
    """Returns ``count`` evenly spread test sentences with each model's translation."""
    step = max(1, len(reference) // max(1, count))
    width = max(map(len, (*texts, "reference")))
    blocks = []
    for number in range(step // 2, len(reference), step)[:count]:
        rows = [("source", source[number])] if source else []
        rows.append(("reference", reference[number]))
        rows += [(name, lines[number]) for name, lines in texts.items()]
        blocks.append("\n".join(f"{name:<{width}}  {text}" for name, text in rows))
    return "\n\n".join(blocks)
