"""Tiny models, dictionaries and batches for tests."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import pytest
from torch import Tensor

from dc_nmt_plugin.laboratory.tiny_models import TINY as TINY
from dc_nmt_plugin.laboratory.tiny_models import dictionary as dictionary
from dc_nmt_plugin.laboratory.tiny_models import pad as pad
from dc_nmt_plugin.laboratory.tiny_models import perturb as perturb
from dc_nmt_plugin.laboratory.tiny_models import sample as sample
from dc_nmt_plugin.laboratory.tiny_models import sentences as sentences
from dc_nmt_plugin.laboratory.tiny_models import shifted as shifted
from dc_nmt_plugin.laboratory.tiny_models import task as task
from dc_nmt_plugin.laboratory.tiny_models import tiny_model
from dc_nmt_plugin.speed.beam_search import BeamSearchGenerator
from scripts.toy_text import toy_pairs

build = tiny_model
THOROUGH = pytest.mark.thorough


def few(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """Parameters of a test that takes long: those chosen, and with ``--all`` the others too."""
    cases = list(cases)
    assert all(case in cases for case in chosen), chosen
    return [
        case
        if case in chosen
        # a tuple has a value for each of several names
        else pytest.param(*(case if isinstance(case, tuple) else [case]), marks=THOROUGH)
        for case in cases
    ]


# other languages than English: the German text with another letter
LETTERS = {"es": "nñ", "fr": "eé", "ro": "aă", "vi": "eế"}


def toy_text(source: str, target: str, count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Different pairs of sentences in two of en, de, es, fr, ro, vi, zh."""

    def in_language(code: str, english: str, german: str) -> str:
        if code == "zh":  # two characters a word, and no spaces
            numbers = [zlib.crc32(word.encode()) for word in german.strip(".").split()]
            return "".join(chr(0x4E00 + n % 997) + chr(0x4E00 + n % 991) for n in numbers) + "。"
        if code in LETTERS:
            return german.replace(*LETTERS[code])
        return {"en": english, "de": german}[code]

    pairs = toy_pairs(count, seed)
    return [(in_language(source, *pair), in_language(target, *pair)) for pair in pairs]


def translated(model: Any, **options: Any) -> list[dict[str, Tensor]]:
    """Hypotheses of three sentences by this plugin's beam search, best first in each sentence."""
    batch = sample(sentences([5, 3, 4]), sentences([4, 2, 5], seed=5))
    search = BeamSearchGenerator([model], dictionary(), beam_size=3, max_len_b=6, **options)
    return [each for rows in search.generate([model], batch) for each in rows]
