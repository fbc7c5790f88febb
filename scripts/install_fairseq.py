"""Installs fairseq where it is missing: ready-made where there is a wheel, otherwise compiled.

The only record of which Python gets which fairseq. Standard library alone, because scripts/lib.sh
asks it before anything is installed. fairseq-fixed and ve-fairseq (both MIT) are fairseq 0.12.3
with its dataclasses corrected for Python 3.11; their functions are the same.

    python scripts/install_fairseq.py [--only-check]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path

PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
NAMES = ("ve-fairseq", "fairseq-fixed", "fairseq")  # distributions that are fairseq
WHEEL = "ve-fairseq==0.12.3"  # CPython 3.11 and 3.12 for Linux on x86_64
SOURCE = "fairseq-fixed==0.12.3.1"
SOURCE_SHA256 = "c607577a54ab30e2ee0f0b0a754ea5cdbc6ad0a9f99a1726638a2201445bc1cc"
BUILD = ("setuptools>=83", "wheel", "cython", "numpy")

# file of the source, what is there once (a regular expression), what stands there instead
CHANGES = (
    # torch is there for extensions that translation does not need and that take minutes
    ("pyproject.toml", r'  "torch>=1\.10",\n', ""),
    ("setup.py", r"from torch\.utils import cpp_extension\n", ""),
    ("setup.py", r"(?s)extensions\.extend\(.*?\ncmdclass = [^\n]*\n", "cmdclass = {}\n"),
    # 1.3.2 can be made to run code by a configuration (CVE-2026-68508)
    ("setup.py", r"hydra-core==1\.3\.2", "hydra-core>=1.3.4,<1.4"),
    ("setup.py", r"omegaconf==2\.3\.0", "omegaconf>=2.3,<2.4"),
    # since Python 3.14, the text of Optional[X] is "X | None"
    (
        "fairseq/dataclass/utils.py",
        r'typestring\.startswith\("typing\.Optional"\)',
        'typestring.startswith("typing.Optional") or typestring.endswith(" | None")',
    ),
    # one of Hydra's help texts is an object that becomes text when it is printed; since Python
    # 3.14, argparse reads each text when its option is added
    (
        "fairseq_cli/hydra_train.py",
        r"import hydra\n",
        "import argparse\n\nimport hydra\n"
        "\nargparse.ArgumentParser._check_help = lambda parser, action: None\n\n",
    ),
)

# ends with status 0 where fairseq loads, with its compiled parts
TRIAL = """
from importlib.util import find_spec
import fairseq, fairseq.data.data_utils_fast, fairseq.data.token_block_utils_fast
assert find_spec("fairseq.libbleu"), "libbleu is not compiled"
print({})"""


def has_wheel() -> bool:
    """Returns True when this Python gets fairseq without a compiler."""
    system = (sys.platform, platform.machine(), platform.python_implementation())
    return (3, 11) <= sys.version_info < (3, 13) and system == ("linux", "x86_64", "CPython")


def supported() -> str:
    return ", ".join(f"{major}.{minor}" for major, minor in PYTHONS)


def version_of(distribution: str) -> str | None:
    """Returns the installed version; None if the distribution is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def lacks() -> str | None:
    """Returns what is missing to install fairseq here; None when nothing is missing."""
    if has_wheel() or util.find_spec("fairseq"):
        return None
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        return (
            "fairseq must be compiled for it, and there is no C++ compiler (Debian: 'sudo apt-get "
            "install g++'; macOS: 'xcode-select --install')"
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "it has no C headers to compile fairseq with (Debian: python3-dev)"
    return None


def unusable(version: str = "") -> str | None:
    """Returns why this Python cannot run the project; None when it can.

    Args:
        version: the only one that will do, such as ``3.12``; empty for any of :data:`PYTHONS`
    """
    here = sys.version_info[:2]
    if version and version != f"{here[0]}.{here[1]}":
        return f"it is not Python {version}"
    if here not in PYTHONS:
        return f"it is not one of {supported()}"
    if not (util.find_spec("ensurepip") and util.find_spec("venv")):
        return "it has no venv module (Debian: 'sudo apt-get install python3-venv')"
    return lacks()


def works() -> bool:
    return subprocess.run([sys.executable, "-I", "-c", TRIAL], check=False).returncode == 0


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True)


def changed_source(archive: Path, folder: Path) -> Path:
    """Unpacks the source into an empty folder, changes it by :data:`CHANGES`, and returns its path.

    Raises:
        SystemExit: the archive is another one, or a change does not fit
    """
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SOURCE_SHA256:
        raise SystemExit(f"{archive.name}: is not the {SOURCE} that this project knows.")
    with tarfile.open(archive) as packed:
        packed.extractall(folder)  # the digest says what is inside
    (source,) = folder.iterdir()
    for name, pattern, new in CHANGES:
        text, count = re.subn(pattern, new, (source / name).read_text("utf-8"))
        if count != 1:
            raise SystemExit(f"{name} of {SOURCE}: has {pattern!r} {count} times, not once.")
        (source / name).write_text(text, "utf-8")
    return source


def install() -> None:
    """Installs fairseq into this environment, but nothing that it requires."""
    if has_wheel():
        _pip("install", "--no-deps", WHEEL)
        return
    reason = lacks()
    if reason is not None:
        raise SystemExit(f"Python {sys.version.split()[0]}: {reason}.")
    _pip("install", *BUILD)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        _pip("download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
             "--dest", str(here), SOURCE)  # fmt: skip
        (archive,) = here.glob("*.tar.gz")
        (here / "source").mkdir()
        source = changed_source(archive, here / "source")
        _pip("install", "--no-deps", "--no-build-isolation", "--no-cache-dir", str(source))


def main(arguments: Sequence[str] | None = None) -> int:
    """Installs fairseq unless one works; with ``--only-check``, only prints what is missing."""
    parser = argparse.ArgumentParser(prog="install_fairseq", description=__doc__.split("\n")[0])
    about = "replace a fairseq that does not load"
    parser.add_argument("--replace", action="store_true", help=about)
    about = "tell whether this Python can run the project (and is of that version)"
    parser.add_argument("--only-check", metavar="VERSION", nargs="?", const="", help=about)
    args = parser.parse_args(arguments)
    if args.only_check is not None:
        reason = unusable(args.only_check)
        if reason is not None:
            print(reason)
        return int(reason is not None)
    if works():
        return 0
    broken = [name for name in NAMES if version_of(name)]
    if broken:
        uninstall = ["uninstall", "-y", *broken]
        if not args.replace:
            raise SystemExit(
                f"{' and '.join(broken)}: does not load (above) and is left as it is; "
                f"'{shlex.join([sys.executable, '-m', 'pip', *uninstall])}', then again."
            )
        _pip(*uninstall)
    install()
    return int(not works())


if __name__ == "__main__":
    sys.exit(main())
