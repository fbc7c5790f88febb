"""Flags for decoding change trained models; what a model lacks is named."""

import pytest
from fairseq.tasks import TASK_REGISTRY
from fairseq.tasks.translation import TranslationTask
from helpers import build

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.flags import PUBLISHED
from dc_nmt_plugin.tasks.translation import JointTranslationTask, TranslationConfig


@pytest.fixture
def load(monkeypatch):
    """Loads a model as fairseq does from a checkpoint, by the task of a name, with flags."""

    def call(model, name="translation_dc_nmt", from_checkpoint=True, **flags):
        monkeypatch.setattr(TranslationTask, "build_model", lambda *_: model)
        task = object.__new__(TASK_REGISTRY[name])
        task.cfg = TranslationConfig(**flags)
        assert task.build_model(None, from_checkpoint) is model
        return task

    return call


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_name_is_the_same_task(load, name):
    assert issubclass(TASK_REGISTRY[name], JointTranslationTask)
    model = build("transformer_ms_aux_aif", source_features="m-10")
    load(model, name)
    assert model.decoder.decode_with is None and model.decoder.fuse
    assert model.encoder.masked_layers == frozenset()
    load(model, name, decode_with="aux:1", no_aux_fusion=True, mask_source_layers="1, 3")
    assert model.decoder.decode_with == 1 and not model.decoder.fuse
    assert model.encoder.masked_layers == {1, 3}


@pytest.mark.parametrize(
    ("arch", "flags", "words"),
    [
        ("transformer_dc", {"decode_with": "aux:1"}, ["--decode-with: 'aux:1'", "main"]),
        ("transformer_ms_aux", {"decode_with": "aux:2"}, ["'aux:2'", "main, aux:1"]),
        ("transformer_ms_aux", {"no_aux_fusion": True}, ["--no-aux-fusion", "--aux-fusion"]),
        ("transformer_dc", {"mask_source_layers": "1"}, ["--mask-source-layers: '1'", "one of 3"]),
        ("transformer_mlmha", {"mask_source_layers": "top"}, ["--mask-source-layers: 'top'"]),
        (
            "gru_selfattn_residual",
            {"mask_source_layers": "2"},
            ["--mask-source-layers: ", "reads no encoder layers"],
        ),
        ("transformer_dc", {"length_penalty": "Wu"}, ["--length-penalty: 'Wu'", "fairseq, wu"]),
        (
            "transformer_dc",
            {"eval_bleu": True, "eval_bleu_decoders": "main,aux:1"},
            ["--eval-bleu-decoders: 'aux:1'"],
        ),
        ("transformer_ms_aux", {"eval_bleu_decoders": "aux:1"}, ["needs --eval-bleu"]),
        ("transformer_ms_aux", {"decode_with": "aux:1", "from_checkpoint": False}, ["training"]),
    ],
)
def test_what_cannot_be_done_is_named(load, arch, flags, words):
    with pytest.raises(UserError) as error:
        load(build(arch, embed_dim=12, hidden_dim=14), **flags)
    assert all(word in str(error.value) for word in words) and "\n" not in str(error.value)


def test_a_validation_measures_every_decoder(load):
    model = build("transformer_ms_aux")
    with pytest.raises(UserError, match="--decode-with: is for translating"):
        load(model, decode_with="aux:1").valid_step({}, model, None)
