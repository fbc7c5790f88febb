"""Content of a run's ``result.json``."""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NoReturn

from ..errors import UserError
from .scores import MetricScore
from .texts import TextFiles, locate

RESULT = Path("score", "result.json")  # place of the result in a run's folder
UNNAMED = "model"  # name of a result without dc-nmt score --name


_NUMBERS = (
    *("sentences", "bleu", "bleu_lc", "chrf", "parameters", "updates"),
    *("train_tokens_per_second", "train_seconds", "decode_sentences_per_second"),
)
_TEXTS = ("name", "source_lang", "target_lang", "hypotheses", "reference", "source", "arch", "task")


@dataclass(frozen=True)
class Result:
    """One trained and scored model: the content of a run's ``result.json``.

    Results of the first recipes (0.1.0) lack the fields with defaults. They hold three scores by
    name instead of the list.
    """

    name: str
    source_lang: str | None
    target_lang: str
    sentences: int
    parameters: int | None
    updates: int | None
    train_tokens_per_second: float | None
    train_seconds: float | None
    decode_sentences_per_second: float | None
    hypotheses: str | None  # file of detokenised hypotheses
    reference: str | None
    source: str | None
    arch: str | None = None
    decode_with: str | None = None  # decoder of a model with auxiliary decoders, if not the main
    scores: tuple[MetricScore, ...] = field(default=())
    texts: TextFiles | None = None
    task: str | None = None  # of a kept run, whose folder may be outside the task's

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any, origin: object) -> Result:
        """Raises UserError where `values` is not what ``dc-nmt score --json`` wrote."""
        needed = [f.name for f in fields(cls) if f.default is MISSING]
        absent = [n for n in needed if n not in values] if isinstance(values, dict) else needed
        if absent:
            raise UserError(f"{origin}: not a result of dc-nmt score, '{absent[0]}' is missing")
        known = {f.name: values[f.name] for f in fields(cls) if f.name in values}
        for name, value in values.items():
            if name in _NUMBERS and not isinstance(value, (int, float, type(None))):
                raise UserError(f"{origin}: '{name}' is {value!r:.60}, not a number")
            if name in _TEXTS and not isinstance(value, (str, type(None))):
                raise UserError(f"{origin}: '{name}' is {value!r:.60}, not text")
        if not isinstance(known.get("scores", ()), (list, tuple)):
            raise UserError(f"{origin}: 'scores' is not what dc-nmt score writes")
        scores = [MetricScore.from_json(score, origin) for score in known.get("scores", ())]
        listed = {score.metric for score in scores}
        scores += [score for score in _named_scores(values) if score.metric not in listed]
        known["scores"] = tuple(scores)
        if known.get("texts"):
            known["texts"] = TextFiles.from_json(known["texts"], origin)
        return cls(**known)

    def score(self, *metrics: str) -> MetricScore | None:
        """Returns the score by the first of these metrics that the result has."""
        found = {score.metric: score for score in self.scores}
        return next((found[metric] for metric in metrics if metric in found), None)

    @property
    def paper_metric(self) -> str | None:
        """Returns the metric that is marked as the paper's."""
        return next((score.metric for score in self.scores if score.paper), None)

    def text_files(self, origin: Path) -> TextFiles | None:
        """Returns the scored files, found from `origin`, the place of ``result.json``."""
        files = self.texts
        if files is None and self.hypotheses:
            files = TextFiles(self.hypotheses, "raw", self.target_lang, reference=self.reference)
        return files.beside(origin) if files else None


def results_of(folder: Path) -> list[Path]:
    """Returns the result files in a run's folder: one for each way of decoding."""
    return sorted(folder.glob(f"{RESULT.parent}*/{RESULT.name}"))


def no_number(name: str) -> NoReturn:
    """Refuses NaN and infinities, which Python's JSON accepts.

    Raises:
        ValueError: always
    """
    raise ValueError(f"{name} is no number; score the translation again")


def read_result(path: Path) -> Result:
    """Reads a ``result.json``, or the result in a run's folder.

    Raises:
        UserError: the file is missing, is not JSON, or is not a result
    """
    if path.is_dir():
        if not (path / RESULT).is_file():
            raise UserError(f"{path}: no {RESULT} in it: the run is not finished, or no run")
        path = path / RESULT
    try:
        values = json.loads(path.read_text("utf-8"), parse_constant=no_number)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON: {error}") from error
    result = Result.from_json(values, path)
    return replace(
        result,
        hypotheses=locate(result.hypotheses, path),
        reference=locate(result.reference, path),
        source=locate(result.source, path),
    )


def _named_scores(values: dict[str, Any]) -> list[MetricScore]:
    """Returns the scores of an old result, which held them by name."""
    bleu = "zh" if values["target_lang"] == "zh" else "mteval-v13a"
    names = {"bleu": bleu, "bleu_lc": f"{bleu}-lc", "chrf": "chrf"}
    return [
        MetricScore(metric, values[name], values[f"{name}_signature"], "detokenised")
        for name, metric in names.items()
        if name in values
    ]


# heading of a column → its metrics; the column shows the first that a result has
COLUMNS = {
    "BLEU": ("mteval-v13a", "zh", "char", "sacrebleu"),
    "BLEU lc": ("mteval-v13a-lc", "zh-lc"),
    "chrF": ("chrf",),
}
