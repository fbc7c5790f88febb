"""``--int8``: 8-bit linear layers find nearly what those in float32 do, and what cannot is told."""

import copy

import pytest
import torch
from helpers import build, perturb, translated
from product import VALUES
from product import model as transformer

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.tasks.fast.int8 import use_int8
from dc_nmt_plugin.tasks.translation import JointTranslationTask, TranslationConfig


def found(model):
    return [each["score"] for each in translated(model, min_len=6)]


@pytest.mark.parametrize("combination", VALUES, ids=" ".join)
def test_every_kind_decodes_nearly_the_same(combination):
    exact = perturb(transformer(combination))
    rounded = copy.deepcopy(exact)
    for _ in range(2):  # a second generator of the same model changes nothing more
        use_int8(rounded)
    float32 = sum(parameter.numel() for parameter in rounded.parameters())
    assert float32 < 0.7 * sum(parameter.numel() for parameter in exact.parameters())
    scores = torch.stack(found(exact)), torch.stack(found(rounded))
    assert not torch.equal(*scores)
    assert torch.allclose(*scores, atol=0.1)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: build("gru_selfattn_residual", embed_dim=12, hidden_dim=14), "Transformers"),
        (lambda: build("transformer_dc").to("meta"), "on meta; give --cpu"),
        (lambda: build("transformer_dc").half(), "leave --fp16"),
    ],
)
def test_what_cannot_be_rounded_is_told(model, words):
    with pytest.raises(ConfigError, match=f"--int8: .*{words}"):
        use_int8(model())


def test_it_is_for_translating():
    task = object.__new__(JointTranslationTask)
    task.cfg = TranslationConfig(int8=True)
    with pytest.raises(ConfigError, match="--int8: is for decoding"):
        task.build_model(None)
    with pytest.raises(ConfigError, match="--int8: is for translating"):
        task.valid_step({}, build("transformer_dc"), None)
