"""The plugin is found wherever it lies, in spawned processes too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import ROOT

PACKAGE = "dc_nmt_plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the package, as pip leaves it (test_setup.py sees what a wheel holds)."""
    site = tmp_path_factory.mktemp("site")
    no_cache = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / PACKAGE, site / PACKAGE, ignore=no_cache)
    return site


IMPORT_USER_DIR = """
import argparse, os, sys
import fairseq.utils
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY
from fairseq.criterions import CRITERION_REGISTRY

assert "dc_nmt_plugin" not in sys.modules
fairseq.utils.import_user_module(argparse.Namespace(user_dir=sys.argv[1]))
fairseq.utils.import_user_module(argparse.Namespace(user_dir=sys.argv[1]))
for registry in (ARCH_MODEL_REGISTRY, TASK_REGISTRY, CRITERION_REGISTRY):
    assert "transformer_dc" in registry
import dc_nmt_plugin
print(os.path.dirname(dc_nmt_plugin.__file__))
"""


# folder to start in, --user-dir, what is on Python's path already, where it must come from
WAYS = [
    ("{ours}", f"{PACKAGE}/", "", "{ours}"),
    ("{elsewhere}", f"{{ours}}/{PACKAGE}", "", "{ours}"),
    ("{elsewhere}", f"{{installed}}/{PACKAGE}/", "{installed}", "{installed}"),
    ("{ours}", f"{{installed}}/{PACKAGE}", "{ours}", "{installed}"),
]


@pytest.mark.parametrize(("folder", "user_dir", "path", "where"), WAYS)
def test_user_dir_in_every_form(folder, user_dir, path, where, installed, bare, tmp_path):
    """Relative, absolute, with a slash; checkout and installed copy, alone and side by side."""
    places = {"ours": ROOT, "installed": installed, "elsewhere": tmp_path}
    folder, user_dir, path, where = (
        each.format(**places) for each in (folder, user_dir, path, where)
    )
    entries = path.split(":") if path else []
    result = bare.run(IMPORT_USER_DIR, user_dir, folder=Path(folder), path=entries).good()
    assert result.output.strip() == f"{where}/{PACKAGE}"
