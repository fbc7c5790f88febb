"""fairseq's programs start on every Python, without warnings; other programs are left alone."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Optional

import pytest
from fairseq import options
from fairseq.dataclass import utils
from fairseq.dataclass.utils import interpret_dc_type
from helpers import few
from omegaconf import OmegaConf

from dc_nmt_plugin.patches.command_lines import leave_out_defaults
from dc_nmt_plugin_start import accept_late_help, read_optional_types

ROOT = Path(__file__).resolve().parents[3]
NEW = pytest.mark.skipif(sys.version_info < (3, 14), reason="an older Python needs no help here")


def start(*command: str) -> subprocess.CompletedProcess[str]:
    """A program of this environment, started as a user does."""
    program = Path(sys.executable).with_name(command[0])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [str(program), *command[1:]]
    return subprocess.run(
        words, env=environment, cwd="/", capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("program", "flag", "expected"),
    [
        ("train", "--help", "--max-update"),
        pytest.param("hydra-train", "--version", "Hydra 1.", marks=NEW),
    ],
)
def test_fairseqs_programs_start_without_warnings(program, flag, expected):
    done = start(f"fairseq-{program}", flag)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    assert "Warning:" not in done.stderr


def test_other_programs_that_import_torch_are_left_alone():
    code = """
import sys, warnings
before = list(warnings.filters)
import torch
print([f for f in warnings.filters if f not in before and f[1] and "script" in f[1].pattern])
print("hydra" in sys.modules, "fairseq" in sys.modules, "dc_nmt_plugin" in sys.modules)
finders = [f for f in sys.meta_path if getattr(f, "__module__", "") == "dc_nmt_plugin_start"]
print(len(finders) == (sys.version_info >= (3, 14)))
import gc
print(gc.get_freeze_count(), gc.isenabled())
"""
    done = start("python", "-W", "ignore", "-c", code)
    expected = ["[]", "False False False", "True", "0 True"]
    assert done.stdout.splitlines() == expected, done.stderr


IMPORTED = """
import gc, json, sys
import fairseq_cli.train
import dc_nmt_plugin.registration
from dc_nmt_plugin.patches import states
from fairseq.criterions.sentence_prediction import acc_and_f1, pearson_and_spearman
from fairseq.tasks.audio_classification import sklearn_metrics
import torch
optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])
optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))], "lr": 0.5})
optimizer.load_state_dict(optimizer.state_dict())
optimizer.zero_grad()
modules = list(sys.modules)
frozen, collects = gc.get_freeze_count(), gc.isenabled()
import numpy as np
ones, rising = np.array([1, 0, 1]), np.array([1.0, 2.0, 3.0])
called = [acc_and_f1(ones, ones)["f1"], pearson_and_spearman(rising, rising)["spearmanr"],
          len(sklearn_metrics.roc_curve(ones, rising))]
applied = [state.patch.name for state in states() if state.state == "applied"]
print(json.dumps([modules, frozen, collects, called, applied, "scipy.stats" in sys.modules]))
"""
HEAVY = ("sklearn", "scipy", "pandas", "matplotlib", "torchaudio", "tensorboard", "sympy")
ROOMS = {"allocator", "checkpoints", "compat", "criterions", "errors", "files", "flags", "gate",
         "machine", "models", "modules", "names", "patches", "registration", "tasks"}  # fmt: skip


def test_a_program_imports_what_every_task_needs():
    done = start("python", "-W", "ignore", "-c", IMPORTED)
    modules, frozen, collects, called, applied, late = json.loads(done.stdout)
    assert [name for name in modules if name.partition(".")[0] in HEAVY] == []
    assert "torch._dynamo" not in modules
    own = {name.split(".")[1] for name in modules if name.startswith("dc_nmt_plugin.")}
    assert own == ROOMS
    assert len(modules) < 2300  # 2,010; fairseq alone has 2,770 without the plugin
    assert frozen > 100_000 and collects
    assert called == [pytest.approx(1), pytest.approx(1), 3] and late
    assert {"metrics_when_called", "no_garbage_at_the_start"} <= set(applied)
    assert "optimizers_without_compiler" in applied


@NEW
def test_workers_of_a_program_are_forks():
    code = """
import multiprocessing
import fairseq_cli.train
import dc_nmt_plugin.registration
print(multiprocessing.get_start_method())
"""
    assert start("python", "-W", "ignore", "-c", code).stdout == "fork\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Optional[str], str),  # noqa: UP045
        (list[int] | None, list[int]),
        (int | str, int | str),
        (int | str | None, int | str | None),
        (float, float),
    ],
)
def test_optional_types_in_each_form(given, expected):
    assert read_optional_types(interpret_dc_type)(given) == expected


LINES = {
    "transformer": "--task translation --clip-norm 1 --lr 0.1,0.2 --optimizer adam "
    "--adam-betas (0.9,0.98) --lr-scheduler inverse_sqrt --activation-fn gelu",
    "transformer_iwslt_de_en": "--task translation --share-all-embeddings",
    "lstm": "--task translation --encoder-hidden-size 12",
    "transformer_lm": "--task language_modeling",
    "transformer_dc": "--task translation_dc_nmt --criterion label_smoothed_cross_entropy",
    "transformer_ms_aux_aif": "--task translation_dc_nmt --criterion transformer_ms_aux "
    "--optimizer adam --total-num-update 5 --lr-scheduler polynomial_decay",
    "gru_selfattn_residual": "--task gru_selfattn_residual --criterion gru_selfattn_residual",
}


def plain(value: object) -> object:
    """Settings with the type of each."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return vars(value) if isinstance(value, argparse.Namespace) else (type(value), value)


@pytest.mark.parametrize("arch", few(LINES, "transformer", "transformer_ms_aux_aif"))
def test_settings_are_the_same_without_their_defaults(arch, monkeypatch):
    parser = options.get_training_parser()
    words = ["data", "--arch", arch, *LINES[arch].split()]
    args = options.parse_args_and_arch(parser, words)
    stock = getattr(utils._override_attr, "__wrapped__", utils._override_attr)
    found, told = [], []
    for override in (stock, leave_out_defaults(stock)):
        monkeypatch.setattr(utils, "_override_attr", override)
        told.append(len(utils.override_module_args(args)[0]))
        settings = utils.convert_namespace_to_omegaconf(args)
        found.append(plain(OmegaConf.to_container(settings, enum_to_str=True)))
    assert found[0] == found[1]
    assert told[1] < told[0] / 5


def test_late_help_around_itself_leaves_argparse_as_it_was():
    def parser():
        found = argparse.ArgumentParser(add_help=False)
        return found.add_argument("--x", help=LINES)

    assert accept_late_help(accept_late_help(parser))().help is LINES
    assert "add_argument" not in vars(argparse.ArgumentParser)
