"""The doctor: each problem is found, with one command that fixes it."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from dc_nmt_plugin.environment import checks

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def installed(monkeypatch):
    """Replace what distributions are installed: a dictionary, name to version."""
    versions = {}
    monkeypatch.setattr(checks, "version_of", versions.get)
    return versions


def run_doctor(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "dc_nmt_plugin", "doctor", *arguments],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def assert_mended_by(check, *parts):
    assert not check.ok
    assert len(check.remedy.splitlines()) == 1
    for part in parts:
        assert part in check.remedy


def test_this_environment_is_sound():
    rows, changes = checks.report()
    found = {check.name: check for check in rows}
    for name in ("torch", "fairseq", "packages", "plugin", "changes"):
        assert found[name].ok, found[name]
    assert metadata.version("torch") in found["torch"].value
    assert found["plugin"].value.endswith(str(ROOT / "dc_nmt_plugin"))
    for check in found.values():
        assert check.ok == (not check.remedy), check
        assert check.value and "\n" not in check.value + check.remedy
    assert all(change["reason"] and change["targets"] for change in changes)


def test_broken_torch_and_fairseq_are_reported_not_raised(tmp_path):
    """A torch that cannot be imported takes fairseq with it; the report still comes."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('libcudart.so.12: gone')\n")
    path = f"{tmp_path}:{ROOT}"
    done = run_doctor("--json", PYTHONPATH=path)
    result = json.loads(done.stdout)
    assert done.returncode == 1 and result["ok"] is False
    rows = {row["name"]: row for row in result["checks"]}
    assert rows["torch"]["value"] == "ImportError: libcudart.so.12: gone"
    assert "install --force-reinstall torch==" in rows["torch"]["remedy"]
    assert not rows["fairseq"]["ok"] and "libcudart" in rows["fairseq"]["value"]
    assert rows["packages"]["ok"]
    lines = run_doctor(PYTHONPATH=path).stdout.splitlines()
    row = next(number for number, line in enumerate(lines) if line.startswith("BROKEN  torch"))
    assert lines[row + 1].lstrip().startswith("fix: ")


def test_import_needs_the_standard_library_only():
    """Without site-packages there is neither torch nor fairseq, and the doctor still imports."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from dc_nmt_plugin.environment import checks;"
        "print(checks.check_torch({'error': 'x'}).value)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "x\n", done.stderr


@pytest.mark.parametrize(
    ("distributions", "probe", "value", "remedy"),
    [
        ({}, {"error": "ModuleNotFoundError: x"}, "not installed", "setup.sh"),
        (
            {"fairseq": "0.12.2"},
            {"error": "ValueError: mutable default"},
            "fairseq 0.12.2 does not import: ValueError: mutable default",
            "uninstall -y ve-fairseq fairseq-fixed fairseq && ",
        ),
        (
            {"fairseq-fixed": "0.12.3.1"},
            {"error": "ModuleNotFoundError: No module named 'sklearn'"},
            "No module named 'sklearn'",
            "setup.sh",
        ),
        ({"fairseq": "0.12.2", "fairseq-fixed": "0.12.3.1"}, {}, "overwrite", "uninstall -y"),
    ],
)
def test_fairseq_problems(installed, distributions, probe, value, remedy):
    installed.update(distributions)
    check = checks.check_fairseq(probe)
    assert check.required and value in check.value
    assert_mended_by(check, remedy)


def test_versions_that_the_package_does_not_allow(monkeypatch):
    """With omegaconf 2.4, Hydra refuses --adam-betas '(0.9, 0.98)'."""
    assert checks.check_packages().ok
    others = {"omegaconf": "2.4.0", "six": None}
    monkeypatch.setattr(checks, "version_of", lambda n: others.get(n, metadata.version(n)))
    check = checks.check_packages()
    assert check.required
    assert check.value == "omegaconf 2.4.0 is not <2.4,>=2.3; six is not installed"
    assert_mended_by(check, "pip install 'omegaconf<2.4,>=2.3' six")


def test_a_probe_imports_nothing_from_the_folder_it_is_started_in(tmp_path, monkeypatch):
    """It is the folder for temporary files, which others may write into."""
    (tmp_path / "json.py").write_text("raise RuntimeError('planted')")
    monkeypatch.setattr(checks.tempfile, "gettempdir", lambda: str(tmp_path))
    assert "error" not in checks.finish(checks.start("import json; print(json.dumps({}))"))
