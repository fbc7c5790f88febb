"""The doctor: each problem is found, with one command that fixes it."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from dc_nmt_plugin import machine
from dc_nmt_plugin.environment import checks, install_fairseq, probes

ROOT = Path(__file__).resolve().parents[3]
WELL = {"broken": [], "plugin_error": None, "changes": []}
CPU_TORCH = {"version": "2.13.0+cpu", "cuda": None, "gpus": []}


@pytest.fixture
def installed(monkeypatch):
    """Replace what distributions are installed: a dictionary, name to version."""
    versions = {"torch": "2.13.0", "fairseq-fixed": "0.12.3.1", "numpy": "2.4.6"}
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
    found = {check.name: check for check in checks.report().checks}
    for name in ("Python", "torch", "fairseq", "numpy", "sacrebleu", "subword-nmt", "compare-mt"):
        assert found[name].ok, found[name]
    assert metadata.version("torch") in found["torch"].value
    assert found["plugin"].value.endswith("loads")
    for check in found.values():
        assert check.ok == (not check.remedy), check
        assert check.value and "\n" not in check.value + check.remedy


def test_broken_torch_and_fairseq_are_reported_not_raised(tmp_path):
    """A torch that cannot be imported takes fairseq with it; the report still comes, as JSON."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('libcudart.so.12: gone')\n")
    done = run_doctor("--json", PYTHONPATH=f"{tmp_path}:{ROOT}")
    result = json.loads(done.stdout)
    assert done.returncode == 1 and result["ok"] is False
    rows = {row["name"]: row for row in result["checks"]}
    assert rows["torch"]["value"] == "ImportError: libcudart.so.12: gone"
    assert "install torch==" in rows["torch"]["remedy"]
    assert not rows["fairseq"]["ok"] and "libcudart" in rows["fairseq"]["value"]
    assert rows["numpy"]["ok"]


