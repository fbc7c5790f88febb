"""dc-nmt: its list of commands, what wrong command lines say, and what a command imports."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dc_nmt_plugin import __version__, cli
from dc_nmt_plugin.errors import UsageError
from dc_nmt_plugin.laboratory.commands.parser import Parser

ROOT = Path(__file__).resolve().parents[2]
DOCTOR = "dc_nmt_plugin.laboratory.commands.doctor.main"
HEAVY = (
    *("torch", "fairseq", "omegaconf", "hydra", "scipy", "sklearn", "matplotlib", "sacrebleu"),
    "compare_mt",
)


def test_help_lists_every_command(capsys):
    assert cli.main(["--help"]) == 0
    listed = re.findall(r"^  ([a-z-]+) +[a-z]", capsys.readouterr().out, re.M)
    assert listed == list(cli.COMMANDS)
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"dc-nmt {__version__}\n"


def run_alone(code: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Runs Python code in a new process, which imports this package alone."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=variables, cwd=folder, capture_output=True, text=True
    )


def test_help_imports_nothing_heavy_and_has_no_markup():
    """torch and fairseq take seconds to import; the parsers need neither."""
    done = run_alone(
        "import contextlib, io, json, sys\n"
        "from dc_nmt_plugin import cli\n"
        "texts = {}\n"
        "for name in [*cli.COMMANDS, 'analyze matrix']:\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):\n"
        "        cli.main([*name.split(), '--help'])\n"
        "    texts[name] = out.getvalue()\n"
        f"print(json.dumps([texts, [m for m in {HEAVY!r} if m in sys.modules]]))\n"
    )
    texts, heavy = json.loads(done.stdout)
    assert heavy == []
    for name, text in texts.items():
        assert f"usage: dc-nmt {name}" in text and "``" not in text and ":class:" not in text


def test_the_first_use_of_a_name_leaves_logging_as_it_is():
    """fairseq's import of wav2vec sets DEBUG, and adds a handler."""
    code = "import logging, dc_nmt_plugin as p; p.load; "
    done = run_alone(code + "print(logging.root.level, logging.root.handlers)")
    assert done.stdout == "30 []\n", done.stderr


# listings, plans and refusals → exit status, most modules of this package
LIGHT = {
    "recipe list": (0, 15),
    "paper list": (0, 18),
    f"results '{ROOT}/examples/multi30k_en_de/runs/modern'": (0, 19),
    f"results '{ROOT}/examples/europarl_en_fr/seeds'": (0, 19),  # runs with seeds beside the table
    "train multi30k_en_de transformer_dc --gpus 1 --dry-run": (0, 21),
    "arch-flags transformer_dcc": (2, 40),
    "prepare wmt14_en_ed": (2, 54),
}


@pytest.mark.parametrize("line", LIGHT)
def test_a_listing_or_a_plan_imports_little(line, tmp_path):
    status, most = LIGHT[line]
    done = run_alone(
        "import sys\n"
        "from dc_nmt_plugin import cli\n"
        f"status = cli.main({shlex.split(line)!r})\n"
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        "names = [name for name in sys.modules if name.startswith('dc_nmt_plugin')]\n"
        "print(len(names), *sorted(names), file=sys.stderr)\n",
        tmp_path,
    )
    *_, first, modules = done.stderr.splitlines()
    assert first == f"{status} []", done.stderr
    assert int(modules.split()[0]) <= most, modules
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "status", "sentence"),
    [
        ("scroe", 2, "Did you mean 'score'?"),
        ("score --refrence x x --target-lang de", 2, "Did you mean '--reference'?"),
        ("train multi30k_en_de", 2, "required: ARCH"),
        ("train multi30k_en_de transformer_dcc", 2, "Did you mean 'transformer_dc'?"),
        ("evaluate multi30k_en_de transformer_dc --seed x", 2, "--seed: 'x' is not"),
        (
            "train multi30k_en_de transformer_dc --dc-kernel-size 0 --dry-run",
            1,
            "0 is not at least 1",
        ),
        (
            "run multi30k_en_de transformer_dc --encoder-attention-heads 3",
            1,
            "3 heads do not divide",
        ),
        ("run multi30k_en_de transformer_dc --seed 4294967296", 2, "from 0 to 4,294,967,295"),
        # a repeated option that takes one value, ours or fairseq's
        ("score h --reference a --reference b --target-lang en", 2, "given twice"),
        ("new x --train a.de a.en --valid b.de b.en --valid c.de c.en", 2, "given twice"),
    ],
)
def test_a_wrong_command_line_has_one_sentence(line, status, sentence, capsys, cwd):
    assert cli.main(line.split()) == status
    errors = capsys.readouterr().err
    assert sentence in errors and errors.count("\n") == 1
    assert not list(cwd.iterdir())


def test_options_and_arguments_come_in_any_order():
    parser = Parser(prog="x")
    parser.add_argument("task")
    parser.add_argument("archs", nargs="*")
    parser.add_argument("--switch", action="store_true")
    parser.add_argument("--each", action="append", nargs=2)
    parser.add_argument("--one", nargs="+")
    words = "--switch t --one e f --switch a b --each 1 2 --each 3 4 --lr -1e-3 --fp16 -- --x y"
    args, flags = parser.parse_with_flags(words.split())
    assert flags == ["--lr", "-1e-3", "--fp16", "--x", "y"]
    assert args == argparse.Namespace(
        task="t", archs=["a", "b"], switch=True, each=[["1", "2"], ["3", "4"]], one=["e", "f"]
    )
    with pytest.raises(UsageError, match="--one: is given twice"):
        parser.parse_args(["t", "--one", "e", "f", "--one", "g"])


@pytest.mark.parametrize(
    ("error", "status", "printed"),
    [
        (KeyboardInterrupt(), 130, "doctor: stopped"),
        (FileNotFoundError(2, "No such file", "text"), 1, "error: text: No such file\n"),
        (OSError(28, "No space left on device"), 1, "No space left on device: make room"),
        (ModuleNotFoundError(name="ctranslate2.x"), 1, "ctranslate2 is not installed: pip install"),
        (ModuleNotFoundError(name="fairseq.data"), 1, "fairseq is not installed: dc-nmt doctor"),
    ],
)
def test_a_known_failure_has_one_sentence(error, status, printed, capsys, monkeypatch):
    def failing(argv):
        raise error

    monkeypatch.setattr(DOCTOR, failing)
    assert cli.main(["doctor"]) == status
    errors = capsys.readouterr().err
    assert printed in errors and errors.strip().count("\n") == 0


def test_an_unknown_failure_keeps_its_traceback(monkeypatch):
    def failing(argv):
        raise KeyError("--colour")

    monkeypatch.setattr(DOCTOR, failing)
    with pytest.raises(KeyError):
        cli.main(["doctor"])


def test_a_file_s_name_does_not_reach_the_terminal_as_it_is(cwd, capsys):
    files = [f"a\x1b]0;x\x07.{language}" for language in ("en", "de")]
    for file in files:
        (cwd / file).write_text(f"a boy and a dog in {file[-2:]}\n", "utf-8")
    assert cli.main(["check-text", *files]) == 0
    assert capsys.readouterr().out == "a\\x1b]0;x\\x07.en and a\\x1b]0;x\\x07.de: 1 pair\n"
