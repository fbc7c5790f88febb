"""Results of several models side by side, as plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import UserError
from ..table import format_table


@dataclass(frozen=True)
class Result:
    """One trained and scored model: what a run's ``result.json`` holds."""

    name: str
    source_lang: str
    target_lang: str
    sentences: int
    bleu: float
    bleu_lc: float
    chrf: float
    bleu_signature: str
    bleu_lc_signature: str
    chrf_signature: str
    parameters: int | None
    updates: int | None
    train_tokens_per_second: float | None
    train_seconds: float | None
    decode_sentences_per_second: float | None
    hypotheses: str | None  # file of detokenised hypotheses
    reference: str
    source: str | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any, origin: object) -> Result:
        names = [field.name for field in fields(cls)]
        absent = [n for n in names if n not in values] if isinstance(values, dict) else names
        if absent:
            raise UserError(f"{origin}: not a result of dc-nmt score, '{absent[0]}' is missing")
        return cls(**{name: values[name] for name in names})


def format_results(results: Sequence[Result]) -> str:
    """A row a model: scores, parameters, updates, training and decoding speed; signatures below."""
    header = (
        "model",
        "BLEU",
        "BLEU lc",
        "chrF",
        "parameters",
        "updates",
        "train tokens/s",
        "decode sentences/s",
    )
    rows = [
        (
            result.name,
            f"{result.bleu:.2f}",
            f"{result.bleu_lc:.2f}",
            f"{result.chrf:.2f}",
            _number(result.parameters, ",d"),
            _number(result.updates, ",d"),
            _number(result.train_tokens_per_second, ",.0f"),
            _number(result.decode_sentences_per_second, ",.1f"),
        )
        for result in results
    ]
    signatures = sorted(
        {f"BLEU     {r.bleu_signature}" for r in results}
        | {f"BLEU lc  {r.bleu_lc_signature}" for r in results}
        | {f"chrF     {r.chrf_signature}" for r in results}
    )
    return "\n".join([format_table(header, rows), "", *signatures])


def format_examples(
    texts: Mapping[str, Sequence[str]], reference: Sequence[str], source: Sequence[str], count: int
) -> str:
    """``count`` evenly spread test sentences with each model's translation."""
    step = max(1, len(reference) // max(1, count))
    width = max(map(len, (*texts, "reference")))
    blocks = []
    for number in range(step // 2, len(reference), step)[:count]:
        rows = [("source", source[number])] if source else []
        rows.append(("reference", reference[number]))
        rows += [(name, lines[number]) for name, lines in texts.items()]
        blocks.append("\n".join(f"{name:<{width}}  {text}" for name, text in rows))
    return "\n\n".join(blocks)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
