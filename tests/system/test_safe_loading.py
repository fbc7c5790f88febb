"""What a stranger wrote is never run: pickles, and strings that fairseq's builders evaluate."""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import importlib
import os
import sys
from pathlib import Path

import fairseq
import pytest
import torch
from commands import run
from systems import SOURCE, TARGET, family, training

from dc_nmt_plugin import cli
from dc_nmt_plugin.compat.loading import plain_value
from dc_nmt_plugin.errors import UserError

# architecture of fairseq's → its setting that fairseq evaluates
EVALUATING = {
    "lstm": "decoder_attention",
}
OWNED = "owned"


def program(folder):
    """An expression that leaves a trace."""
    return f"__import__('os').mkdir({str(folder / OWNED)!r})"


class Malicious:
    """Leaves a trace when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder / OWNED),)


def evaluated(arch, good, folder):
    """A checkpoint of `arch` with a program where fairseq evaluates a value."""
    state = copy.deepcopy(good)
    names = {"_name": arch, "arch": arch, EVALUATING[arch]: program(folder)}
    state["cfg"]["model"] = argparse.Namespace(**names)
    state["cfg"]["task"]["_name"] = "translation"
    path = folder / f"{arch}.pt"
    torch.save(state, path)
    return path


@pytest.fixture
def good(trained):
    return torch.load(trained("transformer_dc") / "checkpoint_last.pt", weights_only=True)


def assert_harmless(result, piece, folder):
    assert not (folder / OWNED).exists(), "the program was run"
    everything = result.output + result.errors
    assert result.code == 1 and "Traceback" not in everything, everything[-3000:]
    last = result.errors.rstrip().splitlines()[-1]
    assert last.startswith("error: ") and piece in last, last


LANGUAGES = ("--source-lang", SOURCE, "--target-lang", TARGET)
PROGRAMS = {
    "generate": LANGUAGES,
    "interactive": LANGUAGES,
    "validate": (),
}


@pytest.mark.parametrize("command", PROGRAMS)
def test_strings_that_fairseq_evaluates(command, corpus, good, tmp_path):
    path = evaluated("lstm", good, tmp_path)
    flags = [corpus, "--path", path, "--task", "translation", "--cpu", "--max-tokens", 80]
    result = run(tmp_path, command, *flags, *PROGRAMS[command])
    assert_harmless(result, "is not a plain value", tmp_path)


def test_loading_from_python(corpus, good, tmp_path):
    from dc_nmt_plugin.models.transformer.model import TransformerModel

    path = evaluated("lstm", good, tmp_path)
    with pytest.raises(UserError, match="is not a plain value"):
        TransformerModel.from_pretrained(str(tmp_path), path.name, str(corpus))
    assert sorted(each.name for each in tmp_path.iterdir()) == [path.name]


def test_pickles(corpus, good, tmp_path, monkeypatch):
    """Also where a variable that many set, against an older error, turns the safe loader off."""
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path = tmp_path / "pickled.pt"
    torch.save({**good, "extra_state": Malicious(tmp_path)}, path)
    for command, languages in PROGRAMS.items():
        flags = [corpus, "--path", path, "--task", "transformer_dc", "--cpu", "--max-tokens", 80]
        result = run(tmp_path / "run", command, *flags, *languages)
        assert_harmless(result, f"{path}: was refused and nothing of it was run", tmp_path)
    save = tmp_path / "save"
    save.mkdir()
    path = path.rename(save / "checkpoint_last.pt")
    other = ["--save-dir", tmp_path / "other", "--store-ema"]
    for flags in ([], ["--restore-file", path, *other], ["--ema-seed-model", path, *other]):
        command = training(corpus, save, *family("transformer_dc"), *flags)
        assert_harmless(run(tmp_path / "run", "train", *command), str(path), tmp_path)
    for command in ("average", "export"):
        assert cli.main([command, str(path), "--out", str(tmp_path / "out.pt")]) == 1
        assert not (tmp_path / OWNED).exists() and not (tmp_path / "out.pt").exists()


# -- nothing of fairseq evaluates ------------------------------------------------------------

FOLDER = Path(fairseq.__file__).parent


@functools.cache
def all_calls():
    """(module, name of what is called, whether it is a method, its first argument)."""
    listed = []
    for path in sorted(FOLDER.rglob("*.py")):
        parts = path.relative_to(FOLDER).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        if parts[0] == "examples" or "eval" not in text:
            continue
        module = ".".join(("fairseq", *parts)).removesuffix(".__init__")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "attr", getattr(node.func, "id", None))
                listed.append((module, name, isinstance(node.func, ast.Attribute), node.args[0]))
    return listed


def calls(name):
    """(module, argument) of every call of a function in fairseq's source, its examples aside."""
    for module, called, is_method, argument in all_calls():
        if called == name and not (name == "eval" and is_method):  # model.eval() is another
            yield module, argument


def test_every_eval_of_fairseq_is_replaced():
    modules = {module for module, _ in calls("eval")}
    assert len(modules) > 10
    for name in modules:
        assert name in sys.modules, f"{name} would be imported later"
        assert vars(importlib.import_module(name))["eval"] is plain_value


GOOD = ("[(512, 3)] * 20 + [(1024, 1)]", "(0.9, 0.98)", "True", "None", "10000,20000", "-1e-3",
        "{'name': 'x', 'p': [1, 2]}")  # fmt: skip
BAD = (
    *("__import__('os')", "(lambda: 1)()", "[x for x in (1,)]", "open('/etc/passwd')", "x"),
    *("1 if 1 else 2", "().__class__", "f'{1}'", "1; 2", "a := 1", "{**{}}", "", "(((("),
    *("2 ** 10 ** 10", "[0] * 10 ** 9", "[0] * 1000000000", "'a' * 1000000"),
    "(" * 5000 + ")" * 5000,
)


@pytest.mark.parametrize("text", GOOD)
def test_plain_values(text):
    assert plain_value(text) == eval(text)


@pytest.mark.parametrize("text", BAD)
def test_everything_else(text):
    with pytest.raises(UserError, match="plain value"):
        plain_value(text)
