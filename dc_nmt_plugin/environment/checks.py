"""Checks the environment, with one command that fixes each problem.

This module needs the standard library alone, and torch, fairseq and the plugin are tried out in
processes of their own: the report also comes where one of them is missing, broken or crashes.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any

from .. import machine
from . import install_fairseq as fairseq_source
from . import probes
from .install_fairseq import version_of

PACKAGE = Path(__file__).resolve().parents[1]
MIN_TORCH = (2, 10)  # before it, the safe loader has a hole (CVE-2026-24747)
MIN_DISK_GIB, MIN_MEMORY_GIB = 2.0, 2.0


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes:
        name: what was looked at.
        value: what was found.
        ok: False where something is wrong.
        remedy: the command that corrects it; empty where ``ok``.
        required: whether training and translation fail without it.
    """

    name: str
    value: str
    ok: bool = True
    remedy: str = ""
    required: bool = True


def pip(arguments: str) -> str:
    return f"{shlex.quote(sys.executable)} -m pip {arguments}"


def check_python() -> Check:
    value = f"{sys.version.split()[0]} ({sys.executable})"
    ok = sys.version_info[:2] in fairseq_source.PYTHONS
    value += "" if ok else f" is not one of {fairseq_source.supported()}"
    return Check("Python", value, ok, "" if ok else "scripts/setup.sh")


def check_torch(probe: dict[str, Any]) -> Check:
    install = "install torch==2.13.0"
    if version_of("torch") is None and "error" in probe:
        return Check("torch", "not installed", False, pip(install))
    if "error" in probe:
        return Check("torch", probe["error"], False, pip(f"{install} --force-reinstall"))
    build = f"CUDA {probe['cuda']}" if probe["cuda"] else "CPU build"
    found = tuple(int(part) for part in re.findall(r"\d+", probe["version"])[:2])
    if found < MIN_TORCH:
        value = f"{probe['version']} is older than {'.'.join(map(str, MIN_TORCH))}"
        return Check("torch", value, False, pip(install))
    return Check("torch", f"{probe['version']}, {build}")


def install_fairseq() -> str:
    """Returns the command that installs fairseq, in a checkout with all that it requires."""
    setup = PACKAGE.parent / "scripts" / "setup.sh"
    if setup.exists():
        return f"DC_NMT_PYTHON={shlex.quote(sys.executable)} {shlex.quote(str(setup))}"
    return f"{shlex.quote(sys.executable)} -m {fairseq_source.__name__}"


def check_fairseq(probe: dict[str, Any]) -> Check:
    found = {name: version_of(name) for name in fairseq_source.NAMES}
    names = [f"{name} {version}" for name, version in found.items() if version is not None]
    value = " and ".join(names) or "fairseq"
    anew = f"{pip('uninstall -y ' + ' '.join(fairseq_source.NAMES))} && {install_fairseq()}"
    if len(names) > 1:
        return Check("fairseq", f"{value} overwrite each other", False, anew)
    if not names and "error" in probe:
        return Check("fairseq", "not installed", False, install_fairseq())
    if "error" in probe:
        lacks_module = probe["error"].startswith("ModuleNotFoundError")
        value = f"{value} does not import: {probe['error']}"
        return Check("fairseq", value, False, install_fairseq() if lacks_module else anew)
    if probe["broken"]:
        value = f"{value} lacks compiled parts ({'; '.join(probe['broken'])})"
        return Check("fairseq", value, False, anew)
    return Check("fairseq", f"{value}, compiled parts load")


def declared() -> dict[str, Any]:
    """Returns what the plugin's package requires here: name → requirement of ``packaging``."""
    try:
        from packaging.requirements import Requirement

        found = [Requirement(line) for line in metadata.requires("dc_nmt_plugin") or ()]
    except (ImportError, metadata.PackageNotFoundError):
        return {}
    return {each.name: each for each in found if not each.marker or each.marker.evaluate()}


