"""The one-tailed paired t-test over sentence BLEU (self-attentive residual decoder, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import UsageError
from .metrics import Metric


def check_t_test(metric: Metric, sentences: int) -> None:
    """
    Raises:
        UserError: fewer than two sentences, or a metric that is no BLEU
    """
    if not metric.is_bleu:
        raise UsageError(f"--t-test: is of sentence BLEU, not of {metric.name}")
    if sentences < 2:
        raise UsageError(f"--t-test: {sentences} sentence is too few")


@dataclass(frozen=True)
class TTest:
    """A one-tailed paired t-test over sentences.

    Attributes:
        name: of the system, against the baseline
        t: statistic; positive where the system is better
        p_value: of the hypothesis that the system is not better
    """

    name: str
    t: float
    p_value: float


def t_tests(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    target_lang: str,
    metric: Metric,
) -> list[TTest]:
    """Tests if a system is better than the first (self-attentive residual decoder, Table 3).

    The paper does not name the tested quantity. Here it is sentence BLEU (add-one from bigrams on).

    Args:
        systems: name → lines as the metric scores them; the first is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: BLEU of some kind

    Raises:
        UserError: see :func:`check_t_test`
    """
    from sacrebleu.metrics import BLEU
    from scipy.stats import ttest_rel

    check_t_test(metric, len(references))
    tested = metric.make(target_lang)
    sentence = BLEU(smooth_method="add-k", smooth_value=1, effective_order=True)
    sentence.lowercase, sentence.tokenizer = tested.lowercase, tested.tokenizer
    prepared = metric.prepared(references)
    scores = {
        name: [
            sentence.sentence_score(line, [reference]).score
            for line, reference in zip(metric.prepared(lines), prepared, strict=True)
        ]
        for name, lines in systems.items()
    }
    (_, baseline), *others = scores.items()
    found = []
    for name, own in others:
        if own == baseline:  # no difference at all: nothing to divide by
            found.append(TTest(name, 0.0, 0.5))
            continue
        result = ttest_rel(own, baseline, alternative="greater")
        found.append(TTest(name, float(result.statistic), float(result.pvalue)))
    return found
