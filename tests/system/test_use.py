"""What README and docs promise, by fairseq's own programs and ``dc-nmt``: a table of uses.

Each case of fairseq's programs starts where a user's does: in a process that has fairseq and finds
the plugin by ``--user-dir`` alone. It trains three epochs, in two parts where it is continued, and
translates with what was trained. ``test_hydra.py`` does it for ``fairseq-hydra-train``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forks
import pytest
import torch
import yaml
from commands import ROOT, Bare, Result
from fairseq.trainer import Trainer
from interruption import kill_before_update
from systems import (
    ADADELTA,
    RECURRENT,
    RECURRENT_NAMES,
    SMALL,
    SOURCE,
    SPLITS,
    STOCK,
    TARGET,
    binarise,
    family,
    load,
    write_text,
)
from two_processes import free_port

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.recipes.new_recipe import NewOptions, make_recipe
from dc_nmt_plugin.runs.record import read_record

EPOCHS = 3
COMMON = [
    *("--cpu", "--seed", 5, "--max-tokens", 80, "--lr-scheduler", "inverse_sqrt"),
    *("--log-format", "json", "--log-interval", 1, "--required-batch-size-multiple", 1),
    *("--label-smoothing", 0.1),
]
ADAM = ["--optimizer", "adam", "--lr", 0.01]
RESET = ["--reset-optimizer", "--reset-dataloader", "--reset-meters", "--reset-lr-scheduler"]
TWO_SETS = ["--valid-subset", "valid,other"]
IN_ORDER = ["--curriculum", 1]  # of the first epoch's sentences
AFTER_UPDATES = ["--validate-interval-updates", 2, "--save-interval-updates", 2]
TWO_PROCESSES = ["--ddp-backend", "legacy_ddp", "--distributed-backend", "gloo"]
TWO_PROCESSES += ["--distributed-no-spawn"]
SEVERAL_KINDS = [
    *("--arch", "transformer_standard", "--base", "modern", "--encoder-layers-of"),
    *("dual_context(kernel=3) context_aware(context=global)", "--decoder-layers-of"),
    *("dual_context(kernel=1)", *SMALL, *ADAM),
]
AUXILIARY = [*family("transformer_ms_aux_aif"), "--no-attention-bias", *SMALL, *ADAM]
GRU = ["--arch", RECURRENT, *RECURRENT_NAMES, "--embed-dim", 8, "--hidden-dim", 10, *ADADELTA]
PLAIN = ["--task", "translation", "--criterion", "label_smoothed_cross_entropy"]
THEIRS = ["--task", STOCK[0], "--criterion", "label_smoothed_cross_entropy"]


@dataclass(frozen=True)
class Case:
    """One way to use the plugin.

    Attributes:
        program: fairseq-train, "two processes" of it, or dc-nmt train
        continued: "epoch" (at the end of one), "killed" (in one, or ended), or "other text"
        flags: of the training
    """

    program: str
    continued: str
    flags: Sequence[Any]


CASES = {
    "several kinds of layers, fairseq's criterion, killed": Case(
        "fairseq-train",
        "killed",
        [*SEVERAL_KINDS, *THEIRS, "--num-workers", 2, "--update-freq", 2, *AFTER_UPDATES],
    ),
    "auxiliary decoder, fairseq's task, other text": Case(
        "fairseq-train",
        "other text",
        [*AUXILIARY, "--task", "translation", "--amp", "--num-workers", 1, *IN_ORDER, *TWO_SETS],
    ),
    "recurrent, killed, not validated": Case(
        "fairseq-train", "killed", [*GRU, "--num-workers", 0, "--disable-validation"]
    ),
    "two processes, auxiliary decoder, continued": Case(
        "two processes",
        "epoch",
        [*AUXILIARY, "--amp", "--num-workers", 2, *TWO_SETS],
    ),
    "a recipe, auxiliary decoder, killed": Case(
        "dc-nmt train", "killed", [*AUXILIARY, "--num-workers", 2, *TWO_SETS]
    ),
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, Path]:
    """Two corpora with one dictionary; the first has a second validation set."""
    folder = tmp_path_factory.mktemp("texts")
    first = binarise(folder / "first", SPLITS)
    words = ["--srcdict", first / f"dict.{SOURCE}.txt", "--tgtdict", first / f"dict.{TARGET}.txt"]
    second = binarise(folder / "second", {**SPLITS, "train": 30}, dictionary=words, seed=7)
    copy_validation_set(second, first)
    return {"first": first, "second": second}


def copy_validation_set(data: Path, to: Path) -> None:
    for path in data.glob("valid.*"):
        (to / path.name.replace("valid.", "other.")).write_bytes(path.read_bytes())


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Iterator[Path]:
    """The folder of a prepared recipe, ``mine``, with a second validation set."""
    home = tmp_path_factory.mktemp("recipe")
    sizes = {"train": 200, "valid": 5, "test": 5}  # dc-nmt new takes no fewer to train on
    write_text(home, sizes)
    files = [[home / f"{split}.{language}" for language in (SOURCE, TARGET)] for split in sizes]
    with pytest.MonkeyPatch.context() as patch:
        forks.start_for_recipes(patch)
        patch.chdir(home)
        make_recipe(NewOptions(Path("mine"), *files, tokenized=True))
        content = yaml.safe_load(Path("mine/recipe.yaml").read_text("utf-8"))
        for settings in content["settings"].values():
            if "flags" in settings:
                settings["flags"] = "--clip-norm 1.0"  # a case has all others
        Path("mine/recipe.yaml").write_text(yaml.safe_dump(content), "utf-8")
        assert cli.main(["prepare", "mine"]) == 0
        copy_validation_set(home / "mine/data/bin", home / "mine/data/bin")
        yield home / "mine"


def start(bare: Bare, program: str, words: Sequence[Any], folder: Path) -> list[Result]:
    """Run a program of fairseq, or two processes of ``fairseq-train``, to the end."""
    folder.mkdir(parents=True, exist_ok=True)
    module = {"two processes": "train"}.get(program, program.removeprefix("fairseq-"))
    code = f"from fairseq_cli.{module} import cli_main; cli_main()"
    precision = {"DC_NMT_BFLOAT16": str(int("--amp" in words))}
    if program != "two processes":
        return [bare.run(code, *words, folder=folder, environment=precision).good()]
    results: dict[int, Result] = {}
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    ranks = ["--distributed-init-method", "env://", "--distributed-world-size", 2]

    def run(rank: int) -> None:
        results[rank] = bare.run(
            code,
            *(*words, *TWO_PROCESSES, *ranks, "--distributed-rank", rank),
            folder=folder,
            environment={**precision, **world, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[rank].good() for rank in range(2)]


USER_DIR = ["--user-dir", ROOT / "dc_nmt_plugin"]


def train(
    bare: Bare, case: Case, texts: dict[str, Path], folder: Path, user_dir: Sequence[Any] = USER_DIR
) -> str:
    """Train a case into ``folder/save``, in two parts where it is continued; the last's output."""

    def part(text: str, save: str, *more: Any) -> str:
        languages = ["--source-lang", SOURCE, "--target-lang", TARGET, *user_dir]
        line = [texts[text], *languages, "--save-dir", folder / save, *COMMON, *case.flags, *more]
        done = start(bare, case.program, line, folder)[0]
        return done.output + done.errors

    more: list[Any] = []
    if case.continued == "epoch":
        part("first", "save", "--max-epoch", EPOCHS - 1)
    elif case.continued == "killed":
        part("first", "save", "--max-update", 1)
    elif case.continued == "other text":
        part("second", "before", "--max-epoch", 1, "--valid-subset", "valid")
        more = [*RESET, "--restore-file", folder / "before" / "checkpoint_last.pt"]
    return part("first", "save", *more, "--max-epoch", EPOCHS)


