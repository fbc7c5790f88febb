"""The plugin is found wherever it lies, in spawned processes too."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from commands import ROOT, real

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


MODEL = ROOT / "examples/multi30k_en_de/models/transformer_dc_modern-s1"
TEXTS = ROOT / "examples/multi30k_en_de"
COMMANDS = [  # each from another room, with an import of its own
    "evaluate multi30k_en_de transformer_dc --dry-run --beam 9",
    "train iwslt14_de_en transformer_dc --dry-run --dc-kernel-size 3",
    "paper run 'dual-context, Table 5' --dry-run",
    f"score '{TEXTS}/sentences.de' --reference '{TEXTS}/sentences.de' --target-lang de",
    f"translate '{MODEL}' --sentence 'A dog runs.' --cpu",
    f"analyze matrix '{MODEL}' --sentence 'A dog runs .' --cpu",
    f"average '{MODEL}/average/checkpoint.pt' --out average.pt",
]


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: " ".join(line.split()[:2]))
def test_a_command_imports_what_it_needs(line, bare, tmp_path):
    """Every other test of a command runs where all of the package is imported already."""
    code = "import sys; from dc_nmt_plugin.cli import main; sys.exit(main())"
    bare.run(code, *shlex.split(line), folder=tmp_path, path=[ROOT]).good()


def test_a_command_starts_by_itself(tmp_path):
    real("dc-nmt", *shlex.split(COMMANDS[-1]), folder=tmp_path).good()
