"""Mechanisms of a folder that ``--user-dir`` names, by the programs that users start."""

import os
import re
import shlex

import forks
import pytest
import torch
from commands import ROOT, real, run
from systems import SMALL, SOURCE, TARGET, load, training

from dc_nmt_plugin.extension import VARIABLE
from dc_nmt_plugin.laboratory import steps
from dc_nmt_plugin.laboratory.recipes import plan, preparation
from dc_nmt_plugin.runs.record import read_record
from scripts.toy_text import toy_pairs

GAUSSIAN = """
import torch
import dc_nmt_plugin as dc
print("the folder runs")

@dc.register_self_attention(
    "gaussian", options=[dc.Option("window", 4.0, "standard deviation in tokens", at_least=0.5)]
)
class GaussianAttention(dc.SelfAttention):
    def logits(self, query, key, flow):
        here = flow.first_position + torch.arange(query.size(-2))
        distance = here[:, None] - torch.arange(key.size(-2))
        return super().logits(query, key, flow) - distance**2 / (2 * self.window**2)

@dc.register_source_feature("power-mean", options=[dc.Option("power", 2, "exponent", at_least=1)])
class PowerMean(dc.Aggregation):
    def forward(self, features):
        return torch.stack(list(features)).abs().pow(self.power).mean(0).pow(1 / self.power)

dc.register_architecture("own_net", {"encoder_self_attention": "gaussian"})

import dc_nmt_plugin.registration
from dc_nmt_plugin.criterions.joint_loss import JointLossConfig, JointLossCriterion
from fairseq.criterions import register_criterion
register_criterion("gaussian_loss", dataclass=JointLossConfig)(
    type("gaussian_loss", (JointLossCriterion,), {})
)
"""
FLAGS = ["--task", "translation_dc_nmt", "--criterion", "joint_label_smoothed_cross_entropy"]
FLAGS += ["--arch", "own_net", "--gaussian-window", 3, "--source-features", "power-mean"]
FLAGS += ["--decoder-layers-of", "gaussian(window=2)"]
OWN_LOSS = ["--criterion", "gaussian_loss"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("users") / "gaussian_window"
    folder.mkdir()
    (folder / "__init__.py").write_text(GAUSSIAN, "utf-8")
    return folder


@pytest.fixture(scope="module")
def save(corpus, folder, tmp_path_factory):
    """A run that was stopped and continued."""
    save = tmp_path_factory.mktemp("own") / "save"
    for updates in (3, 6):
        flags = [*FLAGS, *OWN_LOSS, "--user-dir", folder, "--max-update", updates]
        words = training(corpus, save, *flags)
        run(save, "train", *words).good()
    return save


def test_a_run_continues_and_names_what_it_needs(save, corpus, folder, tmp_path):
    flags = [*FLAGS, *OWN_LOSS, "--user-dir", folder, "--max-update", 6]
    words = training(corpus, tmp_path, *flags)
    run(tmp_path, "train", *words).good()
    once, continued = load(tmp_path), load(save)
    assert all(torch.equal(once["model"][key], value) for key, value in continued["model"].items())
    needed = dict.fromkeys(("own_net", "power-mean", "gaussian"), str(folder))
    assert continued["cfg"]["model"].mechanism_folders == needed
    record = read_record(save)
    assert record.mechanisms == {**needed, "gaussian_loss": str(folder)}
    assert record.settings["gaussian-window"] == 3 and record.architecture == "own_net"


def test_both_searches_and_every_program_use_it(save, corpus, folder, tmp_path):
    languages = ["--source-lang", SOURCE, "--target-lang", TARGET, "--cpu", "--beam", 3]
    words = [corpus, "--path", save / "checkpoint_last.pt", *languages, "--max-len-b", 9]
    found = {}
    # fairseq's own task has fairseq's own search
    for task in ("translation_dc_nmt", "translation"):
        done = run(tmp_path, "generate", *words, "--task", task, "--user-dir", folder).good()
        found[task] = {number: text for number, (_, text) in done.hypotheses().items()}
    assert found["translation_dc_nmt"] == found["translation"] and len(found["translation"]) == 50
    text = tmp_path / "text"
    text.write_text("badun kefar\n", "utf-8")
    interactive = [*words, "--task", "translation_dc_nmt", "--input", text]
    run(tmp_path, "interactive", *interactive, "--user-dir", folder).good()
    validation = [corpus, "--path", save / "checkpoint_last.pt", *languages[:5], *FLAGS[:4]]
    validation += ["--valid-subset", "test1", "--batch-size", 5, "--user-dir", folder]
    run(tmp_path, "validate", *validation).good()
    mean = tmp_path / "mean.pt"
    run(tmp_path, "dc-nmt", "average", save / "checkpoint_last.pt", "--out", mean).good()
    for command in (
        ["translate", save, text, "--cpu", "--tokenizer", "none"],
        ["analyze", "attention", save, "--cpu", "--subset", "test1"],
        ["analyze", "matrix", mean, "--cpu", "--data", corpus, "--subset", "test1"],
        ["export", save, "--run", tmp_path / "packed"],
    ):
        done = run(tmp_path, "dc-nmt", *command, "--user-dir", folder).good()
        assert done.output.startswith("the folder runs\n") and len(done.output) > 20
    (model,) = (tmp_path / "packed").glob("**/*.pt")
    packed = torch.load(model, weights_only=True)
    assert packed["cfg"]["model"].mechanism_folders["gaussian"] == folder.name
    words = ["translate", tmp_path / "packed", text, "--cpu", "--tokenizer", "none"]
    moved = folder.rename(tmp_path / "moved")
    run(tmp_path, "dc-nmt", *words, "--user-dir", moved).good()
    moved.rename(folder)


def test_no_file_of_a_run_has_a_folder_imported(save, corpus, folder, tmp_path):
    text = tmp_path / "text"
    text.write_text("badun kefar\n", "utf-8")
    plugin = ["--user-dir", ROOT / "dc_nmt_plugin", "--task", "translation_dc_nmt"]
    checkpoint = save / "checkpoint_last.pt"
    languages = ["--source-lang", SOURCE, "--target-lang", TARGET, "--cpu"]
    commands = [
        ("generate", corpus, "--path", checkpoint, *languages, *plugin),
        ("dc-nmt", "translate", save, text, "--cpu", "--tokenizer", "none"),
        ("dc-nmt", "analyze", "attention", save, "--cpu"),
        ("dc-nmt", "export", save, "--stock", "--out", tmp_path / "stock.pt"),
    ]
    for program, *words in commands:
        done = run(tmp_path, program, *words)
        assert "the folder runs" not in done.output + done.errors
        assert done.code == 1 and "Traceback" not in done.errors
        assert "needs 'own_net', which is code outside this package" in done.errors
        assert f"--user-dir {folder}" in done.errors
    run(tmp_path, "dc-nmt", "export", save, "--run", tmp_path / "packed").good()  # needs no model


def test_a_name_of_fairseqs_own_is_refused(corpus, tmp_path):
    own = tmp_path / "own_names"
    own.mkdir()
    code = "import dc_nmt_plugin as dc\ndc.register_architecture('lstm', {})\n"
    (own / "__init__.py").write_text(code, "utf-8")
    words = training(corpus, tmp_path, *FLAGS[:4], "--arch", "lstm", "--user-dir", own)
    done = run(tmp_path, "train", *words)
    assert done.code == 1 and "duplicate model architecture (lstm)" in done.errors


def test_hydra_and_the_variable(corpus, folder, bare, tmp_path):
    variable = {VARIABLE: str(folder)}
    words = [f"model.{name[2:].replace('-', '_')}" for name in SMALL[::2]]
    words = [f"{name}={value}" for name, value in zip(words, SMALL[1::2], strict=True)]
    words += f"""model=own_net model.gaussian_window=2.5 model.decoder_self_attention=gaussian
        task=translation_dc_nmt task.data={corpus} criterion=joint_label_smoothed_cross_entropy
        optimizer=adam lr_scheduler=fixed optimization.lr=[0.01] optimization.max_update=2
        dataset.max_tokens=80 dataset.num_workers=0 dataset.disable_validation=true
        common.cpu=true common.user_dir={folder} checkpoint.save_dir={tmp_path}/save
        hydra.run.dir={tmp_path}/hydra""".split()
    code = "from fairseq_cli.hydra_train import cli_main; cli_main()"
    done = bare.run(code, *words, folder=tmp_path, path=[ROOT]).good()
    assert "the folder runs" in done.output
    record = read_record(tmp_path / "save")
    assert record.settings["gaussian-window"] == 2.5
    assert record.mechanisms == {"gaussian": str(folder), "own_net": str(folder)}
    text = tmp_path / "text"
    text.write_text("badun kefar\n", "utf-8")
    words = ["translate", tmp_path / "save", text, "--cpu", "--tokenizer", "none"]
    run(tmp_path, "dc-nmt", *words, environment=variable).good()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder of installed packages: a package, and a module of one file."""
    project = tmp_path_factory.mktemp("project")
    (project / "team").mkdir()
    for path, name in (("team/__init__.py", "of-a-team"), ("one_file.py", "of-one-file")):
        code = GAUSSIAN.replace("the folder runs", f"{name} runs").replace("gaussian", name)
        code = code.replace("power-mean", f"{name}-mean").replace("own_net", f"{name[-4:]}_net")
        (project / path).write_text(code, "utf-8")
    build = ["[build-system]", "requires = ['setuptools']", "[project]", "name = 'team-mechanisms'"]
    build += ["version = '1'", "[tool.setuptools]", "packages = ['team']"]
    build += ["py-modules = ['one_file']"]
    (project / "pyproject.toml").write_text("\n".join(build), "utf-8")
    pip = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    real("python", *pip, "--target", project / "site", project, folder=project).good()
    return project / "site"


def test_installed_packages(installed, bare, corpus, tmp_path):
    """Being installed is not enough: a person names a package."""
    entry = "import sys; from {} import {} as main; sys.exit(main())"
    options = {"folder": tmp_path, "path": [installed, ROOT]}
    train = entry.format("fairseq_cli.train", "cli_main")
    words = ["--user-dir", ROOT / "dc_nmt_plugin", *FLAGS[:4], "--arch", "transformer_standard"]
    words += ["--encoder-self-attention", "of-a-team", "--decoder-self-attention", "of-one-file"]
    words = training(corpus, tmp_path / "save", *words, "--max-update", 2)
    done = bare.run(train, *words, **options)
    assert " runs" not in done.output and "'of-a-team' is not one of standard" in done.errors
    variable = {VARIABLE: "team,one_file"}
    bare.run(train, *words, "--of-a-team-window", 3, **options, environment=variable).good()
    text = tmp_path / "text"
    text.write_text("badun kefar\n", "utf-8")
    words = ["translate", tmp_path / "save", text, "--cpu", "--tokenizer", "none"]
    translate, named = entry.format("dc_nmt_plugin.cli", "main"), []
    for needed in ("of-a-team", "of-one-file"):
        user_dir = ["--user-dir", ",".join(named)] if named else []
        done = bare.run(translate, *words, *user_dir, **options)
        assert done.code == 1 and f"{needed} runs" not in done.output
        named += re.findall(f"needs '{needed}', .* with --user-dir (\\S+),", done.errors)
    assert named == [str(installed / "team"), "one_file"]
    for user_dir in (named, ["team", "one_file"]):
        done = bare.run(translate, *words, "--user-dir", ",".join(user_dir), **options).good()
        assert done.output.startswith("of-a-team runs\nof-one-file runs\n")


# too few for a p: 40 updates and 200 test sentences have one, and take a minute
FEW = ["--max-update", "6", "--average", "1", "--cpu"]
for side in ("encoder", "decoder"):
    FEW += [f"--{side}-layers", "2", f"--{side}-embed-dim", "16", f"--{side}-ffn-embed-dim", "16"]


def test_the_page_from_an_empty_folder(tmp_path):
    """Each file and command of the page, with fewer updates and small models; then Python."""
    page = (ROOT / "docs/own_mechanism.md").read_text("utf-8")
    blocks = re.findall(r"^```(.*?)\n(.*?)^```", page, re.S | re.M)
    for head, text in blocks:
        if "title=" in head:
            path = tmp_path / head.split('"')[1]
            path.parent.mkdir()
            path.write_text(text, "utf-8")
            assert len(text.splitlines()) <= 40
    for split, size, seed in (("train", 250, 1), ("valid", 12, 2), ("test", 20, 3)):
        sides = zip(*toy_pairs(size, seed), strict=True)
        for language, lines in zip(("en", "de"), sides, strict=True):
            (tmp_path / f"{split}.{language}").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "line").write_text("the teacher\n", "utf-8")

    def begin():
        os.chdir(tmp_path)
        steps.start = forks.start  # programs in forked copies of this process
        preparation.usable_cpus, plan.visible_gpus = lambda: 1, lambda: 0

    printed = {}
    for line in "".join(text for head, text in blocks if not head).replace("\\\n", "").splitlines():
        words = shlex.split(line)
        if words[:1] == ["echo"]:
            words = [*words[3:6], "line", *words[6:]]
        few = FEW if words[1:3] == ["run", "mine"] else []
        done = run(tmp_path, *words, *few, before=begin).good()
        assert "Traceback" not in done.output + done.errors
        printed[" ".join(words[1:3])] = done.output
    table = printed["results mine"]
    assert all(name in table for name in ("transformer_standard", "gaussian-s1", "talking_heads"))
    assert "\ngaussian-s1 " in printed["compare mine/transformer_standard-s1"]
    for name in ("gaussian", "talking_heads", "layer_mix"):
        assert f"{name}: all rules hold" in printed[f"check-mechanism {name}"]
    record = read_record(tmp_path / "mine/mix-s1")
    folders = {name: str(tmp_path / name) for name in ("layer_mix", "small_states")}
    assert record.mechanisms == folders and record.settings["state-penalty"] == 0.001
    words = ["dc-nmt", "run", "mine", "transformer_standard", "--name", "mix-s1"]
    for flags in (["--source-features", "layer_mix"], ["--user-dir", "layer_mix"]):
        done = run(tmp_path, *words, *flags, "--dry-run", before=begin)
        missing = folders["small_states" if "--user-dir" in flags else "layer_mix"]
        assert done.code == 1 and f"--user-dir {missing}" in done.errors
    (python,) = (text for head, text in blocks if head == "python")
    script = tmp_path / "use.py"
    script.write_text(python, "utf-8")
    done = real("python", script, folder=tmp_path).good()
    assert re.search(r" -\d+\.\d+ \(4, \d+, \d+\)\n| torch.Size\(\[4, ", done.output), done.output
