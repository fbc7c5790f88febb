"""Packaging and set-up: what is declared, what a wheel holds, what the scripts refuse."""

import glob
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.specifiers import SpecifierSet

import dc_nmt_plugin

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
install_fairseq = importlib.import_module("install_fairseq")


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
    kinds = [("dc_nmt_plugin", kind) for kind in ("*.py", "*.yaml", "*.html", "py.typed")]
    kinds += [("hydra_plugins", "*.py")]
    files = [path for folder, kind in kinds for path in (ROOT / folder).rglob(kind)]
    expected = {str(path.relative_to(ROOT)) for path in files}
    built = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert built == expected


def test_wheel_declares_the_command_and_the_version(wheel):
    points = wheel_metadata(wheel, "entry_points.txt")
    assert "dc-nmt = dc_nmt_plugin.cli:main" in points
    assert "torch.backends" not in points
    declared = Parser().parsestr(wheel_metadata(wheel, "METADATA"))
    assert declared["Version"] == dc_nmt_plugin.__version__
    first, *_, last = install_fairseq.PYTHONS
    pythons = SpecifierSet(f">=3.{first[1]},<3.{last[1] + 1}")
    assert SpecifierSet(declared["Requires-Python"]) == pythons


def requirements_where(wheel, **where):
    declared = Parser().parsestr(wheel_metadata(wheel, "METADATA")).get_all("Requires-Dist")
    required = [Requirement(line) for line in declared]
    return [r for r in required if r.marker is None or r.marker.evaluate({"extra": "", **where})]


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_pip_gets_the_fairseq_that_the_set_up_would_and_compiles_none(wheel, minor, monkeypatch):
    monkeypatch.setattr(install_fairseq.sys, "version_info", (3, minor, 0))
    for machine in ("x86_64", "aarch64"):
        monkeypatch.setattr(install_fairseq.platform, "machine", lambda machine=machine: machine)
        where = {"python_version": f"3.{minor}", "platform_machine": machine}
        required = requirements_where(wheel, **where)
        fairseqs = [f"{r.name}{r.specifier}" for r in required if r.name in install_fairseq.NAMES]
        assert fairseqs == [install_fairseq.WHEEL] * install_fairseq.has_wheel()
    names = {r.name for r in required}
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
    assert not {"torch", *install_fairseq.NAMES} & seen


INTERPRET = """
import re

def interpret_dc_type(field_type):
    typestring = str(field_type)
    if re.match(
        r"(typing.|^)Union\\[(.*), NoneType\\]$", typestring
    ) or typestring.startswith("typing.Optional"):
        return field_type.__args__[0]
    return field_type
"""


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A source distribution with the places that are changed."""
    folder = tmp_path / "fairseq-fixed"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('requires = [\n  "torch>=1.10",\n  "cython",\n]\n')
    (folder / "setup.py").write_text(
        """from torch.utils import cpp_extension
extensions = [1]
extensions.extend([cpp_extension.CppExtension()])
if "CUDA_HOME" in os.environ:
    extensions.extend([])
