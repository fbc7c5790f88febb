"""The doctor: each problem is found, with one command that fixes it."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from dc_nmt_plugin.laboratory.commands import doctor

ROOT = Path(__file__).resolve().parents[3]


def test_this_environment_is_sound(capsys):
    assert doctor.main([]) == 0
    printed = capsys.readouterr().out
    assert f"torch      {metadata.version('torch')}" in printed
    assert f"--user-dir {ROOT / 'dc_nmt_plugin'}" in printed
    assert "load_safely: " in printed and "LEFT OUT" not in printed


def test_broken_torch_and_fairseq_are_reported_not_raised(tmp_path):
    """A torch that cannot be imported takes fairseq with it; the report still comes."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('libcudart.so.12: gone')\n")
    words = [sys.executable, "-m", "dc_nmt_plugin.cli", "doctor"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    row = lines.index("torch      BROKEN: ImportError: libcudart.so.12: gone")
    assert done.returncode == 1 and "pip install torch==" in lines[row + 1]
    assert (
        lines[row + 2].startswith("fairseq    BROKEN")
        and "install_fairseq.py --replace" in lines[row + 3]
    )
