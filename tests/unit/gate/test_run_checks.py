"""Flags that would change nothing are refused before training, and read from checkpoints."""

import argparse

import pytest
from helpers import build
from omegaconf import OmegaConf

from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.gate.run_checks import check_training_run

IDLE = [
    {"encoder_self_attention": "standard", "encoder_self_attention_layers": "1-2"},
    {"decoder_self_attention": "standard", "decoder_self_attention_layers": "1"},
    {"aux_weight": 0.5},
    {"aux_weight": 0.0, "aux_layers": " "},
]
AT_WORK = [
    {"encoder_self_attention": "dual_context", "encoder_self_attention_layers": "1-2"},
    {"aux_weight": 0.5, "aux_layers": "1"},
    {"aux_weight": 1.0, "aux_layers": None},
    {},
]


def of_hydra(flags):
    settings = OmegaConf.create(flags)
    OmegaConf.set_struct(settings, True)
    return settings


FORMS = [lambda flags: argparse.Namespace(**flags), of_hydra]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("flags", IDLE)
def test_refused_in_training(flags, form):
    with pytest.raises(ConfigError) as error:
        check_training_run(form(flags))
    assert len(error.value.problems) == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("flags", AT_WORK)
def test_let_in(flags, form):
    check_training_run(form(flags))


@pytest.mark.parametrize("flags", IDLE[::2])
def test_read_from_checkpoints(flags):
    build("transformer_standard", **flags)
