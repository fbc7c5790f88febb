"""Tiny models, dictionaries and batches for tests."""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from torch import Tensor, nn

from dc_nmt_plugin.speed.beam_search import BeamSearchGenerator
from scripts.toy_text import toy_pairs

THOROUGH = pytest.mark.thorough
# widths at which swapped dimensions do not fit
TINY: dict[str, Any] = {
    "encoder_embed_dim": 12,
    "encoder_ffn_embed_dim": 20,
    "encoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_embed_dim": 12,
    "decoder_ffn_embed_dim": 20,
    "decoder_layers": 2,
    "decoder_attention_heads": 3,
    "max_source_positions": 64,
    "max_target_positions": 64,
}


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


def dictionary(words: int = 19) -> Dictionary:
    """Special symbols and `words` words."""
    result = Dictionary()
    for number in range(words):
        result.add_symbol(f"w{number}")
    return result


def task(words: int = 19) -> argparse.Namespace:
    """What a model needs of a task: one dictionary for both sides."""
    both = dictionary(words)
    return argparse.Namespace(
        source_dictionary=both, target_dictionary=both, dictionary=both, output_dictionary=both
    )


def build(arch: str, words: int = 19, seed: int = 1, **settings: Any) -> Any:
    """A model of an architecture at the tiny size, in evaluation mode, float32."""
    torch.manual_seed(seed)
    args = argparse.Namespace(arch=arch, **{**TINY, **settings})
    ARCH_CONFIG_REGISTRY[arch](args)
    return ARCH_MODEL_REGISTRY[arch].build_model(args, task(words)).eval()


def perturb(model: nn.Module, seed: int = 2) -> Any:
    """Fill every parameter, biases and norms too, with values that are not special."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.1 * noise.to(parameter))
    return model


def sentences(lengths: list[int], seed: int = 3, words: int = 19) -> list[Tensor]:
    """Random token ids, one tensor a sentence, each ending with </s>."""
    generator = torch.Generator().manual_seed(seed)
    first = dictionary(words).nspecial
    high = first + words
    return [
        torch.cat(
            [torch.randint(first, high, (length - 1,), generator=generator), torch.tensor([2])]
        )
        for length in lengths
    ]


def pad(rows: list[Tensor], *, left: bool, extra: int = 0) -> Tensor:
    """(B, T): sentences side by side, padded on one side, with `extra` further columns."""
    width = max(len(row) for row in rows) + extra
    batch = torch.full((len(rows), width), 1, dtype=torch.long)
    for index, row in enumerate(rows):
        if left:
            batch[index, width - len(row) :] = row
        else:
            batch[index, : len(row)] = row
    return batch


def shifted(rows: list[Tensor]) -> list[Tensor]:
    """Decoder input: </s> first, the last token left out."""
    return [torch.cat([torch.tensor([2]), row[:-1]]) for row in rows]


def sample(
    source: list[Tensor],
    target: list[Tensor],
    *,
    left_source: bool = True,
    left_target: bool = False,
) -> dict[str, Any]:
    """A batch as fairseq's translation task makes it."""
    return {
        "id": torch.arange(len(source)),
        "nsentences": len(source),
        "ntokens": sum(len(row) for row in target),
        "net_input": {
            "src_tokens": pad(source, left=left_source),
            "src_lengths": torch.tensor([len(row) for row in source]),
            "prev_output_tokens": pad(shifted(target), left=left_target),
        },
        "target": pad(target, left=left_target),
    }


def translated(model: Any, **options: Any) -> list[dict[str, Tensor]]:
    """Hypotheses of three sentences by this plugin's beam search, best first in each sentence."""
    batch = sample(sentences([5, 3, 4]), sentences([4, 2, 5], seed=5))
    search = BeamSearchGenerator([model], dictionary(), beam_size=3, max_len_b=6, **options)
    return [each for rows in search.generate([model], batch) for each in rows]
