"""Reads the systems of a comparison: runs or plain text, on one test set."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from ...errors import MissingText, UserError
from ...flags import setting_name
from ...runs.record import Score
from ..finding import Run, is_run, located
from ..table import chosen_names, distinguished
from .generated import check_free, kind_of
from .metrics import METRICS, Metric, default_bleu
from .significance import Comparison, compare_systems
from .texts import Sides, TextFiles, Texts, lines_digest, load_texts


@dataclass(frozen=True)
class PlainTextOptions:
    """Options for plain text files; None or the default means as in the runs."""

    reference: str | None = None
    tokenized_reference: str | None = None
    target_lang: str | None = None
    tokenizer: str | None = None
    tokenized: bool = False
    truecased: bool = False


@dataclass(frozen=True)
class ComparedSystem:
    """One system's text."""

    label: str  # unique among the systems compared
    texts: Texts  # both sides, checked
    target_lang: str  # two letters
    run: Run | None  # None for plain text
    _scores: dict[str, Score] = field(default_factory=dict, init=False, repr=False, compare=False)

    def score(self, metric: Metric) -> Score:
        """Returns the score of the text, which is computed once."""
        if metric.name not in self._scores:
            self._scores[metric.name] = self.texts.score(metric, self.target_lang)
        return self._scores[metric.name]


def table_labels(items: Sequence[Run | Path]) -> list[str]:
    """Returns the names of runs and files in tables."""
    return labelled(
        names=[item.record.name if isinstance(item, Run) else item.name for item in items],
        paths=[item.location if isinstance(item, Run) else item.resolve() for item in items],
        keys=[item.decoding.key if isinstance(item, Run) else "" for item in items],
    )


def labelled(names: Sequence[str], paths: Sequence[Path], keys: Sequence[str]) -> list[str]:
    """Returns names with the key of a translation; folders distinguish equal names."""
    pairs = zip(distinguished(names, paths), keys, strict=True)
    return [f"{name}, {key}" if key else name for name, key in pairs]


def load_systems(
    systems: Sequence[Run | Path], options: PlainTextOptions, names: Sequence[str] | None = None
) -> list[ComparedSystem]:
    """Reads every system.

    Args:
        systems: runs, their folders, or plain text
        options: for plain text; values of runs take precedence
        names: labels, default :func:`table_labels`

    Raises:
        UserError: something is missing or contradicts, or the test sets differ.
    """
    items = [Run.read(s) if isinstance(s, Path) and is_run(s) else s for s in systems]
    first_run = next((item for item in items if isinstance(item, Run)), None)
    of_run = files_of(first_run) if first_run else None
    loaded = []
    for label, item in zip(chosen_names(names, table_labels(items)), items, strict=True):
        if isinstance(item, Run):
            check_free(item.path, {setting_name(k): v for k, v in item.decoding.search.items()})
            language = item.record.data.target
            loaded.append(ComparedSystem(label, texts_of(item), language, item))
        else:
            files = files_of_text(item, options, of_run)
            loaded.append(ComparedSystem(label, load_texts(files), files.target_lang, None))
    _check_same_test(loaded)
    return loaded


def files_of(run: Run) -> TextFiles:
    """Returns the files that a run was scored with, where they are now.

    Raises:
        MissingText: its reference is not here
        UserError: no hypotheses, or another text in the place of the reference
    """
    decoding = run.decoding
    if decoding.hypotheses is None:
        raise UserError(f"{run.path}: has no hypotheses: score it with --detokenized FILE")
    references = [*(decoding.references or (None,)), decoding.tokenized_reference]
    raw, tokenized = (located(run.path, run.record, reference) for reference in references)
    for path, reference in zip((raw, tokenized), references, strict=True):
        if path and reference and not Path(path).exists():
            task = run.record.task
            raise MissingText(
                f"{run.path}: its reference {reference.path} is not here: put it there"
                + (f"; 'dc-nmt prepare {task}' makes it by the recipe" if task else "")
            )
    return TextFiles(
        located(run.path, run.record, decoding.hypotheses) or "",
        decoding.kind,
        run.record.data.target,
        tokenizer=decoding.tokenizer,
        reference=raw,
        tokenized_reference=tokenized,
        truecased=decoding.truecased,
        joined_by=str(decoding.search.get("remove-bpe", "")),
    )


def texts_of(run: Run) -> Texts:
    """Returns the text of a run, as :func:`load_texts`.

    Raises:
        UserError: also, the hypotheses are not those of the digest in the record
    """
    texts = load_texts(files_of(run))
    scored = run.decoding.hypotheses_sha256  # None in records of earlier versions
    if scored not in (None, lines_digest(texts.translated(run.decoding.kind))):
        raise UserError(
            f"{run.path}: its hypotheses {run.decoding.hypotheses} are another text than the one "
            "that was scored: put that text back, or score again"
        )
    return texts


