"""Checks the environment, with one command that fixes each problem.

This module needs the standard library alone. torch, fairseq and the plugin are tried in processes
of their own, so the report also comes where one of them is missing, broken or crashes.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from . import install_fairseq
from .install_fairseq import NAMES, version_of

PACKAGE = Path(__file__).resolve().parents[1]

TORCH = """
import json, torch
gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
print(json.dumps(dict(version=torch.__version__, cuda=torch.version.cuda, gpus=gpus)))
"""
PLUGIN = """
import argparse, json, sys
import fairseq.utils
fairseq.utils.import_user_module(argparse.Namespace(user_dir=sys.argv[1]))
from dc_nmt_plugin.compat import states
from dc_nmt_plugin.compat.change import is_left_out
print(json.dumps(dict(changes=[
    dict(name=each.name, targets=dict(each.targets), reason=each.reason, since=each.since,
         test=each.test, loading=each.loading, state=state, left_out=is_left_out(state))
    for each, state in states()])))
"""


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes:
        name: of the part
        value: its version or state
        ok: False for a problem
        remedy: the command that corrects it; empty where ``ok``
        required: whether training and translation fail without it
    """

    name: str
    value: str
    ok: bool = True
    remedy: str = ""
    required: bool = True


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Starts Python code in a process of its own."""
    # files of the folder that it is started in are not imported
    code = f"import sys\nsys.path[:] = [path for path in sys.path if path]\n{code}"
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tempfile.gettempdir(),
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Returns what the code printed; ``error`` is one line when it failed."""
    out, err = process.communicate()
    try:
        return dict(json.loads(out.strip().splitlines()[-1]))
    except (IndexError, ValueError):
        lines = err.strip().splitlines() or [f"ended with status {process.returncode}"]
        return {"error": lines[-1]}


def pip(arguments: str) -> str:
    return f"{shlex.quote(sys.executable)} -m pip {arguments}"


def check_torch(probe: dict[str, Any]) -> Check:
    if "error" in probe:
        install = pip("install --force-reinstall torch==2.13.0")
        return Check("torch", probe["error"], False, install)
    build = f"CUDA {probe['cuda']}" if probe["cuda"] else "CPU build"
    gpus = ", ".join(probe["gpus"]) or "no GPU: training runs on the CPU"
    return Check("torch", f"{probe['version']}, {build}, {gpus}")


def check_fairseq(probe: dict[str, Any]) -> Check:
    names = [f"{name} {version_of(name)}" for name in NAMES if version_of(name) is not None]
    setup = PACKAGE.parent / "scripts" / "setup.sh"
    install = f"{shlex.quote(sys.executable)} -m {install_fairseq.__name__}"
    if setup.exists():  # a checkout
        install = f"DC_NMT_PYTHON={shlex.quote(sys.executable)} {shlex.quote(str(setup))}"
    anew = f"{pip('uninstall -y ' + ' '.join(NAMES))} && {install}"
    value = " and ".join(names)
    if len(names) > 1:
        return Check("fairseq", f"{value} overwrite each other", False, anew)
    if "error" not in probe:
        return Check("fairseq", value)
    # a missing module of something else is installed by the set-up
    remedy = install if probe["error"].startswith("ModuleNotFoundError") else anew
    value = f"{value} does not import: {probe['error']}" if names else "not installed"
    return Check("fairseq", value, False, remedy)


def check_packages() -> Check:
    """Whether all that the package requires is there, in a version that fits."""
    try:
        from packaging.requirements import Requirement

        wanted = [Requirement(line) for line in metadata.requires("dc_nmt_plugin") or ()]
    except (ImportError, metadata.PackageNotFoundError):
        return Check("packages", "unknown: plugin or packaging not installed", required=False)
    wanted = [each for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})]
    wrong = {}
    for each in wanted:
        version = version_of(each.name)
        if version is None:
            wrong[f"{each.name} is not installed"] = each
        elif not each.specifier.contains(version, prereleases=True):
            wrong[f"{each.name} {version} is not {each.specifier}"] = each
    if not wrong:
        return Check("packages", f"all {len(wanted)} are there")
    install = pip(f"install {shlex.join(f'{e.name}{e.specifier}' for e in wrong.values())}")
    return Check("packages", "; ".join(wrong), False, install)


def check_plugin(probe: dict[str, Any]) -> Check:
    """Whether the plugin loads; its value is the path for ``--user-dir``."""
    if "error" in probe:
        value = f"{PACKAGE} does not load: {probe['error']}"
        return Check("plugin", value, False, f"git -C {shlex.quote(str(PACKAGE.parent))} status")
    return Check("plugin", f"{version_of('dc_nmt_plugin') or 'not installed'}, {PACKAGE}")


def check_changes(changes: list[dict[str, Any]]) -> Check:
    """Whether each changed function is what the change was written for."""
    left_out = [f"{each['name']}: {each['state']}" for each in changes if each["left_out"]]
    if left_out:
        remedy = pip("uninstall -y " + " ".join(NAMES)) + "   # and run scripts/setup.sh"
        return Check("changes", f"left out: {'; '.join(left_out)}", False, remedy, required=False)
    return Check("changes", f"{len(changes)}, none left out" if changes else "unknown")


def report() -> tuple[list[Check], list[dict[str, Any]]]:
    """Runs all checks; takes about as long as ``import fairseq``.

    Returns:
        the checks, and of each change to fairseq name, targets, reason, since, test, loading,
        state, left_out
    """
    probes = [start(TORCH), start(install_fairseq.TRIAL), start(PLUGIN, str(PACKAGE))]
    torch_probe, fairseq_probe, plugin_probe = (finish(probe) for probe in probes)
    changes = plugin_probe.get("changes", [])
    checks = [
        check_torch(torch_probe),
        check_fairseq(fairseq_probe),
        check_packages(),
        check_plugin(plugin_probe),
        check_changes(changes),
    ]
    return checks, changes
