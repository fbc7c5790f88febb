"""What the README promises, by fairseq's own programs and ``dc-nmt``: the ways of ``use.yaml``.

Each case of fairseq's programs starts where a user's does: in a process that has fairseq and finds
the plugin by ``--user-dir`` alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forks
import pytest
import torch
import yaml
from commands import ROOT, Bare, Result, read_a_command_line
from covering import covering
from fairseq.trainer import Trainer
from helpers import few
from hydra_groups import flags_as_groups
from interruption import kill_before_update
from systems import (
    ADADELTA,
    FAMILIES,
    RECURRENT,
    SMALL,
    SOURCE,
    SPLITS,
    TARGET,
    binarise,
    load,
    write_text,
)
from two_processes import free_port

from dc_nmt_plugin import cli, steps
from dc_nmt_plugin.recipes import plan, preparation
from dc_nmt_plugin.recipes.new_recipe import NewOptions, make_recipe

USES = yaml.safe_load(Path(__file__).with_name("use.yaml").read_text("utf-8"))
FACTORS: dict[str, dict[str, list[Any]]] = USES["factors"]
FLAGS = [
    *("--cpu", "--seed", 5, "--max-tokens", 80, "--lr-scheduler", "inverse_sqrt"),
    *("--log-format", "json", "--log-interval", 1, "--required-batch-size-multiple", 1),
]
ADAM = ["--optimizer", "adam", "--lr", 0.01]
EPOCHS = 3
RECIPE = {"train": 200, "valid": 5, "test": 5}  # pairs; dc-nmt new takes no fewer to train on


@dataclass(frozen=True)
class Trained:
    """What a case left.

    Attributes:
        text: what its last part printed; all parts, where a log keeps them
        save: folder of its checkpoints
        data: folder of its text
        subset: five sentences in it to translate
    """

    text: str
    save: Path
    data: Path
    subset: str = "test1"


def goes_together(values: dict[int, str]) -> bool:
    """Whether factors, by number, have no values that ``never`` names."""
    case = {list(FACTORS)[number]: value for number, value in values.items()}
    return not any(
        all(case.get(factor) in some for factor, some in rule.items()) for rule in USES["never"]
    )


def cases(together: int, *, everything: bool) -> list[dict[str, str]]:
    """Cases in which all values of every `together` factors occur."""
    left_out = [] if everything else USES["with all"]
    values = [[v for v in factor if v not in left_out] for factor in FACTORS.values()]
    found = covering(values, together, goes_together)
    return [dict(zip(FACTORS, values, strict=True)) for values in found]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--all")
        found = cases(3 if everything else 2, everything=everything)
        metafunc.parametrize("case", found, ids=[", ".join(case.values()) for case in found])


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, Path]:
    """Two corpora with one dictionary; the first has a second validation set."""
    folder = tmp_path_factory.mktemp("texts")
    first = binarise(folder / "first", SPLITS)
    words = ["--srcdict", first / f"dict.{SOURCE}.txt", "--tgtdict", first / f"dict.{TARGET}.txt"]
    second = binarise(folder / "second", {**SPLITS, "train": 30}, dictionary=words, seed=7)
    for path in second.glob("valid.*"):
        (first / path.name.replace("valid.", "other.")).write_bytes(path.read_bytes())
    return {"first": first, "second": second}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Iterator[Path]:
    """The folder of a prepared recipe, ``mine``, with a second validation set."""
    read_a_command_line()
    home = tmp_path_factory.mktemp("recipe")
    write_text(home, RECIPE)
    files = [[home / f"{split}.{language}" for language in (SOURCE, TARGET)] for split in RECIPE]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "start", forks.start)  # programs in forked copies of this process
        patch.setattr(plan, "visible_gpus", lambda: 0)
        patch.setattr(preparation, "usable_cpus", lambda: 1)
        patch.chdir(home)
        make_recipe(NewOptions(Path("mine"), [files[0]], *files[1:], tokenized=True))
        content = yaml.safe_load(Path("mine/recipe.yaml").read_text("utf-8"))
        for settings in content["settings"].values():
            if "flags" in settings:
                settings["flags"] = "--clip-norm 1.0"  # a case has all others
        Path("mine/recipe.yaml").write_text(yaml.safe_dump(content), "utf-8")
        assert cli.main(["prepare", "mine"]) == 0
        for path in (home / "mine/data/bin").glob("valid.*"):
            path.with_name(path.name.replace("valid.", "other.")).write_bytes(path.read_bytes())
        yield home / "mine"


def family(architecture: str) -> tuple[str, str]:
    """The names of task and criterion that go with an architecture."""
    if architecture == RECURRENT:
        return RECURRENT, RECURRENT
    return FAMILIES.get(architecture, FAMILIES["transformer_standard"])


def flags_of(case: dict[str, str]) -> list[Any]:
    """The flags of a case, but for data, save folder and length."""
    task, criterion = family(case["architecture"])
    recurrent = case["architecture"] == RECURRENT
    flags: list[Any] = [*FLAGS, *(ADADELTA if recurrent else ADAM), "--label-smoothing", 0.1]
    for factor, value in case.items():
        ours = {"task": task, "criterion": criterion}.get(factor, "")
        given = [ours if word == "OURS" else word for word in FACTORS[factor][value]]
        flags += given[:-1] + SMALL if given[-1:] == ["SMALL"] else given
    return flags


def as_groups(words: list[str]) -> dict[str, Any]:
    """The groups of Hydra for a command line, also one with fairseq's own Transformer."""
    if "transformer" not in words:
        return flags_as_groups(words)
    groups = flags_as_groups([{"transformer": "transformer_standard"}.get(w, w) for w in words])
    model: dict[str, Any] = {"_name": "transformer", "encoder": {}, "decoder": {}}
    for name, value in groups["model"].items():  # it has both sides' settings in groups of theirs
        side, _, own = name.partition("_")
        if side in model:
            model[side][own] = value
        elif name != "_name":
            model[name] = value
    return {**groups, "model": model}


