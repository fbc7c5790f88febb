"""``dc-nmt bench --scaling``: what grows, how fast, and the table, JSON and figure of it."""

from __future__ import annotations

import json

import pytest
from helpers import few

from dc_nmt_plugin.bench import GROWING, STOCK, USUAL
from dc_nmt_plugin.bench.data import random_batches
from dc_nmt_plugin.bench.scaling import AXES, exponent
from dc_nmt_plugin.bench.subjects import build_model
from dc_nmt_plugin.commands.bench import main
from dc_nmt_plugin.errors import UserError

SMALL = ["--max-tokens", "40", "--length", "6", "--vocabulary", "50", "--rounds", "1"]


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_the_exponent_of_a_power(power):
    values = [10, 30, 100, 300, 1000]
    assert exponent(values, [7 * value**power for value in values]) == pytest.approx(power)


def test_what_does_not_grow_is_left_behind():
    values = [1, 10, 100, 1000, 10_000]
    assert exponent(values, [500 + value for value in values]) > 0.6
    assert exponent(values[:1], [1.0]) is None
    assert exponent(values, []) is None


def test_every_axis_is_named():
    assert tuple(AXES) == GROWING


@pytest.mark.parametrize(
    ("axis", "arch", "value", "count"),
    [
        ("layers", "transformer_dc_micro", 3, lambda model: len(model.decoder.layers)),
        ("layers", STOCK, 3, lambda model: len(model.encoder.layers)),
        ("decoders", "transformer_ms_aux_micro", 2, lambda model: len(model.decoder.auxiliary)),
    ],
)
def test_the_flags_build_what_the_axis_names(axis, arch, value, count):
    task, _ = random_batches(vocabulary=50, sentences=1, length=5, batches=1)
    flags = AXES[axis].flags(value, 4)
    name = arch if arch == STOCK else f"{arch} {flags}"
    like = f"{'transformer_standard_micro' if arch == STOCK else arch} {flags}"
    assert count(build_model(name, like, task)) == value


@pytest.mark.parametrize("axis", few(GROWING, "source-layers", "beam"))
def test_the_command_measures_every_subject_at_every_value(axis, capsys, tmp_path):
    arch = {"source-layers": "transformer_mlmha_micro", "decoders": "transformer_ms_aux_micro"}
    words = [arch.get(axis, "transformer_dc_micro"), "--scaling", axis, *SMALL, "--no-memory"]
    values = ["60", "90"] if axis == "vocabulary" else ["2", "3"]
    plot = ["--plot", str(tmp_path / "figure.svg")]
    assert main([*words, "--values", *values, *plot, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["grows"] == axis
    names = [(row["mode"], row["name"]) for row in report["results"]]
    assert names == [
        (mode, name) for mode in USUAL if mode in AXES[axis].modes for name in (STOCK, words[0])
    ]
    for row in report["results"]:
        assert row["values"] == [int(value) for value in values]
        assert len(row["seconds"]) == 2 and min(row["seconds"]) > 0
    assert AXES[axis].label in (tmp_path / "figure.svg").read_text()


def test_memory_grows_with_the_sentence(capsys):
    words = ["transformer_standard_micro", "--scaling", "length", "--values", "60", "500"]
    assert main([*words, "--mode", "train", "--max-tokens", "1000", "--rounds", "1"]) == 0
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert [table.splitlines()[0].split(" (")[0] for table in tables[1:]] == [
        "train, time of a batch",
        "train, peak memory",
    ]
    for line in tables[2].splitlines()[2:]:
        name, short, long, power = line.split()
        # both hold what is imported; what 440 more tokens take comes on top
        assert float(long.replace(",", "")) > 40 + float(short.replace(",", "")), name
        assert float(power) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--values", "3"], ["--values", "--scaling"]),
        (["--plot", "x.png"], ["--plot", "--scaling"]),
        (["--scaling", "beam", "--values", "4", "2"], ["--values 4 2", "rise"]),
        (["--scaling", "vocabulary", "--values", "4", "9"], ["--values 4 9", "from 5 or more"]),
        (["--scaling", "beam", "--mode", "train"], ["--mode train", "beam", "decode"]),
        (["--scaling", "length", "--data", "x"], ["--data x", "random"]),
        (["--scaling", "length", "--plot", "x.gif"], ["--plot", "x.gif"]),
        (["--scaling", "source-layers"], ["--source-layers"]),
    ],
)
def test_bad_input_is_one_sentence(words, said):
    with pytest.raises(UserError) as error:
        main(["transformer_dc_micro", *SMALL, *words])
    for word in said:
        assert word in str(error.value)
