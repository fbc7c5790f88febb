"""Compares finished runs: scores, confidence intervals, example sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..table import format_table, number_cell
from .difference_text import format_comparisons
from .results import COLUMNS, Result, read_result
from .significance import paired_bootstrap
from .systems import PlainTextOptions, load_systems, named_labels

EXAMPLES = 3  # sentences shown after a training run


def read_named(paths: Sequence[Path]) -> list[Result]:
    """Reads results by name, or by folder if two have the same name.

    Raises:
        UserError: a file is missing, or is not a result
    """
    results = [read_result(path) for path in paths]
    names = named_labels(paths, results)
    return [replace(result, name=name) for result, name in zip(results, names, strict=True)]


def format_side_by_side(paths: Sequence[Path], examples: int) -> str:
    """Returns a table of models, and with text also tests of the differences and sentences.

    Args:
        paths: of results, or of runs' folders
        examples: sentences shown

    Raises:
        UserError: a result is unusable, or they are of different tests
    """
    results = read_named(paths)
    blocks = [format_results(results)]
    if all(result.texts or result.hypotheses for result in results):
        names = [result.name for result in results]
        systems = load_systems(paths, PlainTextOptions(), names)
        texts = {system.label: system.texts.raw.hypotheses for system in systems}
        references, language = systems[0].texts.raw.references, systems[0].target_lang
        if len(texts) > 1:
            blocks.append(format_comparisons(paired_bootstrap(texts, references, language)))
        if examples > 0:
            source = systems[0].source or []
            blocks.append(format_examples(texts, references, source, examples))
    return "\n\n".join(blocks)


def format_results(results: Sequence[Result]) -> str:
    """Returns a row for each model: scores, parameters, updates, speeds; signatures below."""
    header = ("model", *COLUMNS, "parameters", "updates", "train tokens/s", "decode sentences/s")
    rows = []
    signatures: dict[str, set[str]] = {heading: set() for heading in COLUMNS}
    for result in results:
        cells = []
        for heading, metrics in COLUMNS.items():
            score = result.score(*metrics)
            cells.append(f"{score.score:.2f}" if score else "")
            signatures[heading] |= {score.signature} if score else set()
        rows.append(
            (
                result.name,
                *cells,
                number_cell(result.parameters, ",d"),
                number_cell(result.updates, ",d"),
                number_cell(result.train_tokens_per_second, ",.0f"),
                number_cell(result.decode_sentences_per_second, ",.1f"),
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