def check_versions() -> Check:
    """Whether installed distributions have versions that the plugin's package asks for.

    ``pip install --no-deps`` and a later ``pip install`` of something else pass over them.
    """
    wanted = declared().values()
    if not wanted:
        return Check("versions", "unknown: plugin or packaging not installed", required=False)
    wrong = {
        each: version
        for each in wanted
        if (version := version_of(each.name))
        and not each.specifier.contains(version, prereleases=True)
    }
    if not wrong:
        return Check("versions", f"all {len(wanted)} are ones that the plugin works with")
    value = "; ".join(f"{each.name} {wrong[each]} is not {each.specifier}" for each in wrong)
    return Check("versions", value, False, pip(f"install {shlex.join(map(str, wrong))}"))


def check_library(name: str, required: bool, also: str | None = None) -> Check:
    """Checks a distribution, and a module that it imports without declaring it."""
    version = version_of(name)
    if version is None:
        wanted = shlex.quote(str(declared().get(name, name)))
        return Check(name, "not installed", False, pip(f"install {wanted}"), required)
    if also is not None and util.find_spec(also) is None:
        value = f"{version}, but it needs {also}"
        return Check(name, value, False, pip(f"install {also}"), required)
    return Check(name, version, required=required)


def check_compiler(fairseq_ok: bool) -> Check:
    name = os.environ.get("CXX", "c++")
    path = shutil.which(name)
    needed = not fairseq_ok and not fairseq_source.has_wheel()
    if path is not None:
        return Check("C++ compiler", path, required=needed)
    value = f"'{name}' not found" + ("" if needed else " (only needed to install fairseq)")
    macos = sys.platform == "darwin"
    remedy = "xcode-select --install" if macos else "sudo apt-get install g++   # on Debian"
    return Check("C++ compiler", value, not needed, remedy if needed else "", needed)


def check_gpu(torch_probe: dict[str, Any]) -> Check:
    gpus = torch_probe.get("gpus") or []
    if gpus:
        return Check("GPU", "; ".join(gpus), required=False)
    if shutil.which("nvidia-smi") is None or "error" in torch_probe:
        return Check("GPU", "none: training runs on the CPU", required=False)
    version, cuda = torch_probe["version"], torch_probe["cuda"]
    remedy = pip(f"install --force-reinstall torch=={version.split('+')[0]}")
    value = f"this torch ({version}) sees none, yet a driver is installed"
    if cuda:  # the same build again would see none either
        value += f": an older one than CUDA {cuda} needs?"
        older = "https://download.pytorch.org/whl/cuXXX"
        remedy += f" --index-url {older}   # with the CUDA that nvidia-smi shows, such as cu126"
    return Check("GPU", value, False, remedy, required=False)


def check_disk(folder: Path) -> Check:
    free = machine.free_disk_gib(folder)
    ok = free >= MIN_DISK_GIB
    remedy = (
        "" if ok else f"du -xh -d 1 {shlex.quote(str(folder))} | sort -h   # and make some room"
    )
    return Check("free disk", f"{free:.1f} GiB in {folder}", ok, remedy)


def check_memory() -> Check:
    free = machine.available_memory_gib()
    if free is None:
        return Check("memory", "unknown on this system", required=False)
    ok = free >= MIN_MEMORY_GIB
    remedy = "" if ok else "ps aux --sort=-rss | head   # and stop programs that you do not need"
    return Check("memory", f"{free:.1f} GiB available", ok, remedy, required=False)


def check_threads() -> Check:
    cpus = machine.usable_cpus()
    threads = os.environ.get("OMP_NUM_THREADS", "")
    value = f"{cpus} CPUs usable, OMP_NUM_THREADS {threads or 'not set'}"
    # Unset, torch starts one thread a CPU it sees, which may be more than a container grants.
    wanted = int(threads) if threads.isdecimal() else os.cpu_count() or 1
    ok = wanted <= cpus
    return Check("threads", value, ok, "" if ok else f"export OMP_NUM_THREADS={cpus}", False)


