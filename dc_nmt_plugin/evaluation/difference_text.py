"""Differences to a baseline as cells of a table, and the lines under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..table import number_cell
from .chance import LEVEL, RESAMPLES, Difference
from .significance import LEAST_SENTENCES, Comparison

STRICT = 0.01
TEST_COLUMNS = ("difference", "95% interval", "p", "p (Holm)")


def score_name(metric: str) -> str:
    """Returns what a metric's scores are called: BLEU, chrF or TER."""
    return {"chrf": "chrF", "ter": "TER"}.get(metric, "BLEU")


def test_cells(
    difference: float | None, test: Difference | None, corrected_p: float | None, several: bool
) -> tuple[str, ...]:
    """Returns the cells of TEST_COLUMNS, such as ``+0.54*``, ``[0.12, 0.96]``, 0.012 and 0.024.

    Args:
        difference: None for the baseline
        test: of the difference; None without one
        corrected_p: by which it has stars
        several: systems are compared with this baseline, so that both p are shown
    """
    stars = ""
    if corrected_p is not None and corrected_p < LEVEL:
        stars = "**" if corrected_p < STRICT else "*"
    return (
        number_cell(difference, "+.2f") + stars,
        f"[{test.interval[0]:.2f}, {test.interval[1]:.2f}]" if test else "",
        p_cell(test.p_value if test else None),
        p_cell(corrected_p if several else None),
    )


def p_cell(p_value: float | None) -> str:
    """Returns a p with three digits, ``<0.001`` below them; nothing without a test."""
    return "<0.001" if p_value is not None and p_value < 0.001 else number_cell(p_value, ".3f")


def comparison_table(
    comparisons: Sequence[Comparison], metric: str
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Returns header and rows of a table of systems, the baseline first."""
    several = len(comparisons) > 2
    rows = []
    for c in comparisons:
        tests = test_cells(c.difference, c.against, c.corrected_p, several)
        # sacreBLEU's p has the digits that sacreBLEU prints
        sacrebleu = number_cell(c.against.sacrebleu_p_value if c.against else None, ".3f")
        rows.append((c.name, f"{c.score:.2f}", f"{c.interval:.2f}", *tests, sacrebleu))
    baseline = f"against {comparisons[0].name}"
    return [baseline, metric, "± 95%", *TEST_COLUMNS, "p (sacreBLEU)"], rows


def comparison_notes(comparisons: Sequence[Comparison], metric: str) -> list[str]:
    """Returns the lines under the table of :func:`comparison_table`."""
    baseline, *others = comparisons
    return difference_notes({c.name: c.against for c in others}, baseline.name, metric)


def difference_notes(
    found: Mapping[str, Difference | None], baseline: str, metric: str
) -> list[str]:
    """Returns the lines under a table of differences to one baseline.

    Args:
        found: name → test, or None where both systems have too little text
        baseline: its name
        metric: name of the metric
    """
    tests = {name: test for name, test in found.items() if test}
    notes = _notes_on_tests(tests, baseline, metric) if tests else []
    untested = ", ".join(name for name in found if name not in tests)
    if untested:
        n_grams = " with a matching 4-gram" if score_name(metric) == "BLEU" else ""
        notes.append(
            f"{untested}: no p, because there are fewer than {LEAST_SENTENCES} sentences{n_grams}"
        )
    return notes


def _notes_on_tests(tests: Mapping[str, Difference], baseline: str, metric: str) -> list[str]:
    without_seeds = [name for name, test in tests.items() if test.freedom is None]
    seeds = len(without_seeds) < len(tests)
    notes = [
        f"difference: to {baseline}; 95% interval and two-sided p include variation between "
        f"sentences (paired bootstrap, {RESAMPLES:,} resamples)"
        + (" and between seeds (Satterthwaite)" if seeds else "")
    ]
    if without_seeds and seeds:
        names = ", ".join(without_seeds)
        notes.append(f"{names}: interval and p do not include variation between seeds")
    elif without_seeds:
        notes.append("interval and p do not include variation between training seeds")
    several = len(tests) > 1
    corrected = f" after Holm's correction for {len(tests)} systems" if several else ""
    notes.append(f"stars: * p < {LEVEL}, ** p < {STRICT}, two-sided{corrected}")
    sizes = [f"{test.detectable:.1f}" for test in sorted(tests.values(), key=_detectable)]
    size = f"{sizes[0]} {score_name(metric)}"
    if sizes[0] != sizes[-1]:
        size = f"{sizes[0]} to {sizes[-1]} {score_name(metric)}, depending on the system"
    before = " before the correction" if several else ""
    notes.append(f"with 80% power such a test (p < {LEVEL}{before}) finds a difference of {size}")
    return notes


def _detectable(test: Difference) -> float:
    return test.detectable