cmdclass = {"build_ext": cpp_extension.BuildExtension}
setup(install_requires=["hydra-core==1.3.2", "omegaconf==2.3.0"])
"""
    )
    (folder / "fairseq" / "dataclass").mkdir(parents=True)
    (folder / "fairseq" / "dataclass" / "utils.py").write_text(INTERPRET)
    (folder / "fairseq_cli").mkdir()
    (folder / "fairseq_cli" / "hydra_train.py").write_text("import os\n\nimport hydra\n")
    path = tmp_path / "source.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, "fairseq-fixed")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(install_fairseq, "SOURCE_SHA256", digest)
    return path


def test_fairseqs_source_is_built_without_torch(archive, tmp_path):
    (tmp_path / "out").mkdir()
    source = install_fairseq.changed_source(archive, tmp_path / "out")
    assert (source / "setup.py").read_text() == (
        "extensions = [1]\ncmdclass = {}\n"
        'setup(install_requires=["hydra-core>=1.3.4,<1.4", "omegaconf>=2.3,<2.4"])\n'
    )
    assert "torch" not in (source / "pyproject.toml").read_text()
    functions = {}
    exec((source / "fairseq/dataclass/utils.py").read_text(), functions)
    for kind in (int, list[int]):
        # since Python 3.14, the text of Optional[X] is "X | None", as that of this is here
        assert functions["interpret_dc_type"](kind | None) == kind
        assert functions["interpret_dc_type"](kind) == kind
    assert "_check_help" in (source / "fairseq_cli/hydra_train.py").read_text()


def test_another_source_is_refused(archive, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(install_fairseq, "CHANGES", (("setup.py", "no such line", ""),))
    with pytest.raises(SystemExit, match="has 'no such line' 0 times, not once"):
        install_fairseq.changed_source(archive, tmp_path / "out")
    archive.write_bytes(b"")
    with pytest.raises(SystemExit, match="is not the fairseq-fixed"):
        install_fairseq.changed_source(archive, tmp_path / "out")


def test_a_fairseq_that_does_not_load_is_replaced_only_where_asked(monkeypatch):
    calls = []
    monkeypatch.setattr(install_fairseq, "works", lambda: bool(calls))
    monkeypatch.setattr(install_fairseq, "_pip", lambda *words: calls.append(words))
    there = {"fairseq-fixed": "0.12.3.1"}
    monkeypatch.setattr(install_fairseq, "version_of", there.get)
    with pytest.raises(SystemExit, match=r"fairseq-fixed: does not load .* uninstall -y fairseq"):
        install_fairseq.main([])
    assert calls == []
    monkeypatch.setattr(install_fairseq, "has_wheel", lambda: True)
    assert install_fairseq.main(["--replace"]) == 0
    wheel = ("install", "--no-deps", install_fairseq.WHEEL)
    assert calls == [("uninstall", "-y", "fairseq-fixed"), wheel]


@pytest.fixture
def clone(tmp_path):
    """The scripts in a folder, beside an environment that another clone has made."""
    shutil.copytree(ROOT / "scripts", tmp_path / "clone/scripts")
    (tmp_path / "theirs/bin").mkdir(parents=True)
    (tmp_path / "theirs/pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / "theirs/bin/python").symlink_to(sys.executable)
    (tmp_path / "theirs/made_in").write_text(f"{tmp_path}/theirs 2\n")
    return tmp_path / "clone"


def set_up(clone, *words, script="setup.sh", **options):
    """Returns the one sentence of a script that fails, without the network."""
    environment = {k: v for k, v in os.environ.items() if k != "DC_NMT_PYTHON"}
    environment["PIP_NO_INDEX"] = "1"  # without uv, too
    command = [clone / "scripts" / script, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, **options)
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    return sentence.partition(".sh: ")[2]


def all_below(folder):
    """Returns the names of everything in a folder, and of what links lead to."""
    return sorted(glob.glob("**", root_dir=folder, recursive=True, include_hidden=True))


def is_another_kind_of_environment(clone, theirs):
    (clone / ".venv/conda-meta").mkdir(parents=True)


def is_a_link(clone, theirs):
    (clone / ".venv").symlink_to(theirs)


def is_a_copy(clone, theirs):
    shutil.copytree(theirs, clone / ".venv", symlinks=True)


def lost_its_record(clone, theirs):
    is_a_copy(clone, theirs)
    (clone / ".venv/made_in").unlink()
    (clone / ".setup").mkdir()
    (clone / ".setup/.venv.making").write_text(f"{theirs}\n")  # a link once led to another clone


def is_a_file(clone, theirs):
    (clone / ".venv").touch()


USE_IT = "use it with DC_NMT_PYTHON={clone}/.venv/bin/python, or "


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        (is_another_kind_of_environment, "{venv} is an environment that this script did not make"),
        (is_a_link, "{venv} is a link to another folder, which stays as it is: " + USE_IT),
        (is_a_copy, "{venv} is a copy of {theirs}, which is still there: " + USE_IT),
        (lost_its_record, "{venv} is an environment that this script did not make: " + USE_IT),
        (is_a_file, "{venv} is not a folder: move it away"),
    ],
)
def test_nothing_is_cleared_that_the_set_up_did_not_make(environment, sentence, clone):
    theirs = clone.parent / "theirs"
    environment(clone, theirs)
    before = all_below(clone.parent)
    expected = sentence.format(clone=clone, venv=clone / ".venv", theirs=theirs)
    assert set_up(clone).startswith(expected)
    notes = {"clone/.setup", "clone/.setup/.venv.lock", "clone/.setup/.venv.log"}
    assert set(all_below(clone.parent)) - notes == set(before) - notes


@pytest.mark.thorough
def test_an_environment_that_moved_with_its_clone_is_made_anew(clone):
    is_a_copy(clone, clone.parent / "theirs")
    (clone.parent / "theirs").rename(clone.parent / "elsewhere")
    (clone / ".venv/bin/of the former place").touch()
    shutil.copytree(ROOT / "requirements", clone / "requirements")
    assert set_up(clone).startswith("installing torch")
    assert (clone / ".venv/made_in").read_text() == f"{clone}/.venv 2\n"
    assert "of the former place" not in all_below(clone / ".venv/bin")


@pytest.mark.parametrize(
    ("printed", "remedy"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full: free some space in "),
        ("/usr/bin/python3: No module named ensurepip", "Install the package python3-venv, or "),
    ],
)
def test_the_output_of_venv_says_what_helps(printed, remedy, clone):
    shim = clone / "python"
    failing = f'case "$*" in *venv*--clear*) echo "{printed}" >&2; exit 1 ;; esac'
    shim.write_text(f'#!/bin/sh\n{failing}\nexec "{sys.executable}" "$@"\n')
    shim.chmod(0o755)
    sentence = set_up(clone, "--python", shim)
    assert sentence.startswith(f"making an environment with {shim} failed. {remedy}")
    assert printed in sorted((clone / ".setup").glob("*.log"))[0].read_text()


def test_a_folder_of_somebody_else_is_explained(clone):
    nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # tmp_path is for one user only
        other = shutil.copytree(clone, Path(folder) / "clone")
        Path(folder).chmod(0o755)
        other.chmod(0o555)
        for path in sorted((other / "scripts").glob("*.sh")):
            words = [other, "-s1"] if path.name == "draw_analyses.sh" else []
            if path.name != "lib.sh":
                sentence = set_up(other, *words, script=path.name, cwd=other, **nobody)
                assert " is not writable for you: " in sentence, path
