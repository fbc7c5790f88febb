"""dc-nmt: what each command prints, and how it fails."""

import json
import os
import re
import sys

import pytest

import dc_nmt_plugin
from dc_nmt_plugin import cli
from dc_nmt_plugin.bench.measure import interleave, peak_memory, ratio, timed
from dc_nmt_plugin.figure import save
from dc_nmt_plugin.table import format_table


def run(capsys, *argv):
    status = cli.main(list(argv))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_first_screen_has_few_names_and_help_all_has_every_one(capsys):
    def listed(flag):
        status, out, _ = run(capsys, flag)
        assert status == 0
        return re.findall(r"^  ([a-z-]+) +[a-z]", out, re.M)

    first = listed("--help")
    assert first == cli.FIRST_SCREEN and len(first) <= 20
    assert listed("--help-all") == list(cli.COMMANDS)


def test_every_command_has_help(capsys):
    for name in cli.COMMANDS:
        try:
            status = cli.main([name, "--help"])
        except SystemExit as ended:
            status = ended.code
        assert status == 0
        assert f"dc-nmt {name}" in capsys.readouterr().out


def test_an_interrupt_ends_without_a_traceback(capsys, monkeypatch):
    def interrupted(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr("dc_nmt_plugin.commands.user_dir.main", interrupted)
    assert run(capsys, "user-dir") == (130, "", "")


@pytest.mark.parametrize(
    "error", [BrokenPipeError(32, "of a tokenizer"), KeyError("--colour"), OSError("--colour")]
)
def test_an_unknown_failure_is_not_hidden(capfd, monkeypatch, error):
    def failing(argv):
        raise error

    monkeypatch.setattr("dc_nmt_plugin.commands.user_dir.main", failing)
    with pytest.raises(type(error)):
        cli.main(["user-dir"])
    assert capfd.readouterr() == ("", "")


def test_a_known_failure_says_where_its_traceback_is(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("dc_nmt_plugin.commands.user_dir.main", lambda argv: os.listdir(argv[1]))
    status, out, err = run(capsys, "user-dir", "--input", "/nowhere/text")
    (path,) = tmp_path.glob("dc-nmt-*.txt")
    told = "--input /nowhere/text: No such file or directory."
    assert (status, out) == (1, "")
    assert err == f"dc-nmt user-dir: error: {told}\ntraceback: {path}\n"
    assert "FileNotFoundError: [Errno 2]" in path.read_text("utf-8")


def test_an_optional_package_that_is_missing(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("sys.path", [])  # where it would be found
    draw = "dc_nmt_plugin.commands.user_dir.main"
    monkeypatch.setattr(draw, lambda argv: save(None, tmp_path / "x.svg"))
    status, _, err = run(capsys, "user-dir")
    assert status == 1
    assert "error: matplotlib is not installed: pip install matplotlib.\ntraceback: " in err


def test_unknown_command(capsys):
    status, _, err = run(capsys, "parms")
    assert status == 2
    assert "'parms'" in err and "params" in err


def test_user_dir_is_this_package(capsys):
    _, out, _ = run(capsys, "user-dir")
    assert out.strip() == dc_nmt_plugin.__path__[0]
    _, out, _ = run(capsys, "user-dir", "--json")
    assert json.loads(out)["user_dir"] == dc_nmt_plugin.__path__[0]


def test_arch_flags(capsys):
    _, out, _ = run(capsys, "arch-flags", "transformer_dc_full_tiny", "--names")
    flags = "--arch transformer_dc_full_tiny --task transformer_dc --criterion transformer_dc"
    assert out.strip() == flags
    _, out, _ = run(capsys, "arch-flags", "--json")
    assert "gru_selfattn_residual" in json.loads(out)
    status, _, err = run(capsys, "arch-flags", "transformer_cd")
    assert status == 2 and "Did you mean 'transformer_dc'?" in err


def test_params_of_one_architecture(capsys):
    status, out, _ = run(capsys, "params", "transformer_dc_tiny", "--vocabulary", "4000", "--json")
    (row,) = json.loads(out)
    assert status == 0 and row["name"] == "transformer_dc_tiny" and row["vocabulary"] == 4000
    _, text, _ = run(capsys, "params", "transformer_dc_tiny", "--vocabulary", "4000", "--by-part")
    total = int(text.split()[-1].replace(",", ""))
    assert row["built"] == pytest.approx(total / 1e6, abs=1e-3)
    status, _, err = run(capsys, "params", "transformer_dc_tiny", "--vocabulary", "2")
    assert status == 1 and "vocabulary 2" in err


def test_params_takes_the_flags_of_the_model(capsys):
    def count(*words):
        status, out, err = run(capsys, "params", *words, "--vocabulary", "33300", "--json")
        assert status == 0, err
        (row,) = json.loads(out)
        return row["name"], row["built"]

    name, three = count("transformer_mlmha", "--source-layers", "3")
    assert name == "transformer_mlmha --source-layers 3"
    assert three == pytest.approx(73.8, abs=0.05)  # thesis, Table 3.4, M-10, n = 3
    assert count("transformer_mlmha")[1] == pytest.approx(92.7, abs=0.05)  # n = 6
    name, own = count("transformer_standard", "--no-share-all-embeddings")
    assert name == "transformer_standard --no-share-all-embeddings"
    assert own - count("transformer_standard")[1] == pytest.approx(2 * 33_300 * 512 / 1e6, abs=1e-3)
    status, _, err = run(capsys, "params", "transformer_mlmha", "--source-layer", "3")
    assert status == 2 and "'--source-layer' is no flag of transformer_mlmha" in err
    status, _, err = run(capsys, "params", "--share-all-embeddings")
    assert status == 2 and "flags of a model need an ARCH" in err


def test_bench_prints_ratios(capsys):
    argv = ["transformer_standard_micro", "--rounds", "2", "--max-tokens", "60", "--length", "6"]
    argv += ["--source-features", "m-10"]
    status, out, _ = run(capsys, "bench", *argv, "--vocabulary", "50", "--beam", "2", "--json")
    report = json.loads(out)
    assert status == 0
    names = [(row["mode"], row["name"]) for row in report["results"]]
    assert names == [
        (mode, name)
        for mode in ("train", "decode")
        for name in ("stock", "control", "transformer_standard_micro --source-features m-10")
    ]
    assert report["results"][0]["ratio"] == 1.0
    assert all(row["ratio_low"] <= row["ratio"] <= row["ratio_high"] for row in report["results"])
    assert report["results"][2]["peak_memory_mib"] >= 0


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["transformer_dcx"], "transformer_dcx"),
        (["transformer_dc_tiny", "--rounds", "0"], "--rounds: '0'"),
        (["transformer_dc_tiny", "--dc-kernel", "3"], "'--dc-kernel' is no flag of transformer_dc"),
        (["transformer_dc_tiny", "--against", "fast"], "--against: 'fast'"),
        (["transformer_dc_tiny", "--data", "nowhere"], "--data nowhere"),
        (["gru_selfattn_residual_tiny"], "--against stock"),
        (["lstm_lm_selfattn_residual"], "lstm_lm_selfattn_residual: is a language model"),
    ],
)
def test_bench_names_what_is_wrong(capsys, argv, sentence):
    status, _, err = run(capsys, "bench", *argv)
    assert status in (1, 2) and sentence in err


