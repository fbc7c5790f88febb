"""Finished runs as numbers, without any text, so that they can be kept beside a recipe."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import replacing
from .results import no_number


@dataclass(frozen=True)
class RunRow:
    """One run.

    Attributes:
        label: name of the run's folder or as given, with the decoder if not the main one
        run: its folder, relative to the checkout where it is below it
        arch: value of ``--arch``
        parameters, published_parameters: counts
        updates: of the training
        train_tokens_per_second: target tokens, median; None where the table's speeds are a
            benchmark's that has not measured it
        decode_sentences_per_second: of the test set, or the benchmark's
        score: by the table's metric
        scores: by other metrics
        difference, p_value: against the baseline; None for the baseline
        published_score, published_place: of what was trained and decoded in the same way
        published_metric: of the published score
        to_published: our score by that metric minus the published one; None where there is none
        seeds: runs that the row is the mean of
        deviation: standard deviation of their scores; None for one
        compared_seeds: over which difference and p are, those that the baseline has too (empty:
            it has none of them, so over all of either); None for the baseline and single runs
        seeds_p_value: Welch's t-test of the seeds' scores; None where either system has one
    """

    label: str
    run: str
    arch: str | None
    parameters: int | None
    published_parameters: int | None
    updates: int | None
    train_tokens_per_second: float | None
    decode_sentences_per_second: float | None
    score: float
    scores: dict[str, float]
    difference: float | None
    p_value: float | None
    published_score: float | None
    published_place: str | None
    published_metric: str | None = None
    to_published: float | None = None
    seeds: int = 1
    deviation: float | None = None
    compared_seeds: list[str] | None = None
    seeds_p_value: float | None = None


# absent from files of before
_LATER = (
    *("published_metric", "to_published", "seeds", "deviation", "compared_seeds"),
    "seeds_p_value",
)


@dataclass(frozen=True)
class RunTable:
    """A table of runs on one test set; the first row is the baseline.

    Attributes:
        metric: of ``score``, difference and significance
        signatures: of it and of the other metrics
        sentences: of the test set
        rows: a run each
        speeds: machine and rounds of the benchmark that speeds are of; None: the runs' own
    """

    metric: str
    signatures: dict[str, str]
    sentences: int
    rows: list[RunRow]
    speeds: str | None = None

    def save(self, path: Path) -> None:
        """Write as JSON."""
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")

    @classmethod
    def read(cls, path: Path) -> RunTable:
        """Raises UserError where the file is not what :meth:`save` wrote."""
        try:
            values: Any = _as_lists(json.loads(path.read_text("utf-8"), parse_constant=no_number))
            names = [field.name for field in fields(RunRow)]
            rows = [
                RunRow(**{n: row[n] for n in names if n not in _LATER or n in row})
                for row in values["rows"]
            ]
            table = cls(
                values["metric"],
                dict(values["signatures"]),
                values["sentences"],
                rows,
                values.get("speeds"),
            )
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: not written by dc-nmt results --save: {error}") from error
        if not rows:
            raise UserError(f"{path}: has no rows")
        return table


def _as_lists(values: Any) -> Any:
    """Files of before rows had scores by metric: they named two."""
    renamed = {"BLEU lc": "mteval-v13a-lc", "chrF": "chrf"}
    signatures = {renamed.get(name, name): text for name, text in values["signatures"].items()}
    rows = []
    for row in values["rows"]:
        named = {"mteval-v13a-lc": row.get("bleu_lc"), "chrf": row.get("chrf")}
        rows.append({"scores": {name: x for name, x in named.items() if x is not None}, **row})
    return {**values, "signatures": signatures, "rows": rows}