def train_by_recipe(case: Case, recipe: Path, name: str) -> str:
    """Train a case by ``dc-nmt train``, in two parts; its log of both."""
    flags = [str(flag) for flag in (*COMMON, *case.flags)]
    place = flags.index("--arch")
    architecture = flags[place + 1]
    del flags[place : place + 2]
    flags[flags.index("--max-tokens") + 1] = "400"  # five batches an epoch
    flags += ["--update-freq", "1"]
    words = ["train", "mine", architecture, "--name", name, "--save-interval-updates", "2", *flags]
    words += ["--max-epoch", str(EPOCHS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "train_step", Trainer.train_step)
        kill_before_update(4)
        assert cli.main(words) == 1
    assert cli.main(words) == 0
    log = (recipe / name / "train.log").read_text("utf-8")
    assert "Loaded checkpoint" in log
    return log


@pytest.mark.parametrize("name", CASES)
def test_trains_to_the_end_and_translates(name, bare, texts, tmp_path, request):
    case = CASES[name]
    if case.program == "dc-nmt train":
        recipe = request.getfixturevalue("recipe")
        run = name.replace(", ", "-").replace(" ", "-")
        text = train_by_recipe(case, recipe, run)
        save, data, subset = recipe / run / "checkpoints", recipe / "data/bin", "test"
    else:
        text = train(bare, case, texts, tmp_path)
        save, data, subset = tmp_path / "save", texts["first"], "test1"
        batches = 2 if "--update-freq" in case.flags or case.program == "two processes" else 1
        assert read_record(save).training.tokens == 80 * batches
    state = load(save)
    assert state["extra_state"]["train_iterator"]["epoch"] == EPOCHS + 1
    assert all(value.isfinite().all() for value in state["model"].values())
    # what this process trained: all epochs, or what was left of them
    first = EPOCHS if case.continued == "epoch" else 1
    assert "Traceback" not in text
    for epoch in range(first, EPOCHS + 1):
        assert f"end of epoch {epoch} " in text
    validated = 0 if "--disable-validation" in case.flags else EPOCHS - first + 1
    for valid in ("valid", "other") if "valid,other" in case.flags else ("valid",):
        assert text.count(f'begin validation on "{valid}" subset') >= validated
    assert (save / "checkpoint_best.pt").exists() == bool(validated)
    assert ("linear layers multiply in bfloat16" in text) == ("--amp" in case.flags)
    task = case.flags[len(case.flags) - 1 - case.flags[::-1].index("--task") + 1]
    words = [data, "--path", save / "checkpoint_last.pt", "--cpu", "--task", task, *USER_DIR]
    words += ["--source-lang", SOURCE, "--target-lang", TARGET, "--max-len-b", 12]
    (done,) = start(bare, "fairseq-generate", [*words, "--gen-subset", subset], tmp_path)
    assert sorted(done.hypotheses()) == list(range(SPLITS["test1"]))


def test_fairseqs_own_model_is_the_same_with_the_plugin(bare, texts, tmp_path):
    """The plugin's run is killed and continued, fairseq's alone is not."""
    flags = ["--arch", "transformer", *SMALL, *ADAM, *PLAIN, "--num-workers", 2, "--update-freq", 2]
    flags += AFTER_UPDATES
    for save, continued, user_dir in (("ours", "killed", USER_DIR), ("alone", "not", [])):
        case = Case("fairseq-train", continued, flags)
        train(bare, case, texts, tmp_path / save, user_dir)
    ours, alone = (load(tmp_path / save / "save") for save in ("ours", "alone"))
    updates = [state["optimizer_history"][-1]["num_updates"] for state in (ours, alone)]
    assert updates[0] == updates[1]
    assert ours["model"].keys() == alone["model"].keys()
    for name, parameter in alone["model"].items():
        assert torch.equal(ours["model"][name], parameter), name
