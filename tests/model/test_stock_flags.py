"""Each flag that fairseq's own ``transformer`` has too changes the model; none is ignored."""

from __future__ import annotations

import argparse
import functools

import pytest
import torch
from fairseq import options
from fairseq.models import ARCH_MODEL_REGISTRY
from helpers import task

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.models.options import read_config
from dc_nmt_plugin.models.transformer.config import TransformerConfig
from dc_nmt_plugin.models.transformer.model import TransformerModel

ARCH = "transformer_standard"
SMALL = {
    **{f"{side}_layers": 2 for side in ("encoder", "decoder")},
    **{f"{side}_embed_dim": 8 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_embed_dim": 12 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
}
# flag → another value than the small model's; flags without a value are given as they are
CHANGED = {
    "activation_dropout": "0.3",
    "activation_fn": "gelu",
    "attention_dropout": "0.3",
    "dropout": "0.3",
    "max_source_positions": "77",
    "max_target_positions": "78",
    "encoder_layerdrop": "0.5",
    "decoder_layerdrop": "0.5",
    "encoder_embed_path": "{vectors}",
    "decoder_embed_path": "{vectors}",
    **{f"{side}_layers": "3" for side in ("encoder", "decoder")},
    **{f"{side}_embed_dim": "16" for side in ("encoder", "decoder")},
    **{f"{side}_ffn_embed_dim": "14" for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": "4" for side in ("encoder", "decoder")},
}
SHARING = ("share_all_embeddings", "share_decoder_input_output_embed")
# flags that are checked together with another one
TOGETHER = {
    "encoder_embed_dim": ["--decoder-embed-dim", "16"],
    "decoder_embed_dim": ["--encoder-embed-dim", "16"],
}


def stock_flags():
    """dest → action of every flag that fairseq's model adds."""
    parser = argparse.ArgumentParser(add_help=False)
    ARCH_MODEL_REGISTRY["transformer"].add_args(parser)
    return {action.dest: action for action in parser._actions}


def our_flags():
    parser = argparse.ArgumentParser(add_help=False)
    ARCH_MODEL_REGISTRY[ARCH].add_args(parser)
    return {action.dest for action in parser._actions}


STOCK = stock_flags()
SHARED = sorted(STOCK.keys() & our_flags())


def command(*flags):
    words = ["data", "--arch", ARCH, "--task", "translation", "--optimizer", "adam"]
    for name, value in SMALL.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return [*words, *flags]


def flag_words(dest, tmp_path=None):
    action = STOCK[dest]
    words = [action.option_strings[0]]
    if action.nargs != 0:
        words.append(CHANGED.get(dest, "1").format(vectors=tmp_path and tmp_path / "vectors"))
    return words


def built(flags, unshared=False):
    args = options.parse_args_and_arch(options.get_training_parser(), command(*flags))
    if unshared:  # what the presets share is shared only on request
        for dest in SHARING:
            setattr(args, dest, f"--{dest.replace('_', '-')}" in flags)
    torch.manual_seed(1)
    return TransformerModel.build_model(read_config(args, TransformerConfig), task())


def nature(model):
    """Returns everything that distinguishes models: weights, and settings of modules."""
    plain = (bool, int, float, str, tuple, type(None))
    recorded = {}
    for name, module in model.named_modules():
        for key, value in vars(module).items():
            if key == "_incremental_state_id":  # a number that is new each time
                continue
            if callable(value):
                value = getattr(value, "__qualname__", type(value).__name__)
            if isinstance(value, plain):
                recorded[name, key] = value
    weights = {name: tensor.tolist() for name, tensor in model.state_dict().items()}
    # a shared matrix is one parameter
    return recorded, weights, len(list(model.parameters())), model.max_positions()


@functools.cache
def unchanged(unshared):
    return nature(built([], unshared))


def test_only_a_flag_makes_a_difference():
    assert len(STOCK) > 40 and len(SHARED) > 25
    assert nature(built([])) == unchanged(False)


@pytest.mark.parametrize("dest", SHARED)
def test_supported(dest, tmp_path):
    words = [*task().source_dictionary.symbols]
    vectors = [f"{word} {' '.join(['0.5'] * 8)}\n" for word in words]
    (tmp_path / "vectors").write_text(f"{len(words)} 8\n" + "".join(vectors))
    unshared = dest in (*SHARING, "decoder_embed_path")
    changed = nature(built([*flag_words(dest, tmp_path), *TOGETHER.get(dest, [])], unshared))
    assert changed != unchanged(unshared), "the flag is accepted and changes nothing"


def test_embeddings_of_a_decoder_that_has_none_of_its_own():
    with pytest.raises(ConfigError, match="--decoder-embed-path"):
        built(["--decoder-embed-path", "vectors"])