def test_interleaving_and_ratio():
    order = []
    now = [0.0]

    def run(name, seconds):
        def step(sample):
            order.append((name, sample))
            now[0] += seconds

        return timed(lambda: step, ["x", "y"], lambda: now[0])

    times = interleave(
        {"a": run("a", 2.0), "b": run("b", 1.0)},
        batches=2,
        rounds=3,
    )
    assert times == {"a": [2.0] * 3, "b": [1.0] * 3}
    assert [sample for _, sample in order] == list("xxxxyyxx")  # one warm-up round
    assert [name for name, _ in order[2:]] == ["a", "b", "b", "a", "a", "b"]
    order.clear()
    runs = {"a": run("a", 2.0)}
    interleave(runs, batches=2, rounds=1, warm_up=2)
    assert [sample for _, sample in order] == list("xyx")
    measured = ratio(times["a"], times["b"])
    assert (measured.median, measured.low, measured.high) == (2.0, 2.0, 2.0)
    assert ratio([4.0, 2.0, 6.0], [1.0, 1.0, 1.0]).median == 4.0


def test_memory_is_left_out_where_the_system_does_not_tell(monkeypatch):
    monkeypatch.setattr("os.path.exists", lambda path: False)
    assert peak_memory(lambda: None, "cpu") is None


def test_peak_memory_sees_an_allocation():
    def allocate():
        bytearray(64 * 2**20)

    assert 50 < peak_memory(allocate, "cpu") < 200


def test_tables_align_and_drop_empty_columns():
    text = format_table(["name", "n", "empty"], [["a", "1.5", ""], ["longer", "12.25", ""]])
    assert text.splitlines() == ["name        n", "------  -----", "a         1.5", "longer  12.25"]
    text = format_table(["name", "what", "where"], [["a", "two words", "1.5"], ["b", "c", "here"]])
    assert text.splitlines()[0] == "name  what       where" and text.endswith("here")
    assert text.splitlines()[2] == "a     two words  1.5"
