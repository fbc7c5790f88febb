"""Is a difference more than chance: paired bootstrap resampling, sacreBLEU's own test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest, Result

from ..table import format_table

RESAMPLES = 1000
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """A system against the baseline.

    Attributes:
        name: of the system
        difference: BLEU of the system minus BLEU of the baseline
        p_value: how often chance alone makes such a difference; sacreBLEU's smallest is
            1 / (resamples + 1)
    """

    name: str
    difference: float
    p_value: float

    @property
    def significant(self) -> bool:
        return self.p_value < LEVEL


def paired_bootstrap(
    hypotheses: Mapping[str, Sequence[str]], references: Sequence[str], target_lang: str
) -> list[Comparison]:
    """Compare every system with the first one (Koehn 2004; 1,000 full-size resamples, seed 12345).

    Args:
        hypotheses: name → detokenised lines; the first is the baseline
        references: raw lines
        target_lang: chooses sacreBLEU's tokeniser
    """
    if len(hypotheses) < 2:
        return []
    test = PairedTest(
        list(hypotheses.items()),
        {"BLEU": BLEU(trg_lang=target_lang, references=[references])},
        references=None,
        test_type="bs",
        n_samples=RESAMPLES,
    )
    _, scores = test()
    baseline, *systems = [score for score in scores["BLEU"] if isinstance(score, Result)]
    (_, baseline_lines), *others = hypotheses.items()
    # sacreBLEU counts resamples with a greater difference, so it calls equals significant
    return [
        Comparison(
            name,
            system.score - baseline.score,
            1.0 if list(lines) == list(baseline_lines) else float(system.p_value or 0.0),
        )
        for (name, lines), system in zip(others, systems, strict=True)
    ]


def format_comparisons(baseline: str, comparisons: Sequence[Comparison]) -> str:
    """A row a system: difference to the baseline, p, and a mark below 0.05."""
    rows = [
        (c.name, f"{c.difference:+.2f}", f"{c.p_value:.3f}", "*" if c.significant else "")
        for c in comparisons
    ]
    header = (f"against {baseline}", "BLEU", "p", "p < 0.05")
    return format_table(header, rows)
