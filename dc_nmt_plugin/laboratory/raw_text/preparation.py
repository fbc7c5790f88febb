"""Tokenisation, casing and cleaning of a whole corpus, as the papers' scripts do them."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import islice
from pathlib import Path

from ...machine import usable_cpus
from ...text.languages import known_as
from . import TextSettings
from .checks import escape_symbols
from .tokenizers import moses_tokenizer, split_line

CHUNK = 2000  # lines for a process at a time


def tokenise(lines: Iterable[str], language: str, settings: TextSettings) -> Iterator[str]:
    """Yields tokens separated by single spaces, line by line, on several CPUs for long text."""
    work = partial(_tokenise_chunk, language, settings)
    rest = iter(lines)
    chunks = iter(lambda: list(islice(rest, CHUNK)), [])
    first = next(chunks, [])
    yield from work(first)
    if len(first) < CHUNK:
        return
    processes = usable_cpus()
    # what this process has imported is there in a fork; Python 3.14 makes none by default
    kind = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    with ProcessPoolExecutor(processes, kind, initializer=_obey) as pool:
        # some at a time, because a queue must not hold a corpus of gigabytes
        while some := list(islice(chunks, 4 * processes)):
            for tokenised in pool.map(work, some):
                yield from tokenised


def _obey() -> None:
    """Lets a process of the pool end at once; the parent handles an interrupt."""
    # Python's own handler does not run in a process that waits for a lock: the pool would not end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process when its parent is killed: it would hold the lock of the text for ever."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def _tokenise_chunk(language: str, settings: TextSettings, lines: list[str]) -> list[str]:
    for step in _steps(language, settings):
        lines = list(map(step, lines))
    return lines


@cache  # once in each process
def _steps(language: str, settings: TextSettings) -> list[Callable[[str], str]]:
    steps: list[Callable[[str], str]] = []
    if settings.punctuation:
        from sacremoses import MosesPunctNormalizer

        normaliser = MosesPunctNormalizer(lang=known_as(language), post_remove_control_chars=True)
        steps.append(normaliser.normalize)
    if settings.tokenizer == "moses":
        steps.append(moses_tokenizer("moses-a" if settings.hyphens else "moses", language))
    elif settings.tokenizer == "split":
        steps.append(split_line)
    else:
        steps.append(lambda line: escape_symbols(" ".join(line.split())))
    if settings.casing == "lower":
        steps.append(str.lower)
    return steps


def fits(source: str, target: str, max_tokens: int, ratio: float) -> bool:
    """Returns True if clean-corpus-n.perl would keep a tokenised pair; 0 means no limit."""
    lengths = sorted((len(source.split()), len(target.split())))
    if not lengths[0] or (max_tokens and lengths[1] > max_tokens):
        return False
    return not ratio or lengths[1] <= ratio * lengths[0]


def learn_truecaser(lines: Iterable[str], path: Path) -> Callable[[str], str]:
    """Learns a truecaser from tokenised text, and saves it to ``path``."""
    from sacremoses import MosesTruecaser

    moses, casing = MosesTruecaser(), defaultdict[str, Counter[str]](Counter)
    for line in lines:  # its own train() holds every token of the corpus
        for lower, form, weight in moses.learn_truecase_weights(line.split()):
            casing[lower][form] += weight
    moses._save_model_from_casing(casing, str(path))
    return load_truecaser(path)


def load_truecaser(path: Path) -> Callable[[str], str]:
    """Loads a truecaser of :func:`learn_truecaser`, for tokenised lines."""
    from sacremoses import MosesTruecaser

    class Unlimited(MosesTruecaser):
        MAX_MODEL_ENTRIES = 1 << 62  # a check for untrusted models; this model was learnt here

    learnt = Unlimited(str(path))
    return lambda line: learnt.truecase(line, return_str=True) if line else line
