"""dc-nmt: what each command prints, and how it fails."""

import json
import os
import re
import sys

import pytest

from dc_nmt_plugin import cli
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

    monkeypatch.setattr("dc_nmt_plugin.commands.doctor.main", interrupted)
    assert run(capsys, "doctor") == (130, "", "")


@pytest.mark.parametrize(
    "error", [BrokenPipeError(32, "of a tokenizer"), KeyError("--colour"), OSError("--colour")]
)
def test_an_unknown_failure_is_not_hidden(capfd, monkeypatch, error):
    def failing(argv):
        raise error

    monkeypatch.setattr("dc_nmt_plugin.commands.doctor.main", failing)
    with pytest.raises(type(error)):
        cli.main(["doctor"])
    assert capfd.readouterr() == ("", "")


def test_a_known_failure_says_where_its_traceback_is(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("dc_nmt_plugin.commands.doctor.main", lambda argv: os.listdir(argv[1]))
    status, out, err = run(capsys, "doctor", "--input", "/nowhere/text")
    (path,) = tmp_path.glob("dc-nmt-*.txt")
    told = "--input /nowhere/text: No such file or directory."
    assert (status, out) == (1, "")
    assert err == f"dc-nmt doctor: error: {told}\ntraceback: {path}\n"
    assert "FileNotFoundError: [Errno 2]" in path.read_text("utf-8")


def test_an_optional_package_that_is_missing(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("sys.path", [])  # where it would be found
    draw = "dc_nmt_plugin.commands.doctor.main"
    monkeypatch.setattr(draw, lambda argv: save(None, tmp_path / "x.svg"))
    status, _, err = run(capsys, "doctor")
    assert status == 1
    assert "error: matplotlib is not installed: pip install matplotlib.\ntraceback: " in err


def test_unknown_command(capsys):
    status, _, err = run(capsys, "papers")
    assert status == 2
    assert "'papers'" in err and "'paper'" in err


def test_arch_flags(capsys):
    _, out, _ = run(capsys, "arch-flags", "transformer_dc_full_tiny", "--names")
    flags = "--arch transformer_dc_full_tiny --task transformer_dc --criterion transformer_dc"
    assert out.strip() == flags
    _, out, _ = run(capsys, "arch-flags", "--json")
    assert "gru_selfattn_residual" in json.loads(out)
    status, _, err = run(capsys, "arch-flags", "transformer_cd")
    assert status == 2 and "Did you mean 'transformer_dc'?" in err


def test_tables_align_and_drop_empty_columns():
    text = format_table(["name", "n", "empty"], [["a", "1.5", ""], ["longer", "12.25", ""]])
    assert text.splitlines() == ["name        n", "------  -----", "a         1.5", "longer  12.25"]
    text = format_table(["name", "what", "where"], [["a", "two words", "1.5"], ["b", "c", "here"]])
    assert text.splitlines()[0] == "name  what       where" and text.endswith("here")
    assert text.splitlines()[2] == "a     two words  1.5"
