"""Flags for decoding change loaded models and can be changed back; what a model lacks is named."""

import argparse

import pytest
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from helpers import build

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.names import PUBLISHED
from dc_nmt_plugin.tasks.translation import JointTranslationTask, TranslationConfig


@pytest.fixture
def generator_for(monkeypatch):
    """Name of a task → call its ``build_generator`` with flags."""
    monkeypatch.setattr(TranslationTask, "build_generator", lambda *args, **kwargs: object())

    def of(model, name="translation_dc_nmt", **flags):
        task = object.__new__(TASK_REGISTRY[name])
        task.cfg = TranslationConfig(**flags)
        return task.build_generator([model], argparse.Namespace())

    return of


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_name_is_the_same_task(generator_for, name):
    assert issubclass(TASK_REGISTRY[name], JointTranslationTask)
    model = build("transformer_ms_aux_aif", source_features="m-10")
    generator_for(model, name, decode_with="aux:1", no_aux_fusion=True, mask_source_layers="1, 3")
    assert model.decoder.decode_with == 1 and not model.decoder.fuse
    assert model.encoder.masked_layers == {1, 3}
    generator_for(model, name)
    assert model.decoder.decode_with is None and model.decoder.fuse
    assert model.encoder.masked_layers == frozenset()


@pytest.mark.parametrize(
    ("arch", "flags", "words"),
    [
        ("transformer_dc", {"decode_with": "aux:1"}, ["--decode-with: 'aux:1'", "main"]),
        ("transformer_ms_aux", {"decode_with": "aux:2"}, ["'aux:2'", "main, aux:1"]),
        ("transformer_ms_aux", {"no_aux_fusion": True}, ["--no-aux-fusion", "--aux-fusion"]),
        ("transformer_dc", {"mask_source_layers": "1"}, ["--mask-source-layers: '1'", "reads: 3"]),
        ("transformer_mlmha", {"mask_source_layers": "top"}, ["--mask-source-layers: 'top'"]),
        (
            "gru_selfattn_residual",
            {"mask_source_layers": "2"},
            ["--mask-source-layers: '2'", "reads: none"],
        ),
    ],
)
def test_what_a_model_does_not_have_is_named(generator_for, arch, flags, words):
    with pytest.raises(ConfigError) as error:
        generator_for(build(arch, embed_dim=12, hidden_dim=14), **flags)
    assert len(error.value.problems) == 1
    assert all(word in str(error.value) for word in words)


def test_a_validation_measures_the_model_that_the_flags_want(monkeypatch):
    model = build("transformer_ms_aux_aif", source_features="m-10")
    monkeypatch.setattr(TranslationTask, "build_model", lambda task, cfg, from_checkpoint: model)
    validating = object.__new__(JointTranslationTask)
    validating.cfg = TranslationConfig(no_aux_fusion=True, mask_source_layers="1,3")
    assert validating.build_model(None, from_checkpoint=True) is model
    assert not model.decoder.fuse and model.encoder.masked_layers == {1, 3}


def test_a_validation_measures_every_decoder():
    validating = object.__new__(JointTranslationTask)
    validating.cfg = TranslationConfig(decode_with="aux:1")
    with pytest.raises(ConfigError, match="--decode-with: is for translating"):
        validating.valid_step({}, build("transformer_ms_aux"), None)
