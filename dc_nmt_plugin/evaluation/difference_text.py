"""Differences to a baseline as cells of a table, and the lines under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..table import format_table, number_cell
from .chance import LEVEL, RESAMPLES, Difference
from .significance import LEAST_SENTENCES, Comparison

STRICT = 0.01
TEST_COLUMNS = ("difference", "95% interval", "p", "p (Holm)")
_SCORES = {"chrf": "chrF", "ter": "TER"}


def score_name(metric: str) -> str:
    """Returns what a metric's scores are called: BLEU, chrF or TER."""
    return _SCORES.get(metric, "BLEU")


def test_cells(
    difference: float | None, found: Difference | None, corrected_p: float | None, several: bool
) -> tuple[str, ...]:
    """Returns the cells of TEST_COLUMNS, such as ``+0.54*``, ``[0.12, 0.96]``, 0.012 and 0.024.

    Args:
        difference: None for the baseline
        found: its test; None without one
        corrected_p: by which it has stars
        several: systems are compared with this baseline, so that both p are shown
    """
    level = 1.0 if corrected_p is None else corrected_p
    stars = "**" if level < STRICT else "*" if level < LEVEL else ""
    return (
        number_cell(difference, "+.2f") + stars,
        f"[{found.interval[0]:.2f}, {found.interval[1]:.2f}]" if found else "",
        p_cell(found.p_value if found else None),
        p_cell(corrected_p if several else None),
    )


def p_cell(p_value: float | None) -> str:
    """Returns a p with three digits, ``<0.001`` below them; nothing without a test."""
    return "<0.001" if p_value is not None and p_value < 0.001 else number_cell(p_value, ".3f")


def comparison_header(comparisons: Sequence[Comparison], metric: str) -> tuple[str, ...]:
    """Returns the names of the columns of :func:`comparison_rows`."""
    return (f"against {comparisons[0].name}", metric, "± 95%", *TEST_COLUMNS, "p (sacreBLEU)")


def comparison_rows(comparisons: Sequence[Comparison]) -> list[tuple[str, ...]]:
    """Returns the cells of every system, the baseline first; no Holm for a single comparison."""
    several = len(comparisons) > 2
    return [
        (
            c.name,
            f"{c.score:.2f}",
            f"{c.interval:.2f}",
            *test_cells(c.difference, c.against, c.corrected_p, several),
            number_cell(
                c.against.sacrebleu_p_value if c.against else None, ".3f"
            ),  # as printed there
        )
        for c in comparisons
    ]


def comparison_notes(comparisons: Sequence[Comparison], metric: str) -> list[str]:
    """Returns the lines under the table of :func:`comparison_rows`."""
    baseline, *others = comparisons
    return difference_notes({c.name: c.against for c in others}, baseline.name, metric)


def format_comparisons(comparisons: Sequence[Comparison], metric: str = "BLEU") -> str:
    """Returns the table of all systems, with the lines that explain its columns."""
    table = format_table(comparison_header(comparisons, metric), comparison_rows(comparisons))
    return "\n".join([table, "", *comparison_notes(comparisons, metric)])


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
    notes = []
    if tests:
        seeds = [name for name, test in tests.items() if test.freedom]
        one = [name for name in tests if name not in seeds]
        over = f"sentences (paired bootstrap, {RESAMPLES:,} resamples)"
        over += " and between seeds (Satterthwaite)" if seeds else ""
        notes.append(
            f"difference: to {baseline}; 95% interval and two-sided p include variation between "
            + over
        )
        if seeds and one:
            notes.append(f"{', '.join(one)}: interval and p do not include variation between seeds")
        elif one:
            notes.append("interval and p do not include variation between training seeds")
        corrected = f" after Holm's correction for {len(tests)} systems" if len(tests) > 1 else ""
        notes.append(f"stars: * p < {LEVEL}, ** p < {STRICT}, two-sided{corrected}")
        notes.append(_power_note(list(tests.values()), score_name(metric)))
    if untested := [name for name in found if name not in tests]:
        notes.append(
            f"{', '.join(untested)}: no p, because there are fewer than {LEAST_SENTENCES} sentences"
            + (" with a matching 4-gram" if score_name(metric) == "BLEU" else "")
        )
    return notes


def _power_note(tests: Sequence[Difference], score: str) -> str:
    sizes = sorted(test.detectable for test in tests)
    least, most = f"{sizes[0]:.1f}", f"{sizes[-1]:.1f}"
    size = f"{least} {score}"
    if least != most:
        size = f"{least} to {most} {score}, depending on the system"
    before = " before the correction" if len(tests) > 1 else ""
    return f"with 80% power such a test (p < {LEVEL}{before}) finds a difference of {size}"
