"""compare-mt's HTML report and its bootstrap test (Neubig et al. 2019), as published.

Its test differs from sacreBLEU's. It draws samples of half the test set with replacement, which
makes intervals √2 too wide. It counts how often one system wins, and its one-sided p is 1 minus the
share of the better system. The dual-contextual paper uses this test. compare-mt's BLEU treats an
order of n-grams without a match as if all n-grams matched, so a weak system can win. Here BLEU is
then 0, as in multi-bleu.perl.
"""

from __future__ import annotations

import contextlib
import functools
import html
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UsageError, UserError
from .metrics import Metric

RESAMPLES = 1000
SEED = 12345
MOST_SYSTEMS = 8  # compare-mt has colours for so many
TITLE = "BLEU with compare-mt's test: half-size samples, one-sided, unsmoothed"
OURS = ("index.html", "compare_mt.css")


@dataclass(frozen=True)
class HalfSizeTest:
    """compare-mt's test of a pair of systems.

    Attributes:
        left, right: names
        left_wins, right_wins: share of the samples in which that system scores higher
        p_value: 1 minus the greater share, one-sided
    """

    left: str
    right: str
    left_wins: float
    right_wins: float
    p_value: float


def check_report(folder: Path, systems: int, metric: Metric) -> None:
    """Checks what can be checked before the report, which takes minutes.

    Raises:
        UserError: the metric is no BLEU, the folder holds something else, there are too many
            systems, or compare-mt is not installed
    """
    if not metric.is_bleu:
        raise UsageError(f"--html: compare-mt's report is of BLEU, not of {metric.name}")
    if folder.exists() and not (folder.is_dir() and _is_empty_or_report(folder)):
        raise UserError(f"{folder}: exists and is no report of compare-mt: choose another folder")
    if systems > MOST_SYSTEMS:
        raise UserError(f"compare-mt's report takes {MOST_SYSTEMS} systems, not {systems}")
    try:
        from compare_mt import compare_mt_main, reporters  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"compare-mt cannot be imported ({error}): pip install compare-mt six"
        ) from error


def _is_empty_or_report(folder: Path) -> bool:
    return not any(folder.iterdir()) or all((folder / name).is_file() for name in OURS)


def write_report(
    folder: Path,
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    source: Sequence[str] | None = None,
    lowercase: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Callable[[str], None] = lambda step: None,
) -> list[HalfSizeTest]:
    """Writes ``folder/index.html`` (scores, lengths, n-grams, sentences) and runs the test.

    Args:
        folder: created; an earlier report in it is replaced (:func:`check_report`)
        systems: name → tokenised lines; the first is the baseline
        references: tokenised lines
        source: lines, shown beside the sentences
        lowercase: ignore case
        resamples: of the test
        seed: of numpy's global generator, from which compare-mt draws
        progress: gets a sentence before each step that takes seconds
    """
    from compare_mt import compare_mt_main as main
    from compare_mt import reporters

    names = list(systems)
    # compare-mt writes words and names into the page as they are
    labels = [html.escape(name) for name in names]
    outputs, reference = [_escaped(lines) for lines in systems.values()], _escaped(references)
    shown = None if source is None else _escaped(source)
    pairs = len(names) * (len(names) - 1) // 2
    progress(f"compare-mt's test, {resamples:,} half-size samples, {pairs} pairs")
    with _settings(reporters, labels, seed), contextlib.redirect_stdout(io.StringIO()):
        score = main.generate_score_report(
            reference, outputs, shown, bootstrap=resamples, title=TITLE,
            case_insensitive=lowercase,
        )  # fmt: skip
        progress("compare-mt's scores by word, sentence and n-gram")
        reports = [("Aggregate Scores", [score])]
        reports += _analyses(main, reference, outputs, shown, lowercase)
        progress("compare-mt's figures and page")
        with _replacing_folder(folder) as temporary:
            reporters.generate_html_report(reports, str(temporary), "compare-mt")
    return [
        HalfSizeTest(names[left], names[right], wins[0], wins[1], 1 - max(wins[0], wins[1]))
        for (left, right), wins in score.wins or ()
    ]


def _escaped(lines: Sequence[str]) -> list[list[str]]:
    return [html.escape(line, quote=False).split() for line in lines]


def _analyses(
    main: Any, reference: Any, outputs: Any, source: Any, lowercase: bool
) -> list[tuple[str, list[Any]]]:
    """Returns the sections of compare-mt's default report after the scores."""
    case: dict[str, Any] = {"case_insensitive": lowercase}
    by: Callable[..., Any] = functools.partial(
        main.generate_sentence_bucketed_report, reference, outputs, source
    )
    words = main.generate_word_accuracy_report(reference, outputs, **case)
    sentences = [
        by(bucket_type="length", statistic_type="score", score_measure="bleu", **case),
        by(bucket_type="lengthdiff"),
        by(bucket_type="score", score_measure="sentbleu", **case),
    ]
    sections = [("Word Accuracies", [words]), ("Sentence Buckets", sentences)]
    pairs = ";".join(f"0-{other}" for other in range(1, len(outputs)))
    if pairs:
        ngrams = main.generate_ngram_report(reference, outputs, compare_directions=pairs, **case)
        examples = main.generate_sentence_examples(
            reference, outputs, source, compare_directions=pairs, **case
        )
        sections += [("Characteristic N-grams", [ngrams]), ("Sentence Examples", [examples])]
    return sections


@contextlib.contextmanager
def _settings(reporters: Any, names: list[str], seed: int) -> Iterator[None]:
    """Restores compare-mt's module variables and BLEU, and numpy's global generator, at the end."""
    from compare_mt.scorers import BleuScorer
    from matplotlib import pyplot

    stock = BleuScorer.cache_stats, BleuScorer.score_cached_corpus
    state = np.random.get_state()
    np.random.seed(seed)
    reporters.sys_names, reporters.fig_size = names, (6.0, 4.5)
    reporters.fig_counter = reporters.tab_counter = 0
    BleuScorer.cache_stats = functools.partialmethod(_counts, stock[0])
    BleuScorer.score_cached_corpus = _bleu
    try:
        yield
    finally:
        reporters.sys_names = reporters.fig_size = None
        BleuScorer.cache_stats, BleuScorer.score_cached_corpus = stock
        np.random.set_state(state)
        pyplot.close("all")


def _counts(
    scorer: Any, stock: Callable[..., Any], ref: Any, out: Any, src: Any = None
) -> list[Any]:
    """Returns compare-mt's counts for each sentence: words, matches and n-grams of each order."""
    found = stock(scorer, ref, out, src)
    return [np.array([r, o, *(c for order in orders for c in order)]) for r, o, orders in found]


def _bleu(scorer: Any, sent_ids: Any, cached_stats: list[Any]) -> tuple[float, None]:
    """Returns BLEU of some sentences from :func:`_counts`; 0 if an order never matches."""
    total = np.sum([np.zeros(10), *(cached_stats[i] for i in sent_ids)], axis=0)
    reference, output, matches, ngrams = total[0], total[1], total[2::2], total[3::2]
    if not matches.all():
        return 0.0, None
    brevity = min(0.0, 1 - reference / output)
    return scorer.scale * np.exp(brevity + np.log(matches / ngrams) @ scorer.weights), None


@contextlib.contextmanager
def _replacing_folder(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder, which replaces the earlier report only when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
