"""A configuration of ``fairseq-hydra-train``, checked as a command line is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from ..errors import ConfigError
from .command import Command
from .data import check_data
from .settings import check_command, subsets

# of programs that decode
_OTHERS = ("generation", "eval_lm", "interactive", "common_eval")
# group whose ``_name`` chooses a class → the flag that does
_CHOICES = {"model": "arch", "task": "task", "criterion": "criterion"}


def check_groups(cfg: Any) -> None:
    """Check settings and data before fairseq starts.

    Args:
        cfg: fairseq's configuration, group by group

    Raises:
        ConfigError: one sentence a problem, each naming setting, value and what is valid
        UserError: the data are not complete
    """
    groups = {name: name for name in ("optimizer", "lr_scheduler")}  # setting → its group
    flags: dict[str, Any] = dict.fromkeys(groups)
    for group, name, value in _settings(cfg):
        if name == "_name":
            name = _CHOICES.get(group, group)
            groups[name] = group
        else:
            groups[name] = f"{group}.{name}"
        flags[name] = value
    defaults = _defaults(cfg)
    # a model's settings are all there, and its defaults are its own
    of_model = {name for name, place in groups.items() if place.startswith("model.")}
    given = {name for name, value in flags.items() if value != defaults.get(name)} - of_model
    command = Command(flags, defaults, given)
    try:
        if not flags.get("data"):
            raise ConfigError(["--data: is missing; give the folder of fairseq-preprocess."])
        check_command(command)
    except ConfigError as error:
        raise ConfigError(_in_groups(problem, groups) for problem in error.problems) from None
    check_data(flags, {name: groups[flag] for name, flag in _subsets(command)})


def _subsets(command: Command) -> Iterator[tuple[str, str]]:
    for name, flag in subsets(command).items():
        yield name, flag[2:].replace("-", "_")


def _settings(cfg: Any) -> Iterator[tuple[str, str, Any]]:
    for group in cfg:
        values = cfg[group]
        if group not in _OTHERS and hasattr(values, "items"):
            for name, value in values.items():
                if not hasattr(value, "items"):
                    yield str(group), str(name), value


def _defaults(cfg: Any) -> dict[str, Any]:
    """Setting → its default; those of a model are left to the model."""
    from fairseq.dataclass.configs import FairseqConfig
    from fairseq.registry import REGISTRIES
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    chosen = {name: found["dataclass_registry"] for name, found in REGISTRIES.items()}
    chosen["task"] = TASK_DATACLASS_REGISTRY
    kinds: list[Any] = [
        field.default for field in fields(FairseqConfig) if field.name not in _OTHERS
    ]
    kinds += [
        registry.get(cfg[group].get("_name"))
        for group, registry in chosen.items()
        if hasattr(cfg.get(group), "items")
    ]
    found: dict[str, Any] = {}
    for kind in kinds:
        if hasattr(kind, "__dataclass_fields__"):  # a class, or an instance of one
            found.update({field.name: field.default for field in fields(kind)})
    return found


def _in_groups(problem: str, groups: dict[str, str]) -> str:
    """A sentence about flags as one about settings: ``--max-tokens`` is ``dataset.max_tokens``."""

    def setting(found: re.Match[str]) -> str:
        return groups.get(found[1].replace("-", "_"), found[0])

    return re.sub(r"--([a-z][a-z-]+)", setting, problem)
