"""Architectures with their flags, as ``dc-nmt arch-flags`` prints them."""

from __future__ import annotations

import shlex

import pytest
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from dc_nmt_plugin import cli
from dc_nmt_plugin.models.presets import FAMILIES, architectures
from dc_nmt_plugin.recipes.architecture import describe


@pytest.mark.parametrize("name", ["transformer_dc_tiny", "gru_selfattn_residual",
                                  "lstm_lm_selfattn_residual_plain"])  # fmt: skip
def test_the_printed_command_is_complete(name, tmp_path):
    """fairseq takes it, and a model with these settings is what it would build."""
    found = describe(name, "dc_nmt_plugin")
    words = shlex.split(found.command.replace("\\\n", " "))
    assert words[:3] == ["fairseq-train", "DATA", "--user-dir"]
    words[1] = str(tmp_path)
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, words[1:])
    cfg = convert_namespace_to_omegaconf(args)
    assert (cfg.model._name, cfg.task._name) == (name, found.task)
    assert cfg.criterion._name == found.criterion and cfg.optimizer._name
    given = {flag for flag in words if flag.startswith("--")}
    for flag in found.flags:
        if flag.name not in given and flag.here:
            value = getattr(cfg.model, flag.name.removeprefix("--").replace("-", "_"))
            shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
            assert shown == flag.here, flag.name


def test_a_flag_has_its_default_and_choices(capsys):
    flags = {flag.name: flag for flag in describe("transformer_dc_full_tiny", "").flags}
    layers, kind = flags["--encoder-layers"], flags["--decoder-self-attention"]
    assert (layers.here, layers.default) == ("4", "6")
    assert kind.here == "dual_context" and kind.default == "standard"
    assert "context_aware" in kind.choices and layers.choices == "1 or more"
    assert flags["--dropout"].here == "0.3"
    assert cli.main(["arch-flags", "transformer_dc_full_tiny", "--all"]) == 0
    text = capsys.readouterr().out
    assert "  --encoder-layers 4: " in text and "default 6" not in text
    assert "ampomah2021dual" in text and max(map(len, text.splitlines()[4:])) <= 100


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