def check_commands() -> Check:
    ours = Path(sysconfig.get_path("scripts"))
    found = shutil.which("fairseq-train")
    ok = found is not None and Path(found).parent.resolve() == ours.resolve()
    value = found or "fairseq-train is not on PATH"
    return Check("commands", value, ok, "" if ok else f'export PATH="{ours}:$PATH"', False)


def plugin_places(installed: str | None) -> list[Path]:
    """Returns every folder from which the plugin could be loaded."""
    candidates = [PACKAGE, Path.cwd() / "dc_nmt_plugin"]
    if installed is not None:
        candidates.append(Path(installed).parent)
    return list(dict.fromkeys(p.resolve() for p in candidates if (p / "__init__.py").exists()))


def check_plugin(installed: dict[str, Any], fairseq_probe: dict[str, Any]) -> Check:
    origin = installed.get("origin")
    places = plugin_places(origin)
    listed = " and ".join(str(place) for place in places)
    if fairseq_probe.get("plugin_error"):
        value = f"{PACKAGE} does not load: {fairseq_probe['plugin_error']}"
        return Check("plugin", value, False, f"git -C {shlex.quote(str(PACKAGE.parent))} status")
    if len(places) > 1:
        checkout = next((p.parent for p in places if (p.parent / "setup.py").exists()), None)
        remedy = pip(
            "uninstall -y dc_nmt_plugin"
            if checkout is None
            else f"install --no-deps --no-build-isolation -e {shlex.quote(str(checkout))}"
        )
        return Check("plugin", f"found twice: {listed}", False, remedy, required=False)
    if origin is None:
        remedy = pip(
            f"install --no-deps --no-build-isolation -e {shlex.quote(str(PACKAGE.parent))}"
        )
        value = f"{listed or PACKAGE}, not installed: only --user-dir with its path works"
        return Check("plugin", value, False, remedy, required=False)
    version = version_of("dc_nmt_plugin") or "version unknown"
    loads = "" if "error" in fairseq_probe or fairseq_probe["broken"] else ", loads"
    return Check("plugin", f"{version}, {listed}{loads}")


def check_changes(changes: list[dict[str, Any]]) -> Check:
    """Whether each changed function is what the change was written for."""
    left_out = [each for each in changes if each["left_out"]]
    if not changes:
        return Check("changes", "unknown: fairseq or the plugin does not load", required=False)
    if left_out:
        value = "; ".join(f"{each['name']} is left out: {each['state']}" for each in left_out)
        return Check("changes", value, False, install_fairseq(), required=False)
    return Check("changes", f"{len(changes)}, none left out")


@dataclass(frozen=True)
class EnvironmentReport:
    """Holds the results of :func:`report`.

    Attributes:
        checks: a line each
        changes: of each change name, targets, reason, since, test, loading, state, left_out
    """

    checks: list[Check]
    changes: list[dict[str, Any]]


def report() -> EnvironmentReport:
    """Runs all checks; takes about as long as ``import fairseq``."""
    started = [
        probes.start(probes.TORCH),
        probes.start(probes.FAIRSEQ, str(PACKAGE)),
        probes.start(probes.INSTALLED),
    ]
    torch_probe, fairseq_probe, installed = (probes.finish(probe) for probe in started)
    fairseq = check_fairseq(fairseq_probe)
    changes = fairseq_probe.get("changes", [])
    checks = [
        check_python(),
        check_torch(torch_probe),
        fairseq,
        check_library("numpy", required=True),
        check_library("sacrebleu", required=True),
        check_library("subword-nmt", required=True),
        check_library("sacremoses", required=True),
        check_library("compare-mt", required=False, also="six"),
        check_library("babel", required=False),
        check_versions(),
        check_plugin(installed, fairseq_probe),
        check_changes(changes),
        check_commands(),
        check_compiler(fairseq.ok),
        check_gpu(torch_probe),
        check_disk(Path.cwd()),
        check_memory(),
        check_threads(),
    ]
    return EnvironmentReport(checks, changes)
