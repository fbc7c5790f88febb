"""Architectures with their flags, as ``dc-nmt arch-flags`` prints them."""

from __future__ import annotations

import re
import shlex

import pytest
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from dc_nmt_plugin import cli
from dc_nmt_plugin.models.presets import FAMILIES, architectures


@pytest.mark.parametrize(
    ("name", "batches"),
    [
        ("transformer_dc_tiny", "4960 --update-freq 1 --max-update 160000"),
        ("transformer_ctxaware", "4096 --update-freq 8 --max-update 100000"),
        ("gru_selfattn_residual", "4000 --update-freq 1 --max-update 250000"),
        ("lstm_lm_selfattn_residual_plain", "4096 --max-epoch 20"),
    ],
)
def test_the_printed_command_is_complete(name, batches, tmp_path, capsys):
    """fairseq takes it, and a model with these settings is what it would build."""
    assert cli.main(["arch-flags", name, "--all"]) == 0
    text = capsys.readouterr().out
    words = shlex.split(text[text.index("fairseq-train") :].split("\n\n")[0].replace("\\\n", " "))
    assert words[:3] == ["fairseq-train", "DATA", "--user-dir"]
    assert f"--max-tokens {batches} --save-dir checkpoints/{name}" in " ".join(words)
    words[1] = str(tmp_path)
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, words[1:])
    cfg = convert_namespace_to_omegaconf(args)
    family = architectures()[name].family
    assert (cfg.model._name, cfg.task._name) == (name, family.task)
    assert cfg.criterion._name == family.criterion and cfg.optimizer._name
    shown = dict(re.findall(r"^  (--[\w-]+) (.+?): ", text, re.MULTILINE))
    assert len(shown) > 5
    for flag, here in shown.items():
        if flag not in words and here != "(none)":
            value = getattr(cfg.model, flag.removeprefix("--").replace("-", "_"))
            assert {"True": "yes", "False": "no"}.get(str(value), str(value)) == here, flag


def test_the_command_and_the_flags_of_the_mechanism_fit_a_screen(capsys):
    for name in architectures():
        assert cli.main(["arch-flags", name]) == 0
        text = capsys.readouterr().out
        command = text[text.index("fairseq-train") :].split("\n\n")[0].splitlines()
        assert max(len(line) for line in command if "--user-dir" not in line) <= 78, name
        assert len(text.splitlines()) <= 32, name  # 30, and a line for a long path
        assert f"\nAll other flags: dc-nmt arch-flags {name} --all\n" in text


def test_a_flag_has_its_value_and_choices(capsys):
    assert cli.main(["arch-flags", "transformer_dc_full_tiny", "--all"]) == 0
    text = capsys.readouterr().out
    assert "  --encoder-layers 4: " in text and "default 6" not in text
    assert "  --decoder-self-attention dual_context: " in text and "context_aware" in text
    assert "1 or more" in text and "  --dropout 0.3: " in text
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
