"""What the terminal tells: flags of architectures, versions, near names, completion, help."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from fairseq import options, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from helpers import few

from dc_nmt_plugin import __version__, cli
from dc_nmt_plugin.models.presets import FAMILIES, architectures
from dc_nmt_plugin.models.transformer.axes import ACTIVATIONS
from dc_nmt_plugin.modules.feed_forward import GATED

ROOT = cli.__file__.rsplit(os.sep, 2)[0]
HEAVY = (
    *("torch", "fairseq", "omegaconf", "hydra", "scipy", "sklearn", "matplotlib", "sacrebleu"),
    *("compare_mt", "transformers"),
)


def described(capsys, name):
    assert cli.main(["arch-flags", name, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["transformer_dc_tiny", "gru_selfattn_residual",
                                  "lstm_lm_selfattn_residual_plain"])  # fmt: skip
def test_the_printed_command_is_complete(name, capsys, tmp_path):
    """fairseq takes it, and a model with these settings is what it would build."""
    found = described(capsys, name)
    words = shlex.split(found["command"].replace("\\\n", " "))
    assert words[:3] == ["fairseq-train", "DATA", "--user-dir"]
    words[1] = str(tmp_path)
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, words[1:])
    cfg = convert_namespace_to_omegaconf(args)
    assert (cfg.model._name, cfg.task._name) == (name, found["task"])
    assert cfg.criterion._name == found["criterion"] and cfg.optimizer._name
    given = {flag for flag in words if flag.startswith("--")}
    for flag in found["flags"]:
        if flag["name"] not in given and flag["here"]:
            value = getattr(cfg.model, flag["name"].removeprefix("--").replace("-", "_"))
            shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
            assert shown == flag["here"], flag["name"]


def test_a_flag_has_its_default_choices_and_the_papers_value(capsys):
    flags = {flag["name"]: flag for flag in described(capsys, "transformer_dc_full_tiny")["flags"]}
    layers, kind = flags["--encoder-layers"], flags["--decoder-self-attention"]
    assert (layers["here"], layers["default"], layers["paper"]) == ("4", "6", "6")
    assert kind["here"] == "dual_context" and kind["default"] == "standard" and not kind["paper"]
    assert "context_aware" in kind["choices"] and layers["choices"] == "1 or more"
    assert flags["--dropout"]["here"] == "0.3" and flags["--dropout"]["paper"] == "0.1"
    cli.main(["arch-flags", "transformer_dc_full_tiny"])
    text = capsys.readouterr().out
    assert "  --encoder-layers 4\n" in text and "default 6, in the paper 6" in text
    assert "ampomah2021dual" in text and max(map(len, text.splitlines()[3:20])) <= 100


def test_architectures_are_listed_by_family_with_variants_and_sizes(capsys):
    assert cli.main(["arch-flags"]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) < 130 and max(map(len, text.splitlines())) <= 100
    named = {line.split()[0] for line in text.splitlines() if line.startswith("  ")}
    sizes = {size for family in FAMILIES for size in family.sizes}
    for name in architectures():
        assert name in named or any(name == f"{one}_{size}" for one in named for size in sizes)
    assert "  transformer_dc_full  --encoder-self-attention dual_context" in text
    assert all(f"_{size}" in text for size in sizes if size)


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"dc-nmt {__version__} (Python 3.") and "torch " in printed


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["scroe"], "score"),
        (["score", "--refrence", "x", "x", "--target-lang", "de"], "--reference"),
        (["score", "x", "--target-lang", "de", "--tokenizer", "mose"], "moses"),
        (["score", "x", "--target-lang", "de", "--metrics", "chrff"], "chrf"),
        (["arch-flags", "transformer_dcc"], "transformer_dc"),
        (["paper", "parameters", "transformer_dcc"], "transformer_dc"),
        (["recipe", "lst"], "list"),
        (["recipe", "published", "wmt14_en_ed"], "wmt14_en_de"),
        (["prepare", "multi30k_en_ed"], "multi30k_en_de"),
        (["train", "multi30k_en_de", "transformer_dcc"], "transformer_dc"),
        (["analyze", "gate"], "gates"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(words, near, capsys):
    try:
        status = cli.main(words)
    except SystemExit as ended:
        status = ended.code
    said = capsys.readouterr().err
    assert status == 2
    assert re.search(rf"Did you mean '?{near}'?\?", said), said


def test_help_imports_nothing_heavy_and_has_no_markup():
    """torch and fairseq take seconds to import; the parsers need neither."""
    code = (
        "import contextlib, io, json, sys\n"
        "from dc_nmt_plugin import cli\n"
        "found = {}\n"
        "for name in [None, *cli.COMMANDS]:\n"
        "    out = io.StringIO()\n"
        "    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):\n"
        "        cli.main([name, '--help'] if name else ['--help'])\n"
        "    found[name] = out.getvalue()\n"
        f"print(json.dumps([found, [m for m in {HEAVY!r} if m in sys.modules]]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    texts, heavy = json.loads(done.stdout)
    assert heavy == []
    for name, text in texts.items():
        assert "usage:" in text and "``" not in text and ":class:" not in text, name


QUICK = [  # listings, and refusals: they read data
    ("recipe list", 0),
    ("recipe published iwslt14_es_en", 0),
    ("paper list", 0),
    ("paper list thesis --json", 0),
    ("paper show 'thesis, Table 3.4'", 0),
    ("paper show 'thesis, Table 99'", 2),
    ("arch-flags", 0),
    ("arch-flags transformer_dc_tiny", 0),
    ("arch-flags transformer_dcc", 2),
    ("new folder --train missing.de missing.en", 2),
    ("prepare wmt14_en_ed", 2),
    ("train wmt14_en_ed transformer_dc", 2),
    ("train wmt14_en_de transformer_dcc", 2),
    ("run wmt14_en_ed", 2),
    ("run wmt14_en_de transformer_dcc", 2),
    ("evaluate wmt14_en_de transformer_dcc", 2),
    ("results missing", 1),
    ("paper parameters transformer_dcc", 2),
]


@pytest.mark.parametrize(("line", "status"), few(QUICK, *QUICK[::3]))
def test_a_listing_or_a_refusal_reads_data(line, status, tmp_path):
    """It imports nothing heavy; a generous limit of CPU time finds what no name here does."""
    code = (
        "import os, shlex, sys\n"
        "from dc_nmt_plugin import cli\n"
        f"status = cli.main(shlex.split({line!r}))\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], status, file=sys.stderr)\n"
        "print(sum(os.times()[:4]), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    *said, modules, seconds = done.stderr.splitlines()
    assert modules == f"[] {status}", said
    assert float(seconds) < 4
    assert bool(done.stdout) is not bool(status)
    assert not list(tmp_path.iterdir())


def test_activations_are_those_of_fairseq():
    assert [
        name for name in ACTIVATIONS if name not in GATED
    ] == utils.get_available_activation_fns()


def test_help_in_a_locale_that_lacks_a_character():
    environment = {**os.environ, "PYTHONPATH": ROOT, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "dc_nmt_plugin", "analyze", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"\\u039b" in done.stdout


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("paper parameters transformer_dcc", 2, "Did you mean 'transformer_dc'?"),
        ("translate /nowhere", 1, "/nowhere: no such run folder"),
        ("score", 2, "required"),
        ("train multi30k_en_de", 2, "required: ARCH"),
        ("train multi30k_en_de --fp16 transformer_dc", 2, "put them before --fp16"),
        ("train multi30k_en_de transformer_dc transformer_dc", 2, "one argument too many"),
        ("train multi30k_en_de transformer_dc --droput 0.2", 2, "Did you mean '--dropout'?"),
        ("evaluate multi30k_en_de transformer_dc --bema 4", 2, "Did you mean '--beam'?"),
        ("average a b --outt x", 2, "Did you mean '--out'?"),
        ("evaluate multi30k_en_de transformer_dc --seed x", 2, "--seed: 'x' is not"),
    ],
)
def test_a_wrong_command_line_has_one_exit_status(
    line, status, said, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(line.split()) == status
    errors = capsys.readouterr().err
    assert said in errors and errors.count("\n") == 1
    assert not list(tmp_path.iterdir())
