"""The one-tailed paired t-test over sentence BLEU (self-attentive residual decoder, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import UsageError
from .metrics import Metric


@dataclass(frozen=True)
class TTest:
    """The test of a system against the baseline.

    Attributes:
        name: of the system
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
    """Tests if each system is better than the first.

    The paper does not name the tested quantity. Here it is sentence BLEU (add-one from bigrams on).

    Args:
        systems: name → lines as the metric scores them; the first is the baseline
        references: lines
        target_lang: chooses sacreBLEU's tokeniser
        metric: BLEU of some kind

    Raises:
        UserError: fewer than two sentences, or a metric that is no BLEU
    """
    if not metric.is_bleu:
        raise UsageError(f"--t-test: is of sentence BLEU, not of {metric.name}")
    if len(references) < 2:
        raise UsageError(f"--t-test: {len(references)} sentence is too few")
    from sacrebleu.metrics import BLEU
    from scipy.stats import ttest_rel

    of_metric = metric.make(target_lang)
    sentence = BLEU(smooth_method="add-k", smooth_value=1, effective_order=True)
    sentence.lowercase, sentence.tokenizer = of_metric.lowercase, of_metric.tokenizer
    prepared = metric.prepared(references)
    scores = {}
    for name, lines in systems.items():
        pairs = zip(metric.prepared(lines), prepared, strict=True)
        scores[name] = [sentence.sentence_score(line, [other]).score for line, other in pairs]
    (_, baseline), *others = scores.items()
    tests = []
    for name, own in others:
        if own == baseline:  # no difference at all: nothing to divide by
            tests.append(TTest(name, 0.0, 0.5))
        else:
            result = ttest_rel(own, baseline, alternative="greater")
            tests.append(TTest(name, float(result.statistic), float(result.pvalue)))
    return tests
