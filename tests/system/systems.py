"""Made-up parallel text, and the command lines that train tiny systems on it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from commands import ROOT, Result, run
from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

SOURCE, TARGET = "xx", "yy"
WORDS = [first + second for first in ("ba", "ke", "lo", "mi") for second in ("dun", "far", "gol")]
# test sets are named so that fairseq, which joins train, train1 …, keeps them apart
SPLITS = {"train": 50, "valid": 5, "test": 50, "test1": 5, "test2": 1}

# architecture → its task and its criterion
FAMILIES = {
    "transformer_standard": ("translation_dc_nmt", "joint_label_smoothed_cross_entropy"),
    "transformer_dc": ("transformer_dc", "transformer_dc"),
    "transformer_ctxaware": ("transformer_ctxaware", "transformer_ctxaware"),
    "transformer_cross_agg": ("transformer_cross_agg", "transformer_cross_agg"),
    "transformer_mlmha": ("transformer_mlmha", "transformer_mlmha"),
    "transformer_ms_aux_aif": ("transformer_ms_aux", "transformer_ms_aux"),
}
STOCK = ("translation_dc_nmt", "label_smoothed_cross_entropy")
RECURRENT = "gru_selfattn_residual"
RECURRENT_NAMES = ["--task", RECURRENT, "--criterion", RECURRENT]
# the recurrent model's published ones, at a rate at which a few updates change something
ADADELTA = ["--optimizer", "adadelta", "--adadelta-eps", 1e-6, "--adadelta-rho", 0.95, "--lr", 1]
SMALL = ["--encoder-layers", 2, "--decoder-layers", 1, "--dropout", 0.1]
for _side in ("encoder", "decoder"):
    SMALL += [f"--{_side}-embed-dim", 8, f"--{_side}-ffn-embed-dim", 12]
    SMALL += [f"--{_side}-attention-heads", 2]


def translation(sentence: list[str]) -> list[str]:
    """The other language: the words in reverse order, each spelled backwards."""
    return [word[::-1] for word in reversed(sentence)]


def write_text(folder: Path, splits: dict[str, int], *, longest: int = 7, seed: int = 1) -> None:
    """Write ``<split>.xx`` and ``<split>.yy`` with that many sentences each."""
    folder.mkdir(parents=True, exist_ok=True)
    choice = random.Random(seed)
    for split, size in splits.items():
        pairs = []
        for _ in range(size):
            words = choice.choices(WORDS, k=choice.randint(2, longest))
            pairs.append((" ".join(words), " ".join(translation(words))))
        for language, side in zip((SOURCE, TARGET), zip(*pairs, strict=True), strict=True):
            path = folder / f"{split}.{language}"
            path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")


def binarise(
    folder: Path, splits: dict[str, int], dictionary: Sequence[object] = (), **text: int
) -> Path:
    """Write text, binarise it, return the folder of the data.

    Args:
        folder: for text and data
        splits: split → its number of sentences
        dictionary: flags that name given ones; by default one of both sides is made
        text: options of :func:`write_text`
    """
    write_text(folder / "text", splits, **text)
    tests = [folder / "text" / split for split in splits if split.startswith("test")]
    run(
        folder,
        "preprocess",
        *("--source-lang", SOURCE, "--target-lang", TARGET),
        *(dictionary or ["--joined-dictionary"]),
        *("--trainpref", folder / "text" / "train", "--validpref", folder / "text" / "valid"),
        *("--testpref", ",".join(map(str, tests)), "--destdir", folder / "data"),
    ).good()
    return folder / "data"


def family(arch: str) -> list[str]:
    """The flags that go with an architecture, or with fairseq's own ``transformer``."""
    task, criterion = FAMILIES.get(arch, STOCK)
    return ["--arch", arch, "--task", task, "--criterion", criterion]


def training(data: Path, save: Path, *changes: object) -> list[object]:
    """The command line of a tiny training, after :func:`family`; later flags win."""
    return [
        *(data, "--save-dir", save, *SMALL, "--cpu", "--seed", 5, "--label-smoothing", 0.1),
        *("--optimizer", "adam", "--lr", 0.01, "--max-tokens", 80, "--num-workers", 0),
        *("--log-format", "json", "--log-interval", 1, *changes),
    ]


def train(data: Path, save: Path, arch: str, *changes: object) -> Result:
    """Train a tiny system."""
    return run(save, "train", *training(data, save, *family(arch), *changes))


def hydra(data: Path, folder: Path, *words: str, **model: object) -> Result:
    """Train by ``fairseq-hydra-train`` with a file of settings; `model` is on top of SMALL."""
    name = "transformer_ms_aux"
    small = dict(zip((flag[2:].replace("-", "_") for flag in SMALL[::2]), SMALL[1::2], strict=True))
    settings = {  # group → its settings; a name chooses a class
        "common": {"user_dir": str(ROOT / "dc_nmt_plugin"), "cpu": True, "seed": 5},
        "task": {"_name": name, "data": str(data)},
        "model": {"_name": name, **small, **model},
        "criterion": {"_name": name, "label_smoothing": 0.1},
        "optimizer": {"_name": "adam"},
        "lr_scheduler": {"_name": "fixed"},
        "dataset": {"max_tokens": 80, "num_workers": 0, "disable_validation": True},
        "optimization": {"max_update": 3, "lr": [0.01]},
        "checkpoint": {"save_dir": str(folder / "save")},
    }
    (folder / "small.yaml").write_text(f"# @package _global_\n{yaml.safe_dump(settings)}")
    words = ("--config-dir", folder, "--config-name", "small", f"hydra.run.dir={folder}", *words)
    return run(folder, "hydra-train", *words)


def generation(data: Path, checkpoint: object, arch: str, *changes: object) -> list[object]:
    """The command line of ``fairseq-generate`` and ``fairseq-interactive``."""
    task, _ = FAMILIES[arch]
    return [
        *(data, "--path", checkpoint, "--task", task, "--cpu", "--num-workers", 0),
        *("--source-lang", SOURCE, "--target-lang", TARGET, "--max-len-b", 12, *changes),
    ]


def recurrent_training(data: Path, save: Path, variant: str = "", *changes: object) -> list[object]:
    """The command line of a tiny training of the recurrent model, or of a variant of it."""
    arch = f"{RECURRENT}_{variant}" if variant else RECURRENT
    return [
        *(data, "--save-dir", save, "--arch", arch, *RECURRENT_NAMES, "--label-smoothing", 0.1),
        *("--embed-dim", 8, "--hidden-dim", 10, "--cpu", "--seed", 5, "--num-workers", 0),
        *("--max-tokens", 80, "--log-format", "json", *changes),
    ]


def recurrent_generation(data: Path, checkpoint: object, *changes: object) -> list[object]:
    """As :func:`generation`."""
    return generation(data, checkpoint, "transformer_standard", "--task", RECURRENT, *changes)


def load(save: Path) -> dict[str, Any]:
    """Returns the last checkpoint of a training run."""
    state: dict[str, Any] = torch.load(save / "checkpoint_last.pt", weights_only=True)
    return state


def configuration(*flags: object) -> Any:
    """What ``fairseq-generate`` makes of a command line."""
    parser = options.get_generation_parser()
    return convert_namespace_to_omegaconf(
        options.parse_args_and_arch(parser, [str(flag) for flag in flags])
    )


def task(name: str, data: Path, *flags: object) -> Any:
    """A task as ``fairseq-generate`` sets it up."""
    languages = ("--source-lang", SOURCE, "--target-lang", TARGET)
    return tasks.setup_task(configuration(data, "--task", name, *languages, *flags).task)
