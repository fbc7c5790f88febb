"""DistributedDataParallel as users run it: default flags, or a search for unused parameters."""

from __future__ import annotations

import pytest
import torch
from helpers import few
from systems import ADADELTA, family, load, recurrent_training, training
from two_processes import train_on_two

LENGTH = ["--max-update", 4, "--disable-validation"]


def transformer(data, save, *changes):
    """Embeddings of their own: the output projection is no part of what the decoder reads."""
    arch = ["--arch", "transformer_standard_unshared", "--dropout", 0, *changes]
    return training(data, save, *family("transformer_standard")[2:], *arch)


COMMANDS = {
    "GRU": lambda data, save, *more: recurrent_training(data, save, "", *ADADELTA, *more),
    "GRU, memory": lambda data, save, *more: recurrent_training(
        data, save, "memory", *ADADELTA, *more
    ),
    "Transformer, unshared": transformer,
    "auxiliary decoders": lambda data, save, *more: transformer(
        data, save, "--aux-layers", "1", *more
    ),
}


@pytest.mark.parametrize("command", few(COMMANDS, "GRU"))
def test_the_search_for_unused_parameters_changes_nothing(command, corpus, tmp_path):
    models = []
    for name, flags in (("plain", []), ("search", ["--find-unused-parameters"])):
        save = tmp_path / name
        words = COMMANDS[command](corpus, save, *LENGTH, "--update-freq", 2, *flags)
        first, _ = train_on_two(save, "pytorch_ddp", *words)
        assert "training on 2 devices" in first.output
        models.append(load(save)["model"])
    plain, search = models
    assert all(torch.equal(plain[name], search[name]) for name in plain)
