"""What is written has its name at the end, wherever that leads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

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


def test_a_pipe_is_written_to(tmp_path):
    """Not replaced by a file, as a device would be for every program where root does it."""
    os.mkfifo(tmp_path / "pipe")
    said = []
    reader = threading.Thread(target=lambda: said.append((tmp_path / "pipe").read_text()))
    reader.start()
    with replacing(tmp_path / "pipe") as temporary:
        temporary.write_text("said")
    reader.join()
    assert said == ["said"] and (tmp_path / "pipe").is_fifo()


def test_the_output_of_this_process_is_written_to(tmp_path):
    code = (
        "from dc_nmt_plugin.files import replacing\n"
        "print('first', flush=True)\n"
        "with replacing('/proc/self/fd/1') as temporary:\n"
        "    temporary.write_text('said')\n"
    )
    with open(tmp_path / "out", "w") as out:  # where the shell redirects it to a file
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "first\nsaid"
