"""Writes the training of a recipe as a file of fairseq-hydra-train: ``config/ARCH.yaml``."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import yaml
from fairseq import options
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_DATACLASS_REGISTRY
from omegaconf import OmegaConf

from .. import registration  # noqa: F401
from ..models.presets import architectures
from ..papers.scores import published_scores
from .launch import MachineOptions
from .options import RunOptions, TrainOptions
from .recipe import Recipe
from .run_plan import plan_training
from .settings import family_of

UNPUBLISHED = ["transformer_standard", "transformer_dc"]  # for tasks of no paper
# what a machine or a run decides, or what comes from another group
LEFT_OUT = {"common": ("user_dir",), "checkpoint": ("save_dir",), "task": ("data",)}
_wrap = textwrap.TextWrapper(96, break_on_hyphens=False, break_long_words=False).wrap
GROUPS = ("common", "task", "model", "criterion", "optimizer", "lr_scheduler", "dataset",
          "optimization", "checkpoint")  # fmt: skip


def architectures_of(recipe: Recipe) -> list[str]:
    """Returns the architectures published on a task, without variants and sizes."""
    scores = [
        score
        for direction in recipe.directions
        for score in published_scores(recipe.name_in(direction))
    ]
    names = {family_of(score.model.split()[0]).name: None for score in scores}
    return list(names) or UNPUBLISHED


def config_text(recipe: Recipe, arch: str, folder: Path | None = None) -> str:
    """Returns the file for the training of ``dc-nmt train TASK ARCH --gpus 1``.

    Args:
        recipe: which task, in its first direction
        arch: architecture
        folder: of the file, for its comment; default the folder of the task's page

    Raises:
        UserError: no such architecture
    """
    run = RunOptions(recipe.given_as, arch, out=Path("nothing-is-prepared-here"))
    plan = plan_training(run, TrainOptions(machines=MachineOptions("fairseq", 1)))
    command = list(plan.training.command)
    at = command.index(str(plan.training.run.binarised))
    place = recipe.place(recipe.folder, None, None)
    content = _differences(_parsed(command[at:]))
    content["common"] = {"user_dir": "dc_nmt_plugin", **content.get("common", {})}
    content["task"]["data"] = (place / "data" / plan.training.run.binarised.name).as_posix()
    save = (place / f"{plan.training.run.folder.name}-hydra" / "checkpoints").as_posix()
    content["checkpoint"] = {"save_dir": save, **content.get("checkpoint", {})}
    content = {group: content[group] for group in GROUPS if content.get(group)}
    # paths stay relative to the folder of the command
    content = {"hydra": {"run": {"dir": "."}, "output_subdir": None}, **content}
    body = yaml.safe_dump(content, sort_keys=False, width=96)
    return f"{_head(recipe, arch, plan.settings.source, folder)}{body}"


def _head(recipe: Recipe, arch: str, source: str, folder: Path | None) -> str:
    page = Path(recipe.given_as if recipe.own else f"examples/{recipe.folder}")
    place = shlex.quote(str(folder or page / "config"))
    others = [direction for direction in recipe.directions if direction != recipe.direction]
    lines = [
        "@package _global_",
        f"{recipe.task.title}, {arch} ({recipe.direction}). {source}",
        f"Made by: dc-nmt recipe config {recipe.given_as} {arch}. After dc-nmt prepare "
        f"{recipe.given_as}, in the same folder:",
        f"fairseq-hydra-train --config-dir {place} --config-name {arch}",
        "Without a checkout: common.user_dir=$(dc-nmt user-dir). On a CPU: common.cpu=true.",
    ]
    lines += [
        f"In {other}: task.source_lang={other.split('-')[0]} "
        f"task.target_lang={other.split('-')[1]}, and another checkpoint.save_dir."
        for other in others
    ]
    wrapped = (part for line in lines for part in _wrap(line))
    return "".join(f"# {line}\n" for line in wrapped)


def flags_as_groups(words: list[str]) -> dict[str, Any]:
    """Returns the values of a fairseq-train command that are not defaults, as Hydra's groups.

    Args:
        words: with an architecture of this package

    Returns:
        group → setting → value
    """
    content = _differences(_parsed(words))
    return {group: content[group] for group in GROUPS if content.get(group)}


def _parsed(words: list[str]) -> dict[str, Any]:
    """Returns how fairseq-train parses its flags, group by group."""
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, words)
    cfg = convert_namespace_to_omegaconf(args)
    content: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True)  # type: ignore[assignment]
    # a model named by --arch, and an optimizer of the old kind, stay the whole namespace
    content["model"] = {**vars(args), "_name": args.arch}
    if not isinstance(content["optimizer"], dict):
        content["optimizer"] = _old_optimizer(args)
    return content


def _old_optimizer(args: argparse.Namespace) -> dict[str, Any]:
    """Returns all settings of an optimizer without a dataclass, which has no defaults."""
    parser = argparse.ArgumentParser(add_help=False)
    REGISTRIES["optimizer"]["registry"][args.optimizer].add_args(parser)
    names = [action.dest for action in parser._actions]
    return {"_name": args.optimizer, "lr": args.lr, **{name: vars(args)[name] for name in names}}


def _differences(parsed: dict[str, Any]) -> dict[str, Any]:
    """Returns the values that differ from the defaults of their group."""
    found: dict[str, Any] = {}
    for group in GROUPS:
        values, known = parsed[group], _defaults(group, parsed[group])
        if known is None:
            found[group] = values
            continue
        found[group] = {"_name": values["_name"]} if values.get("_name") else {}
        # values of an architecture, which flags may reset to the model's defaults
        preset = architectures()[values["_name"]].settings if group == "model" else {}
        for name, default in known.items():
            value = _plain(values.get(name))
            follows = str(default).startswith("${")  # another group's value
            own = name not in ("_name", *LEFT_OUT.get(group, ()))
            if own and not follows and (value != _plain(default) or name in preset):
                found[group][name] = value
    return found


def _defaults(group: str, values: dict[str, Any]) -> dict[str, Any] | None:
    """Returns field → default of the class in a group's ``_name``; None without one."""
    name = values.get("_name")
    if group in REGISTRIES:
        kind = REGISTRIES[group]["dataclass_registry"].get(name)
        if kind is None:
            return None
        instance = kind()
    elif group == "task":
        instance = TASK_DATACLASS_REGISTRY[name]()
    elif group == "model":
        instance = architectures()[str(name)].config()
    else:
        instance = getattr(FairseqConfig(), group)()
    return {field.name: getattr(instance, field.name) for field in fields(instance)}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
