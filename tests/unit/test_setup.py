"""Packaging and set-up: what is declared, what a wheel holds, what the scripts refuse."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from pip._vendor.packaging.requirements import Requirement

import dc_nmt_plugin

ROOT = Path(__file__).resolve().parents[2]


def canonical(name):
    return name.lower().replace("_", "-").replace(".", "-")


def listed(*files):
    """The distributions named in requirements/*.txt that count under this Python."""
    lines = [
        line
        for file in files
        for line in (ROOT / "requirements" / f"{file}.txt").read_text().splitlines()
    ]
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonical(r.name) for r in wanted if r.marker is None or r.marker.evaluate()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the sources: building leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    sources = folder / "sources"
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("dc_nmt_plugin", "hydra_plugins", "requirements"):
        shutil.copytree(ROOT / name, sources / name, ignore=ignore)
    for name in ("setup.py", "pyproject.toml", "LICENSE", "MANIFEST.in", "README.md"):
        shutil.copy(ROOT / name, sources)
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(sources)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def wheel_metadata(wheel, name):
    path = next(n for n in wheel.namelist() if n.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


def test_wheel_holds_every_module_all_data_and_nothing_else(wheel):
    kinds = [("dc_nmt_plugin", kind) for kind in ("*.py", "*.yaml", "py.typed")]
    kinds += [("hydra_plugins", "*.py")]
    files = [path for folder, kind in kinds for path in (ROOT / folder).rglob(kind)]
    expected = {str(path.relative_to(ROOT)) for path in files}
    built = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert built == expected


def test_the_source_distribution_holds_every_tracked_file(tmp_path):
    listed_files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    sources = tmp_path / "sources"
    for name in (name for name in listed_files if (ROOT / name).is_file()):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, sources / name)
    command = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(tmp_path)]
    subprocess.run(command, cwd=sources, check=True, capture_output=True, text=True)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    there = {name for name in listed_files if (ROOT / name).is_file()}
    assert there - held == set()


def test_pip_finds_nothing_wrong_with_this_environment():
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_extra_is_declared(wheel):
    declared = Parser().parsestr(wheel_metadata(wheel, "METADATA"))
    extras = declared.get_all("Provides-Extra")
    optional = {"analysis", "ctranslate2", "slurm", "tensorboard", "wandb"}
    assert set(extras) == {"all", "comet", "dev", *optional}
    required = [Requirement(line) for line in declared.get_all("Requires-Dist")]
    in_all = {r.name for r in required if r.marker and r.marker.evaluate({"extra": "all"})
              and not r.marker.evaluate({"extra": ""})}  # fmt: skip
    analysis = {"HanTa", "jieba", "nltk"}
    assert in_all == analysis | {"ctranslate2", "submitit", "tensorboard", "wandb"}


def test_wheel_declares_the_command_and_the_version(wheel):
    assert "dc-nmt = dc_nmt_plugin.cli:main" in wheel_metadata(wheel, "entry_points.txt")
    declared = Parser().parsestr(wheel_metadata(wheel, "METADATA"))
    assert declared["Version"] == dc_nmt_plugin.__version__
    assert declared["Requires-Python"] == ">=3.10,<3.13"


@pytest.mark.parametrize(
    ("python", "fairseq", "other"),
    [
        ("3.10", "fairseq==0.12.2", "fairseq-fixed"),
        ("3.11", "fairseq-fixed==0.12.3.1", "fairseq"),
        ("3.12", "fairseq-fixed==0.12.3.1", "fairseq"),
    ],
)
def test_fairseq_is_chosen_by_the_python_version(wheel, python, fairseq, other):
    declared = Parser().parsestr(wheel_metadata(wheel, "METADATA")).get_all("Requires-Dist")
    where = {"python_version": python, "extra": ""}
    required = [Requirement(line) for line in declared]
    required = [r for r in required if r.marker is None or r.marker.evaluate(where)]
    names = {r.name for r in required}
    assert fairseq in {f"{r.name}{r.specifier}" for r in required}
    assert other not in names
    assert {"torch", "sacrebleu", "subword-nmt", "compare-mt", "six", "babel"} <= names
    assert not {"pytest", "ruff", "mypy"} & names


def test_nothing_that_is_installed_with_dependencies_depends_on_torch():
    """An existing torch stays: only requirements/torch.txt could ever bring another one."""
    open_, seen = sorted(listed("build", "run", "dev")), set()
    while open_:
        name = open_.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = [Requirement(line) for line in metadata.requires(name) or ()]
        except metadata.PackageNotFoundError:
            continue  # the test tools are not in every existing environment
        open_ += [
            canonical(r.name) for r in needs if r.marker is None or r.marker.evaluate({"extra": ""})
        ]
    assert "numpy" in seen  # the walk did walk
    assert not {"torch", "fairseq", "fairseq-fixed"} & seen


def test_all_that_fairseq_declares_is_listed():
    """--no-deps drops fairseq's metadata: our own lists have everything, so pip check is content.

    torchaudio is among it, but is not imported: one that does not fit torch does no harm.
    """
    distribution = "fairseq-fixed" if sys.version_info >= (3, 11) else "fairseq"
    needs = [Requirement(line) for line in metadata.requires(distribution)]
    names = {
        canonical(r.name) for r in needs if r.marker is None or r.marker.evaluate({"extra": ""})
    }
    assert names - listed("build", "run", "fairseq", "torch") == set()
    assert "torchaudio" not in sys.modules


def test_missing_lists_only_what_is_not_met(tmp_path):
    file = tmp_path / "some.txt"
    file.write_text(
        "# a comment\n\nnumpy>=1.20\nno-such-thing\nnumpy<1 # too new here\n"
        "other-python ; python_version < '3.0'\nTorch\n"
    )
    command = [sys.executable, ROOT / "scripts" / "missing.py", file]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["no-such-thing", "numpy<1"]


def test_stand_in_drops_only_extensions_against_torch():
    code = """
from setuptools import Distribution, Extension
from torch.utils import cpp_extension
kept = Extension("kept", ["kept.c"])
dropped = cpp_extension.CppExtension("dropped", sources=["dropped.cpp"])
command = cpp_extension.BuildExtension(Distribution({"ext_modules": [dropped, kept]}))
command.ensure_finalized()
print([extension.name for extension in command.extensions])
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts" / "build_stub")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == "['kept']\n", done.stderr


@pytest.mark.parametrize(
    ("script", "arguments", "existing", "sentence"),
    [
        ("setup.sh", ["--python", "2.7"], None, "'2.7' is not supported; choose 3.10, 3.11, 3.12"),
        ("setup.sh", ["--python", "/no/python"], None, "'/no/python' is not a program"),
        ("setup.sh", ["--python", "/bin/true/"], None, "'/bin/true/' is not a program"),
        ("setup.sh", ["--python", "/bin/false"], None, "'/bin/false' cannot be used: it must be"),
        ("setup.sh", ["--python"], None, "--python needs a value: 3.10, 3.11, 3.12"),
        ("setup.sh", ["--fast"], None, "unknown option '--fast'; choose among --python"),
        ("setup.sh", [], "/no/python", "DC_NMT_PYTHON='/no/python' is not a program"),
        ("setup.sh", [], "/bin/false", "DC_NMT_PYTHON='/bin/false' cannot be used"),
        ("setup.sh", ["--python", "3.11"], "/bin/false", "contradicts DC_NMT_PYTHON"),
        ("test.sh", ["--python"], None, "--python needs a value"),
        ("test.sh", ["--python", "4"], None, "'4' is not supported"),
    ],
)
def test_scripts_refuse_bad_input_in_one_sentence(script, arguments, existing, sentence):
    before = sorted(ROOT.glob(".venv*")) + sorted(ROOT.glob(".setup/*"))
    environment = {k: v for k, v in os.environ.items() if k != "DC_NMT_PYTHON"}
    if existing is not None:
        environment["DC_NMT_PYTHON"] = existing
    command = [ROOT / "scripts" / script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert sentence in done.stderr and len(done.stderr.splitlines()) == 1
    assert sorted(ROOT.glob(".venv*")) + sorted(ROOT.glob(".setup/*")) == before


def test_an_environment_of_the_users_own_is_not_cleared(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    environment = {k: v for k, v in os.environ.items() if k != "DC_NMT_PYTHON"}
    command = [tmp_path / "scripts" / "setup.sh"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert f"use it with DC_NMT_PYTHON={tmp_path}/.venv/bin/python, or move it" in done.stderr
    assert [path.name for path in tmp_path.glob(".venv/*")] == ["pyvenv.cfg"]


@pytest.mark.parametrize("there", [True, False])
def test_another_checkout_s_plugin_stays_in_the_users_environment(there, tmp_path):
    """Building the documentation, say, must not replace what other programs there import."""
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("setup.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    url = "file:///elsewhere" if there else ""
    python = tmp_path / "python"  # this environment's, but for what pip installs
    python.write_text(
        f'''#!/bin/sh
case "$*" in
*direct_url*) echo "{url}"; exit {int(not there)} ;;
*"pip install"*) echo "$*" >>{tmp_path}/installed; exit 0 ;;
*"import fairseq"*) exit 0 ;;
esac
exec {sys.executable} "$@"
'''
    )
    python.chmod(0o755)
    environment = {**os.environ, "DC_NMT_PYTHON": str(python)}
    command = [tmp_path / "scripts" / "setup.sh"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    log = tmp_path / "installed"
    calls = log.read_text() if log.exists() else ""
    assert ("-e ." in calls) is not there
    assert ("is from /elsewhere and stays" in done.stdout) is there


def test_a_python_may_be_named_from_the_folder_that_the_script_is_called_in(tmp_path):
    (tmp_path / "python").symlink_to("/bin/false")
    environment = {**os.environ, "DC_NMT_PYTHON": "./python"}
    command = [ROOT / "scripts" / "setup.sh"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert f"DC_NMT_PYTHON='{tmp_path}/./python' cannot be used" in done.stderr


def test_help_of_the_scripts_is_their_header():
    for script in ("setup.sh", "test.sh"):
        command = [ROOT / "scripts" / script, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert f"usage: scripts/{script} " in done.stdout and "set -e" not in done.stdout
