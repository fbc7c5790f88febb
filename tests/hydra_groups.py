"""Writes a command line of fairseq-train as the groups of fairseq-hydra-train."""

from __future__ import annotations

import argparse
from dataclasses import fields
from enum import Enum
from typing import Any

from fairseq import options
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_DATACLASS_REGISTRY
from omegaconf import OmegaConf

from dc_nmt_plugin.models.presets import architectures

GROUPS = ("common", "task", "model", "criterion", "optimizer", "lr_scheduler", "dataset",
          "optimization", "checkpoint")  # fmt: skip
# what a machine or a run decides, or what comes from another group
LEFT_OUT = {"common": ("user_dir",), "checkpoint": ("save_dir",), "task": ("data",)}


def flags_as_groups(words: list[str]) -> dict[str, Any]:
    """Returns group → setting → value, of values that are not defaults."""
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    content: dict[str, Any] = OmegaConf.to_container(  # type: ignore[assignment]
        convert_namespace_to_omegaconf(args), resolve=True
    )
    # a model named by --arch, and an optimizer of the old kind, stay the whole namespace
    content["model"] = {**vars(args), "_name": args.arch}
    if not isinstance(content["optimizer"], dict):
        content["optimizer"] = _old_optimizer(args)
    found = {group: _differences(group, content[group]) for group in GROUPS}
    return {group: values for group, values in found.items() if values}


def _old_optimizer(args: argparse.Namespace) -> dict[str, Any]:
    """Returns all settings of an optimizer without a dataclass, which has no defaults."""
    parser = argparse.ArgumentParser(add_help=False)
    REGISTRIES["optimizer"]["registry"][args.optimizer].add_args(parser)
    names = [action.dest for action in parser._actions]
    return {"_name": args.optimizer, "lr": args.lr, **{name: vars(args)[name] for name in names}}


def _differences(group: str, values: dict[str, Any]) -> dict[str, Any]:
    known = _defaults(group, values)
    if known is None:
        return values
    found = {"_name": values["_name"]} if values.get("_name") else {}
    # values of an architecture, which flags may reset to the model's defaults
    preset = architectures()[values["_name"]].settings if group == "model" else {}
    for name, default in known.items():
        value = _plain(values.get(name))
        follows = str(default).startswith("${")  # another group's value
        own = name not in ("_name", *LEFT_OUT.get(group, ()))
        if own and not follows and (value != _plain(default) or name in preset):
            found[name] = value
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
