"""Forms of output that exclude each other."""

from __future__ import annotations

import pytest

from dc_nmt_plugin import cli


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
