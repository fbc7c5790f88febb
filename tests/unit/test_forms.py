"""The forms in which params, arch-flags and report print, and those that exclude each other."""

from __future__ import annotations

import json

import pytest

from dc_nmt_plugin import cli


def test_parts_have_their_total_in_json_too(capsys):
    words = ["params", "transformer_dc_micro", "--vocabulary", "50", "--by-part"]
    assert cli.main([*words, "--json"]) == 0
    (rows,) = json.loads(capsys.readouterr().out).values()
    *parts, (name, total) = rows
    assert name == "total" and total == sum(number for _, number in parts) > 0
    assert cli.main(words) == 0
    assert capsys.readouterr().out.split()[-2:] == ["total", f"{total:,}"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["arch-flags", "transformer_dc", "--names", "--json"], "--names"),
        (["report", "a.json", "--json", "--examples", "5"], "--json"),
    ],
)
def test_a_flag_that_would_say_nothing_is_refused(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    errors = capsys.readouterr().err
    assert ended.value.code == 2 and f"not allowed with argument {said}" in errors
