"""Tiny models and batches, for the ground rules and the tests."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from torch import Tensor, nn

from .. import registration as registration
from ..criterions.joint_loss import JointLossCriterion

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
SOURCE_LENGTHS, TARGET_LENGTHS = [7, 3, 5], [4, 6, 2]


def dictionary(words: int = 19) -> Dictionary:
    """Returns special symbols and `words` words."""
    result = Dictionary()
    for number in range(words):
        result.add_symbol(f"w{number}")
    return result


def task(words: int = 19) -> argparse.Namespace:
    """Returns what a model needs of a task: one dictionary for both sides."""
    both = dictionary(words)
    return argparse.Namespace(
        source_dictionary=both, target_dictionary=both, dictionary=both, output_dictionary=both
    )


def tiny_model(arch: str, words: int = 19, seed: int = 1, **settings: Any) -> Any:
    """Returns a model of an architecture at the tiny size, in evaluation mode, float32."""
    torch.manual_seed(seed)
    args = argparse.Namespace(arch=arch, **{**TINY, **settings})
    ARCH_CONFIG_REGISTRY[arch](args)
    return ARCH_MODEL_REGISTRY[arch].build_model(args, task(words)).eval()


def perturb(model: nn.Module, seed: int = 2) -> Any:
    """Fills every parameter, biases and norms too, with values that are not special."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.1 * noise.to(parameter))
    return model


def sentences(lengths: Sequence[int], seed: int = 3, words: int = 19) -> list[Tensor]:
    """Returns random token ids, one tensor a sentence, each ending with </s>."""
    generator = torch.Generator().manual_seed(seed)
    first = dictionary(words).nspecial
    rows = []
    for length in lengths:
        row = torch.randint(first, first + words, (length - 1,), generator=generator)
        rows.append(torch.cat([row, torch.tensor([2])]))
    return rows


def pad(rows: Sequence[Tensor], *, left: bool, extra: int = 0) -> Tensor:
    """Returns (B, T): sentences, padded on one side, with `extra` further columns."""
    width = max(len(row) for row in rows) + extra
    batch = torch.full((len(rows), width), 1, dtype=torch.long)
    for index, row in enumerate(rows):
        if left:
            batch[index, width - len(row) :] = row
        else:
            batch[index, : len(row)] = row
    return batch


def shifted(rows: Sequence[Tensor]) -> list[Tensor]:
    """Returns decoder input: </s> first, the last token left out."""
    return [torch.cat([torch.tensor([2]), row[:-1]]) for row in rows]


def sample(
    source: Sequence[Tensor],
    target: Sequence[Tensor],
    *,
    left_source: bool = True,
    left_target: bool = False,
) -> dict[str, Any]:
    """Returns a batch as fairseq's translation task makes it."""
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


def usual_batch() -> dict[str, Any]:
    """Returns three sentences of different lengths, padded."""
    return sample(sentences(SOURCE_LENGTHS), sentences(TARGET_LENGTHS, seed=5))


def logits_of(
    net: Any,
    source: Sequence[Tensor],
    target: Sequence[Tensor],
    left_source: bool = True,
    left_target: bool = False,
    extra: int = 0,
) -> list[Tensor]:
    """Returns logits, one tensor (T, V) a sentence, without padding."""
    prefix = pad(shifted(target), left=left_target, extra=extra)
    logits, _ = net(pad(source, left=left_source, extra=extra), None, prefix)
    rows = []
    for number, row in enumerate(target):
        first = prefix.size(1) - len(row) if left_target else 0
        rows.append(logits[number, first : first + len(row)])
    return rows


def joint_loss(net: Any, batch: Mapping[str, Any]) -> Tensor:
    """Returns the joint loss of a batch."""
    loss: Tensor = JointLossCriterion(task(), False, 0.1, no_diagnostics=True)(net, batch)[0]
    return loss
