"""Refused and accepted input, in cases that are easily confused."""

from __future__ import annotations

import importlib
import inspect
import io
import re
import sys
from types import SimpleNamespace

import pytest
from fairseq import options
from torch.multiprocessing import ProcessRaisedException

from dc_nmt_plugin.errors import ConfigError, UserError
from dc_nmt_plugin.gate.explanations import _KNOWN, explained
from dc_nmt_plugin.models.transformer.config import TransformerConfig
from dc_nmt_plugin.patches.interactive import _Input


def parsed(*flags):
    words = ["data", "--optimizer", "adam", *flags]
    return options.parse_args_and_arch(options.get_training_parser(), words)


SUPERVISED = ("--arch", "transformer_ms_aux_tiny", "--task", "transformer_ms_aux",
              "--criterion", "transformer_ms_aux")  # fmt: skip


@pytest.mark.parametrize("metric", ["main_loss", "aux1_nll_loss", "aux1_accuracy", "aux12_ppl"])
def test_the_best_checkpoint_by_what_the_criterion_logs(metric):
    assert parsed(*SUPERVISED, "--best-checkpoint-metric", metric).best_checkpoint_metric == metric


@pytest.mark.parametrize("metric", ["aux1_losss", "nll_los"])
def test_a_slip_in_the_metric_s_name(metric):
    with pytest.raises(ConfigError, match="--best-checkpoint-metric"):
        parsed(*SUPERVISED, "--best-checkpoint-metric", metric)


@pytest.mark.parametrize("name", ["joint_label_smoothed_cross_entropy", "transformer_dc"])
def test_the_joint_loss_is_for_the_plugin_s_architectures(name):
    with pytest.raises(ConfigError, match=f"--criterion {name}: .* transformer_iwslt_de_en is not"):
        parsed("--arch", "transformer_iwslt_de_en", "--task", "translation", "--criterion", name)


@pytest.mark.parametrize("layers", ["1,", ",", "1,,3", "1 , 3 ,"])
def test_a_list_of_layers_with_a_gap(layers):
    with pytest.raises(ConfigError, match=r"--aux-layers: .* is not a list of encoder layers"):
        TransformerConfig(aux_layers=layers).check()


@pytest.mark.parametrize(
    "settings",
    [
        {"aux_layers": "²"},
        {"encoder_self_attention": "dual_context", "encoder_self_attention_layers": "1-²"},
    ],
)
def test_digits_that_are_no_numbers(settings):
    """``"²".isdigit()`` is true, and ``int`` does not read it."""
    with pytest.raises(ConfigError, match="²"):
        TransformerConfig(**settings).check()


def test_one_layer_may_be_a_number():
    """Of Hydra: ``model.aux_layers=3``."""
    cfg = TransformerConfig(aux_layers=3)
    cfg.check()
    assert cfg.auxiliary_layers == [3]


def test_every_problem_of_a_spawned_process_is_told():
    text = (
        "\n\n-- Process 1 terminated with the following error:\nTraceback (most recent call last):"
        '\n  File "x.py", line 3, in check\n    raise ConfigError(problems)\n'
        "dc_nmt_plugin.errors.ConfigError: --aux-layers: '9' is none.\n"
        "--share-all-embeddings: no.\n"
    )
    told = explained(ProcessRaisedException(text, 0, 1))
    assert told == "--aux-layers: '9' is none.\n--share-all-embeddings: no."


PLACES = sorted({place for known in _KNOWN for place in known.places.split() if "*" not in place})


@pytest.mark.parametrize("place", PLACES)
def test_places_of_known_failures_are_there(place):
    """A fairseq that moves them would keep its tracebacks, and nobody would notice."""
    module, function = place.split(":")
    text = inspect.getsource(importlib.import_module(module))
    assert re.search(rf"^ *def {function}\(", text, re.M)


def test_constraints_before_a_line_that_is_too_long():
    """fairseq takes them away from the lines it is given, before it finds the long one."""

    def stock(lines, *_):
        constraints = []
        for place, line in enumerate(lines):
            lines[place], *of_line = line.split("\t")
            constraints.append(of_line)
        if any(len(line.split()) > 3 for line in lines):
            raise Exception("Size of sample #2 is invalid")
        yield constraints

    task = SimpleNamespace(
        get_interactive_tokens_and_lengths=lambda lines, _: (None, [len(x.split()) for x in lines])
    )
    lines, source = ["a b\tc", "b c\td e", "a a a a a"], _Input()
    assert list(source.batches(stock, lines, None, task, (3, 3), None)) == [[["c"], ["d e"]]]
    assert isinstance(source.too_long, UserError) and "input line 3" in str(source.too_long)


def test_a_byte_order_mark_is_no_word(tmp_path, monkeypatch):
    path = tmp_path / "input"
    path.write_bytes(b"\xef\xbb\xbfEin Hund .\nEin \xef\xbb\xbfMann .\n")
    first = ["Ein Hund .", "Ein \ufeffMann ."]
    assert list(_Input().buffers(str(path), 5)) == [first]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    assert list(_Input().buffers("-", 5)) == [first]