def sides_of(systems: Sequence[ComparedSystem], metric: Metric) -> dict[str, Sides]:
    """Returns the two sides that a metric scores, by system; all have the same reference.

    Raises:
        UserError: a metric of tokenised text, of which a system has none, or of systems whose
            reference was tokenised differently
    """
    sides = {system.label: system.texts.sides(metric) for system in systems}
    first, reference = next((label, side.references) for label, side in sides.items())
    for label, side in sides.items():
        if side.references != reference:
            raise UserError(
                f"{metric.name} counts the words of tokenised text, and {first} and {label} were "
                "tokenised or cased differently: compare them by --metric mteval-v13a or another "
                "of detokenised text"
            )
    return sides


def metric_words(lines: Sequence[str], metric: Metric, language: str) -> list[str]:
    """Returns lines with spaces between the words that a metric of BLEU counts."""
    return list(map(metric.make(language).tokenizer, metric.prepared(lines)))


def score_and_test(
    systems: Mapping[str, Mapping[str, ComparedSystem]], metric: Metric
) -> tuple[str, list[Comparison]]:
    """Scores systems, and tests their differences to the first one.

    Args:
        systems: label → seed → system; the seed is "" for a single run
        metric: of the scores

    Returns:
        the metric's signature, and a comparison for each label
    """
    loaded = [system for seeds in systems.values() for system in seeds.values()]
    sides = sides_of(loaded, metric)
    score = loaded[0].score(metric)
    if len(loaded) == 1:  # nothing to test: no bootstrap
        return score.signature, [Comparison(next(iter(systems)), score.value, interval=0.0)]
    hypotheses = {
        label: {seed: sides[system.label].hypotheses for seed, system in seeds.items()}
        for label, seeds in systems.items()
    }
    references, language = sides[loaded[0].label].references, loaded[0].target_lang
    return score.signature, compare_systems(hypotheses, references, language, metric)


def recorded_scores(
    groups: Mapping[str, Mapping[str, Run]], metric: Metric
) -> tuple[str, list[Comparison]]:
    """Returns what :func:`score_and_test` returns, as recorded and without tests.

    Raises:
        UserError: a record has no such score, or the test sets differ
    """
    comparisons, signatures = [], []
    names: dict[str | None, str] = {}  # digest of a reference → a run that was scored with it
    for label, group in groups.items():
        values = []
        for run in group.values():
            score = run.decoding.score(metric.name)
            if score is None:
                raise UserError(f"{run.path}: has no score by {metric.name}")
            values.append(score.value)
            signatures.append(score.signature)
            names.update({file.sha256: run.record.name for file in run.decoding.references})
        deviation = statistics.stdev(values) if len(values) > 1 else None
        comparisons.append(Comparison(label, statistics.fmean(values), 0.0, deviation))
    names.pop(None, None)
    if len(names) > 1:
        raise UserError(f"results on different tests: {' and '.join(names.values())}")
    return signatures[0], comparisons


def default_metric(baseline: ComparedSystem) -> Metric:
    """Returns the paper's metric if the run names it; else the BLEU for the target language.

    Tokenised plain text without a tokenizer has multi-bleu alone.
    """
    texts, language = baseline.texts, baseline.target_lang
    for score in baseline.run.decoding.scores if baseline.run else ():
        if score.paper:
            return METRICS[score.metric]
    if texts.tokenized and not texts.has_raw_reference:
        return METRICS["zh-words" if language == "zh" else "multi-bleu"]
    return METRICS[default_bleu(language, texts.raw.references)]


def files_of_text(
    path: Path, options: PlainTextOptions, like: TextFiles | None = None
) -> TextFiles:
    """Returns the files of plain text, with these options, else those of a run.

    Raises:
        UserError: a language or reference is missing
    """
    kind = kind_of(path, tokenized=options.tokenized)
    language = options.target_lang or (like.target_lang if like else None)
    if language is None:
        raise UserError(f"{path}: needs --target-lang")
    reference, tokenized_reference = options.reference, options.tokenized_reference
    if reference is None and tokenized_reference is None:
        if like is None:
            raise UserError(f"{path}: needs --reference (raw text) or --tokenized-reference")
        reference, tokenized_reference = like.reference, like.tokenized_reference
    return TextFiles(
        str(path),
        kind,
        language,
        tokenizer=options.tokenizer or (like.tokenizer if like else "none"),
        reference=reference,
        tokenized_reference=tokenized_reference,
        truecased=options.truecased and kind != "raw",
    )


def _check_same_test(systems: Sequence[ComparedSystem]) -> None:
    first = systems[0]
    for other in systems[1:]:
        both = f"{first.label} and {other.label}"
        one, two = first.texts.raw.references, other.texts.raw.references
        if one != two:
            lines = enumerate(zip_longest(one, two), start=1)
            number = next(number for number, (line, other_line) in lines if line != other_line)
            raise UserError(
                f"results on different tests: {both}: their references differ in line {number}"
            )