def start(bare: Bare, name: str, words: list[Any], folder: Path) -> list[Result]:
    """Run a program of fairseq, or two processes of ``fairseq-train``, to the end."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [*words, "--user-dir", ROOT / "dc_nmt_plugin"]
    if name == "fairseq-hydra-train":
        groups = as_groups([str(word) for word in words])
        groups["task"]["data"] = str(words[0])
        save = str(words[words.index("--save-dir") + 1])
        groups["checkpoint"] = {**groups.get("checkpoint", {}), "save_dir": save}
        groups["common"]["user_dir"] = str(ROOT / "dc_nmt_plugin")
        text = yaml.safe_dump(groups)
        (folder / "made.yaml").write_text(f"# @package _global_\n{text}", "utf-8")
        own = [f"hydra.run.dir={folder}"]
        words = ["--config-dir", folder, "--config-name", "made", *own]
    module = {"two processes": "train"}.get(name, name.removeprefix("fairseq-").replace("-", "_"))
    code = f"from fairseq_cli.{module} import cli_main; cli_main()"
    if name != "two processes":
        return [bare.run(code, *words, folder=folder).good()]
    port, results = str(free_port()), {}
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    ranks = ["--distributed-init-method", "env://", "--distributed-world-size", 2]

    def run(rank: int) -> None:
        results[rank] = bare.run(
            code,
            *(*words, *ranks, "--distributed-rank", rank),
            folder=folder,
            environment={**world, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[rank].good() for rank in range(2)]


def train(bare: Bare, case: dict[str, str], texts: dict[str, Path], folder: Path) -> Trained:
    """Train a case, in two parts where it is continued."""
    flags = flags_of(case)
    plain = [flag for flag in flags if flag not in FACTORS["continued"]["on other text"]]

    def part(text: str, save: str, words: list[Any], *more: Any) -> list[Result]:
        languages = ["--source-lang", SOURCE, "--target-lang", TARGET]
        line = [texts[text], *languages, "--save-dir", folder / save, *words, *more]
        return start(bare, case["program"], line, folder)

    if case["continued"] == "at the end of an epoch":
        part("first", "save", plain, "--max-epoch", EPOCHS - 1)
    elif case["continued"] == "in an epoch":
        part("first", "save", plain, "--max-update", 1)
    elif case["continued"] == "on other text":
        valid = ["--valid-subset", "valid"]  # the other corpus has one set
        part("second", "before", plain, "--max-epoch", 1, *valid)
        flags = [*flags, "--restore-file", folder / "before" / "checkpoint_last.pt"]
    (done, *_) = part("first", "save", flags, "--max-epoch", EPOCHS)
    return Trained(done.output + done.errors, folder / "save", texts["first"])


def train_by_recipe(case: dict[str, str], recipe: Path, name: str) -> Trained:
    """Train a case by ``dc-nmt train``, in two parts where it is continued."""
    flags = [str(flag) for flag in flags_of(case)]
    place = flags.index("--arch")
    architecture = flags[place + 1]
    del flags[place : place + 2]
    flags[flags.index("--max-tokens") + 1] = "400"  # five batches an epoch
    flags += [] if "--update-freq" in flags else ["--update-freq", "1"]
    flags += [] if "--save-interval-updates" in flags else ["--save-interval-updates", "2"]
    words = ["train", "mine", architecture, "--name", name, *flags]
    words += ["--max-epoch", str(EPOCHS)]
    if case["continued"] == "in an epoch":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "train_step", Trainer.train_step)
            kill_before_update(4)
            assert cli.main(words) == 1
    assert cli.main(words) == 0
    folder = recipe / name
    log = (folder / "train.log").read_text("utf-8")
    assert ("Loaded checkpoint" in log) == (case["continued"] == "in an epoch")
    return Trained(log, folder / "checkpoints", recipe / "data/bin", "test")


def test_trains_to_the_end_and_translates(case, bare, texts, tmp_path, request):
    if case["program"] == "dc-nmt train":
        recipe = request.getfixturevalue("recipe")
        trained = train_by_recipe(case, recipe, f"case-{len(list(recipe.iterdir()))}")
    else:
        trained = train(bare, case, texts, tmp_path)
    state = load(trained.save)
    assert state["extra_state"]["train_iterator"]["epoch"] == EPOCHS + 1
    assert all(value.isfinite().all() for value in state["model"].values())
    # what this process trained: all epochs, or what was left of them
    first = {"at the end of an epoch": EPOCHS, "in an epoch": 1}.get(case["continued"], 1)
    text = trained.text
    assert "Traceback" not in text
    for epoch in range(first, EPOCHS + 1):
        assert f"end of epoch {epoch} " in text
    validated = 0 if case["validation"] == "none" else EPOCHS - first + 1
    for subset in FACTORS["validation"][case["validation"]][1:2] or ["valid"]:
        for name in str(subset).split(",") if "valid" in str(subset) else ["valid"]:
            assert text.count(f'begin validation on "{name}" subset') >= validated
    assert (trained.save / "checkpoint_best.pt").exists() == bool(validated)
    named = "--amp changes nothing on a CPU" in text
    assert named == (case["precision"] == "amp")
    words = [trained.data, "--path", trained.save / "checkpoint_last.pt", "--cpu"]
    task = family(case["architecture"])[0] if case["task"] == "ours" else "translation"
    languages = ["--source-lang", SOURCE, "--target-lang", TARGET, "--max-len-b", 12]
    words += ["--task", task, "--gen-subset", trained.subset]
    (done,) = start(bare, "fairseq-generate", [*words, *languages], tmp_path)
    assert sorted(done.hypotheses()) == list(range(SPLITS["test1"]))


STOCK = [
    {"workers": "one", "validation": "two sets"},
    {"workers": "two", "validation": "after updates", "continued": "in an epoch"},
    {"batches": "two an update", "precision": "amp", "continued": "at the end of an epoch"},
]


@pytest.mark.parametrize(
    "changes", few(STOCK, *STOCK[1:]), ids=lambda changes: ", ".join(changes.values())
)
def test_fairseqs_own_model_is_the_same_with_the_plugin(
    changes, bare, texts, tmp_path, monkeypatch
):
    case = USES["usual"] | changes
    states = []
    for plugin in (True, False):
        if not plugin:  # which continues a run like an uninterrupted one; fairseq alone does not
            monkeypatch.setattr("test_use.start", without_the_plugin)
            case["continued"] = "unbroken"
        train(bare, case, texts, tmp_path / str(plugin))
        states.append(load(tmp_path / str(plugin) / "save"))
    ours, theirs = states
    assert (
        ours["optimizer_history"][-1]["num_updates"]
        == theirs["optimizer_history"][-1]["num_updates"]
    )
    assert ours["model"].keys() == theirs["model"].keys()
    for name, parameter in theirs["model"].items():
        assert torch.equal(ours["model"][name], parameter), name


def without_the_plugin(bare, name, words, folder):
    """:func:`start`, of a user who has fairseq alone."""
    folder.mkdir(parents=True, exist_ok=True)
    code = "from fairseq_cli.train import cli_main; cli_main()"
    return [bare.run(code, *words, folder=folder).good()]
