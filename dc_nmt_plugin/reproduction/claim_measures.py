"""Measures the comparisons of the claims: scores of kept runs, and parameters of built models."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..errors import UserError
from ..evaluation.chance import Scores, common_seeds, compare, holm, with_seeds
from ..evaluation.metrics import METRICS
from ..evaluation.significance import resampled
from ..evaluation.systems import PlainTextOptions, load_systems, sides_of
from ..flags import as_flags
from ..papers.described_run import flags_of
from ..papers.document import Claim, Subject
from ..papers.effective_settings import model_settings
from ..papers.parameter_counts import built_count, fitted_vocabulary
from ..papers.register import DOCUMENTS, read_document
from ..recipes.recipe import load
from ..recipes.settings import settings_of
from ..runs.finding import Run
from ..runs.schema import RECORD
from .claims import (
    HOME,
    KEPT,
    SAME_RUN,
    STORED,
    TASK,
    Compared,
    Measured,
    pairs_of,
    subjects_of,
    translations,
)

METRIC = "mteval-v13a"  # of the example's table


def measure(home: Path = HOME) -> Path:
    """Measures what the claims need and the kept runs can give, and writes ``claims.json``.

    Raises:
        UserError: no kept run, the references are missing, or a run has other settings than the
            claims say
    """
    claims = [claim for name in DOCUMENTS for claim in read_document(name).claims]
    runs = kept_runs(claims, home)
    if not runs:
        raise UserError(f"{home}: has no kept run of any claim")
    scores, sentences = _scores(runs)
    deviation, freedom = pooled(scores.values())
    measured = Measured(
        metric=METRIC,
        sentences=sentences,
        deviation=round(deviation, 4),
        freedom=freedom,
        kept=translations(home),
        compared=(*_of_scores(claims, scores, deviation, freedom), *_of_parameters(claims)),
    )
    measured.save(home / STORED)
    return home / STORED


def kept_runs(claims: Iterable[Claim], home: Path = HOME) -> dict[str, dict[str, Run]]:
    """Returns the kept runs that claims compare: name of a system → seed → run.

    Raises:
        UserError: a kept run has other settings than the claims say
    """
    found: dict[str, dict[str, Run]] = {}
    for folder in KEPT:
        for path in sorted((home / folder).glob(f"*/{RECORD}")):
            runs = [run for run in Run.all_of(path) if run.decoding.subset == "test"]
            for run in runs:
                names = [", ".join(filter(None, (run.record.system, run.decoding.way)))]
                names += [f"{names[0]}{SAME_RUN}"] if len(runs) > 1 else []
                for name in names:
                    found.setdefault(name, {}).setdefault(str(run.record.seed), run)
    wanted = {
        name: subject
        for claim in claims
        if claim.by == "score"
        for pair, subjects in zip(pairs_of(claim), subjects_of(claim), strict=True)
        for name, subject in zip(pair, subjects, strict=True)
    }
    for name, subject in wanted.items():
        for run in found.get(name, {}).values():
            _check(subject, run)
    return {name: runs for name, runs in found.items() if name in wanted}


def _check(subject: Subject, run: Run) -> None:
    arch = subject.words[0]
    settings = settings_of(load(TASK), arch)
    wanted = model_settings(arch, flags_of(arch, [*settings.flags, *subject.words[1:]]))
    own = run.record.architecture or ""
    if model_settings(own, flags_of(own, as_flags(run.record.settings))) != wanted:
        raise UserError(f"{run.place}: is not a run of {' '.join(subject.words)}")
    updates = run.record.settings.get("max-update")
    if updates != settings.updates:
        raise UserError(f"{run.place}: has {updates} updates, the recipe {settings.updates}")


def _scores(runs: Mapping[str, Mapping[str, Run]]) -> tuple[dict[str, dict[str, Scores]], int]:
    """Returns the scores of every system and seed, and the number of sentences."""
    named = {f"{name}-s{seed}": run for name, seeds in runs.items() for seed, run in seeds.items()}
    systems = load_systems(list(named.values()), PlainTextOptions(), list(named))
    metric = METRICS[METRIC]
    sides = sides_of(systems, metric)
    texts = {
        name: {seed: sides[f"{name}-s{seed}"].hypotheses for seed in seeds}
        for name, seeds in runs.items()
    }
    references = sides[systems[0].label].references
    return resampled(texts, references, systems[0].target_lang, metric)[0], len(references)


def pooled(systems: Iterable[Mapping[str, Scores]]) -> tuple[float, int]:
    """Returns the standard deviation of the seeds of a system, and its degrees of freedom."""
    several = [[run.score for run in seeds.values()] for seeds in systems if len(seeds) > 1]
    freedom = sum(len(each) - 1 for each in several)
    if not freedom:
        return 0.0, 1
    squares = sum(statistics.variance(each) * (len(each) - 1) for each in several)
    return (squares / freedom) ** 0.5, freedom


def _of_scores(
    claims: Iterable[Claim],
    scores: Mapping[str, Mapping[str, Scores]],
    deviation: float,
    freedom: int,
) -> Iterator[Compared]:
    pairs = dict.fromkeys(pair for c in claims if c.by == "score" for pair in pairs_of(c))
    known = [pair for pair in pairs if pair[0] in scores and pair[1] in scores]
    tests = []
    for pair in known:
        test = compare(*(scores[name] for name in pair))
        of_one_run = any(name.endswith(SAME_RUN) for name in pair)  # the same training
        if test.freedom is None and not of_one_run:
            test = with_seeds(test, deviation, freedom)  # those of the other systems
        tests.append(test)
    corrected = holm([test.p_value for test in tests])
    for (one, other), test, p_value in zip(known, tests, corrected, strict=True):
        low, high = test.interval
        yield Compared(
            by="score",
            ours=one,
            than=other,
            value=round(test.value, 4),
            interval=(round(low, 4), round(high, 4)),
            p_value=round(test.p_value, 6),
            corrected_p=round(p_value, 6),
            seeds=common_seeds(scores[one], scores[other]),
        )


def _of_parameters(claims: Iterable[Claim]) -> Iterator[Compared]:
    """Yields the differences of parameters, in millions, in the papers' sizes."""
    pairs = [pair for claim in claims if claim.by == "params" for pair in claim.evidence]
    names = [pair for claim in claims if claim.by == "params" for pair in pairs_of(claim)]
    found = {}
    for (cell, other), (one, two) in zip(pairs, names, strict=True):
        assert other is not None
        vocabulary = fitted_vocabulary(other)
        gap = built_count(cell, vocabulary) - built_count(other, vocabulary)
        found[one, two] = Compared(by="params", ours=one, than=two, value=round(gap / 1e6, 3))
    yield from found.values()
