"""compare-mt's HTML report and its bootstrap test (Neubig et al. 2019), by its own program.

Its test differs from sacreBLEU's. It draws samples of half the test set with replacement, which
makes intervals √2 too wide. It counts how often one system wins, and its one-sided p is 1 minus the
share of the better system. The dual-contextual paper uses this test.
"""

from __future__ import annotations

import html
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import UsageError, UserError
from ..files import write_lines
from .metrics import METRICS, Metric

RESAMPLES = 1000
SEED = 12345
MOST_SYSTEMS = 8  # compare-mt has colours for so many
OURS = ("index.html", "compare_mt.css")


def check_report(folder: Path, systems: int, metric: Metric) -> None:
    """Checks what can be checked before the report, which takes minutes.

    Raises:
        UserError: the metric is no BLEU, the folder holds something else, there are too many
            systems, or compare-mt is not installed
    """
    if not metric.is_bleu:
        raise UsageError(f"--html: compare-mt's report is of BLEU, not of {metric.name}")
    if folder.is_file() or (folder.exists() and not _is_empty_or_report(folder)):
        raise UserError(f"{folder}: exists and is no report of compare-mt: choose another folder")
    if systems > MOST_SYSTEMS:
        raise UserError(f"compare-mt's report takes {MOST_SYSTEMS} systems, not {systems}")
    if not importlib.util.find_spec("compare_mt"):
        raise UserError("compare-mt is not installed: pip install compare-mt six")


def _is_empty_or_report(folder: Path) -> bool:
    return not any(folder.iterdir()) or all((folder / name).is_file() for name in OURS)


def write_report(
    folder: Path,
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    lowercase: bool,
) -> None:
    """Writes ``folder/index.html``: scores, the test, lengths, n-grams, sentences.

    Args:
        folder: created; an earlier report in it is replaced (:func:`check_report`)
        systems: name → lines, with spaces between words; the first is the baseline
        references: lines
        lowercase: ignore case

    Raises:
        UserError: a system has no matching 4-gram, or compare-mt fails
    """
    for name, lines in systems.items():
        if not METRICS["multi-bleu"].score(lines, references, "en")[0]:
            # compare-mt takes an order of n-grams without a match for a perfect one
            raise UserError(f"--html: {name} has no matching 4-gram; compare-mt's BLEU is wrong")
    with tempfile.TemporaryDirectory() as temporary:
        texts = {f"system{n}": lines for n, lines in enumerate(systems.values())}
        for name, lines in {"reference": references, **texts}.items():
            # compare-mt writes words into the page as they are
            write_lines(Path(temporary, name), [html.escape(line, quote=False) for line in lines])
        case = f"case_insensitive={lowercase}"
        command = [sys.executable, "-m", "compare_mt.compare_mt_main", "reference", *texts]
        command += ["--sys_names", *map(html.escape, systems), "--seed", str(SEED)]
        command += ["--compare_scores", f"score_type=bleu,bootstrap={RESAMPLES},{case}"]
        command += ["--output_directory", "report"]
        done = subprocess.run(command, cwd=temporary, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"compare-mt failed: {done.stderr.strip().splitlines()[-1]}")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(Path(temporary, "report"), folder)
