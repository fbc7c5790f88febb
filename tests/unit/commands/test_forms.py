"""The forms in which params and arch-flags print, and those that exclude each other."""

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
        (["results", "a", "--json", "--markdown"], "--json"),
    ],
)
def test_a_flag_that_would_say_nothing_is_refused(words, said, capsys):
    assert cli.main(words) == 2
    errors = capsys.readouterr().err
    assert f"not allowed with argument {said}" in errors
