"""What is written has its name at the end, wherever that leads."""

from __future__ import annotations

import os
import subprocess
import sys

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


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    with replacing(tmp_path / "made") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_devices_are_written_to():
    """A rename by root would put a file in their place, for every program."""
    code = (
        "from dc_nmt_plugin.files import replacing\n"
        "for name in ('/dev/null', '/dev/stdout'):\n"
        "    with replacing(name) as temporary:\n"
        "        temporary.write_text('said')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "said" and not os.path.isfile("/dev/null")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(UserError, match="is a folder"), replacing(tmp_path):
        pass