def test_table_tells_the_remedy_and_fails(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("1 / 0\n")
    done = run_doctor(PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("BROKEN  torch"))
    assert "ZeroDivisionError" in lines[row]
    assert lines[row + 1].lstrip().startswith("fix: ")
    assert lines[-1].startswith("2 broken, ")


def test_import_needs_the_standard_library_only():
    """Without site-packages there is neither torch nor fairseq, and the doctor still imports."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from dc_nmt_plugin.environment import checks;"
        "print(checks.check_torch({'error': 'x'}).value)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "not installed\n", done.stderr


def test_a_crash_is_a_result():
    probe = probes.finish(probes.start("import os; os.abort()"))
    assert probe["error"].startswith("ended with status -")


def test_python_out_of_range(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert_mended_by(checks.check_python(), "scripts/setup.sh")


def test_torch_missing(installed):
    del installed["torch"]
    probe = {"error": "ModuleNotFoundError: No module named 'torch'"}
    check = checks.check_torch(probe)
    assert check.required and check.value == "not installed"
    assert_mended_by(check, sys.executable, "pip install torch==")


def test_torch_tells_its_build():
    assert checks.check_torch(CPU_TORCH).value == "2.13.0+cpu, CPU build"
    assert checks.check_torch({**CPU_TORCH, "cuda": "13.0"}).value.endswith("CUDA 13.0")


def test_a_torch_without_the_safe_loader():
    check = checks.check_torch({**CPU_TORCH, "version": "1.13.1+cu117", "cuda": "11.7"})
    assert check.required and check.value == "1.13.1+cu117 is older than 2.10"
    assert_mended_by(check, "pip install torch==")
    assert checks.check_torch({**CPU_TORCH, "version": "2.10.0"}).ok


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
        (
            {"fairseq-fixed": "0.12.3.1"},
            {**WELL, "broken": ["data_utils_fast: numpy.core changed"]},
            "lacks compiled parts (data_utils_fast: numpy.core changed)",
            "uninstall -y ve-fairseq fairseq-fixed fairseq && ",
        ),
        ({"fairseq": "0.12.2", "fairseq-fixed": "0.12.3.1"}, WELL, "overwrite", "uninstall -y"),
    ],
)
def test_fairseq_problems(installed, distributions, probe, value, remedy):
    installed.pop("fairseq-fixed")
    installed.update(distributions)
    check = checks.check_fairseq(probe)
    assert check.required and value in check.value
    assert_mended_by(check, remedy)


def test_fairseq_remedy_without_a_checkout(installed, monkeypatch, tmp_path):
    """Installed from a wheel there is no scripts/setup.sh."""
    monkeypatch.setattr(checks, "PACKAGE", tmp_path / "dc_nmt_plugin")
    installed.clear()
    check = checks.check_fairseq({"error": "ModuleNotFoundError: x"})
    assert_mended_by(check, sys.executable, "-m dc_nmt_plugin.environment.install_fairseq")


def test_a_missing_library_is_installed_in_a_version_that_fits(installed):
    assert checks.check_library("numpy", required=True).ok
    del installed["numpy"]
    assert_mended_by(checks.check_library("numpy", required=True), "pip install 'numpy<3,>=")


def test_versions_that_the_package_does_not_allow(installed):
    """With omegaconf 2.4, Hydra refuses --adam-betas '(0.9, 0.98)'."""
    installed.update({"omegaconf": "2.3.1", "hydra-core": "1.3.8"})
    assert checks.check_versions().ok
    installed["omegaconf"] = "2.4.0"
    check = checks.check_versions()
    assert check.required and check.value == "omegaconf 2.4.0 is not <2.4,>=2.3"
    assert_mended_by(check, "pip install 'omegaconf<2.4,>=2.3'")


def test_undeclared_six(installed, monkeypatch):
    installed["compare-mt"] = "0.2.10"
    monkeypatch.setattr(checks.util, "find_spec", lambda name: None)
    check = checks.check_library("compare-mt", required=False, also="six")
    assert check.value == "0.2.10, but it needs six"
    assert_mended_by(check, "pip install six")


def test_compiler_matters_only_where_fairseq_must_be_compiled(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(install_fairseq, "has_wheel", lambda: False)
    assert checks.check_compiler(fairseq_ok=True).ok
    check = checks.check_compiler(fairseq_ok=False)
    assert check.required and "'no-such-compiler' not found" in check.value
    assert_mended_by(check, "apt-get install g++")


def test_gpu_that_torch_does_not_see(monkeypatch):
    monkeypatch.setattr(checks.shutil, "which", lambda name: None)
    assert checks.check_gpu(CPU_TORCH).ok
    monkeypatch.setattr(checks.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    check = checks.check_gpu(CPU_TORCH)
    assert not check.required
    assert_mended_by(check, "torch==2.13.0")
    assert "--index-url" not in check.remedy
    check = checks.check_gpu({**CPU_TORCH, "cuda": "13.0"})
    assert "older one than CUDA 13.0" in check.value
    assert_mended_by(check, "torch==2.13.0 --index-url")
    assert checks.check_gpu({**CPU_TORCH, "gpus": ["H200, 139 GiB"]}).value == "H200, 139 GiB"


def test_full_disk_and_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "free_disk_gib", lambda folder: 0.3)
    check = checks.check_disk(tmp_path)
    assert check.required and check.value.startswith("0.3 GiB")
    assert_mended_by(check, str(tmp_path))
    monkeypatch.setattr(machine, "available_memory_gib", lambda: 0.5)
    assert_mended_by(checks.check_memory(), "ps aux")
    monkeypatch.setattr(machine, "available_memory_gib", lambda: None)
    assert checks.check_memory().ok


@pytest.mark.parametrize(("threads", "ok"), [("1", True), ("2", True), ("64", False)])
def test_more_threads_than_cpus(monkeypatch, threads, ok):
    monkeypatch.setattr(machine, "usable_cpus", lambda: 2)
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    check = checks.check_threads()
    assert check.ok == ok and threads in check.value
    assert check.remedy == ("" if ok else "export OMP_NUM_THREADS=2")


def test_commands_of_another_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(checks.shutil, "which", lambda name: str(tmp_path / name))
    assert_mended_by(checks.check_commands(), "export PATH=")


def test_plugin_found_twice(monkeypatch, tmp_path):
    (tmp_path / "dc_nmt_plugin").mkdir()
    (tmp_path / "dc_nmt_plugin" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    check = checks.check_plugin({"origin": str(checks.PACKAGE / "__init__.py")}, WELL)
    assert "found twice" in check.value and str(tmp_path) in check.value
    assert_mended_by(check, f"-e {ROOT}")


def test_plugin_not_installed_or_not_loading():
    assert_mended_by(checks.check_plugin({"origin": None}, WELL), f"-e {ROOT}")
    probe = {**WELL, "plugin_error": "SyntaxError: invalid syntax"}
    check = checks.check_plugin({"origin": None}, probe)
    assert check.required and "SyntaxError" in check.value
    assert not check.ok and check.remedy


def test_a_probe_imports_nothing_from_the_folder_it_is_started_in(tmp_path, monkeypatch):
    """It is the folder for temporary files, which others may write into."""
    (tmp_path / "json.py").write_text("raise RuntimeError('planted')")
    monkeypatch.setattr(probes.tempfile, "gettempdir", lambda: str(tmp_path))
    assert "error" not in probes.finish(probes.start(probes.INSTALLED))
