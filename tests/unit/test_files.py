"""What is written has its name at the end."""

from __future__ import annotations

import os

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import replacing


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there/corpus", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    with replacing(link) as temporary:
        temporary.write_text("new")
        assert real.read_text() == "old"
    assert link.is_symlink() and real.read_text() == "new" and real.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ZeroDivisionError), replacing(link) as temporary:
        temporary.write_text(f"half {1 / 0}")
    assert real.read_text() == "new" and os.listdir(tmp_path / "there") == ["corpus"]


def test_a_pipe_and_the_output_of_this_process_are_refused(tmp_path):
    """A rename would take them away from every program that has them open."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null", "/dev/stdout", "/proc/self/fd/1"):
        with pytest.raises(UserError, match="a pipe or a device"), replacing(path):
            raise AssertionError("nothing is written")
    assert (tmp_path / "pipe").is_fifo()
