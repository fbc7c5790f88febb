"""The plugin is found wherever it lies, in spawned processes too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import ROOT, real
from helpers import few
from systems import family, training

PACKAGE = "dc_nmt_plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder that pip installed the package into, from a copy of the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    source.mkdir()
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "LICENSE", "README.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source)
    no_cache = shutil.ignore_patterns("__pycache__")
    for name in (PACKAGE, "hydra_plugins", "requirements"):
        shutil.copytree(ROOT / name, source / name, ignore=no_cache)
    site = folder / "site"
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    offline = {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    real("python", *pip, "--target", site, source, folder=folder, environment=offline).good()
    return site


# dc_nmt_plugin must come from the folder that the command line names
RECIPES = """
import sys
import dc_nmt_plugin
from dc_nmt_plugin.cli import main

assert dc_nmt_plugin.__file__.startswith(sys.argv[1]), dc_nmt_plugin.__file__
sys.exit(main(["recipe", "list"]))
"""


def test_the_installed_copy_alone_has_the_recipes(installed, bare, tmp_path):
    """In an empty folder, where no checkout is at hand."""
    result = bare.run(RECIPES, installed, folder=tmp_path, path=[installed]).good()
    assert "wmt14_en_de" in result.output and "multi30k_en_de" in result.output


# without --user-dir
TRANSLATE = """
import sys

import dc_nmt_plugin.registration
from dc_nmt_plugin.models.transformer.model import TransformerModel

model = TransformerModel.from_pretrained(sys.argv[1], "checkpoint_last.pt", sys.argv[2])
print(model.translate("kedun bafar", max_len_b=12))
"""


def test_from_pretrained_in_a_script(corpus, trained, bare):
    save = trained("transformer_dc")
    bare.run(TRANSLATE, save, corpus, folder=save, path=[ROOT]).good()


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
    ("{ours}", PACKAGE, "", "{ours}"),
    ("{ours}", f"{PACKAGE}/", "", "{ours}"),
    ("{ours}", f"./{PACKAGE}", "", "{ours}"),
    ("{ours}/..", f"{ROOT.name}/{PACKAGE}", "", "{ours}"),
    ("{elsewhere}", f"{{ours}}/{PACKAGE}", "", "{ours}"),
    ("{elsewhere}", f"{{ours}}/{PACKAGE}/", "", "{ours}"),
    ("{elsewhere}", f"{{theirs}}/{PACKAGE}", "", "{theirs}"),
    ("{elsewhere}", f"{{theirs}}/{PACKAGE}/", "{theirs}", "{theirs}"),
    ("{ours}", f"{{theirs}}/{PACKAGE}", "{ours}", "{theirs}"),
    ("{ours}", f"{{theirs}}/{PACKAGE}", ":{theirs}", "{theirs}"),
    ("{ours}", PACKAGE, "{theirs}", "{ours}"),
    ("{elsewhere}", f"{{ours}}/{PACKAGE}", "{theirs}", "{ours}"),
]
# once alone with a slash, once from outside, and every pair that could be mixed up
FEW_WAYS = few(WAYS, WAYS[1], WAYS[4], *WAYS[7:])


@pytest.mark.parametrize(("folder", "user_dir", "path", "where"), FEW_WAYS)
def test_user_dir_in_every_form(folder, user_dir, path, where, installed, bare, tmp_path):
    """Relative, absolute, with a slash; checkout and installed copy, alone and side by side."""
    places = {"ours": ROOT, "theirs": installed, "elsewhere": tmp_path}
    folder, user_dir, path, where = (
        each.format(**places) for each in (folder, user_dir, path, where)
    )
    entries = path.split(":") if path else []
    result = bare.run(IMPORT_USER_DIR, user_dir, folder=Path(folder), path=entries).good()
    assert result.output.strip() == f"{where}/{PACKAGE}"


# fairseq-train as on a machine with one GPU in distributed training: it starts its worker with
# the "spawn" method, and that worker its data worker
SPAWNING = """
import torch
from fairseq_cli.train import cli_main

print("started as", __name__)
if __name__ == "__main__":
    torch.cuda.device_count = lambda: 1
    cli_main()
"""


@pytest.mark.thorough
def test_spawned_distributed_worker_with_spawned_data_worker(installed, corpus, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SPAWNING)
    hook = tmp_path / "site" / "sitecustomize.py"
    hook.parent.mkdir()
    hook.write_text("import multiprocessing\nmultiprocessing.set_start_method('spawn')\n")
    save = tmp_path / "save"
    flags = training(corpus, save, *family("transformer_dc"), "--max-update", 2)
    flags += ["--user-dir", installed / PACKAGE, "--num-workers", 1, "--disable-validation"]
    flags += ["--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp"]
    flags += ["--distributed-world-size", 1]
    flags += ["--distributed-init-method", f"file://{tmp_path / 'meeting'}"]
    environment = {"PYTHONPATH": str(hook.parent)}
    result = real("python", script, *flags, folder=tmp_path, environment=environment).good()
    assert result.output.count("started as __mp_main__") == 2
    assert (save / "checkpoint_last.pt").exists()


def test_a_training_finds_it_by_user_dir_alone(corpus, bare, tmp_path):
    flags = training(corpus, tmp_path, *family("transformer_dc"), "--max-update", 2)
    program = "from fairseq_cli.train import cli_main; cli_main()"
    bare.run(program, *flags, "--user-dir", PACKAGE, folder=ROOT).good()
    assert (tmp_path / "checkpoint_last.pt").exists()
