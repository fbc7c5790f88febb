"""Checks a configuration of ``fairseq-hydra-train`` like a command line."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from ..errors import ConfigError, architecture_problem, choice_problem
from ..flags import setting_name
from .command import Command
from .command_checks import check_command, subsets
from .data import check_data

# of programs that decode
_OTHERS = ("generation", "eval_lm", "interactive", "common_eval")
# group whose ``_name`` chooses a class → the flag for the same choice
_CHOICES = {"model": "arch", "task": "task", "criterion": "criterion"}


def check_groups(cfg: Any) -> None:
    """Checks settings and data before fairseq starts.

    Args:
        cfg: fairseq's configuration, group by group

    Raises:
        ConfigError: one sentence a problem, each naming setting, value and what is valid
        UserError: the data are not complete
    """
    _check_names(cfg)
    groups = {name: name for name in ("optimizer", "lr_scheduler")}  # setting → its group
    flags: dict[str, Any] = dict.fromkeys(groups)
    for group, name, value in _settings(cfg):
        if name == "_name":
            name = _CHOICES.get(group, group)
            groups[name] = group
        else:
            groups.setdefault(name, f"{group}.{name}")  # others follow the first
        flags[name] = value
    model = _model_settings(cfg)
    for name, value in model.items():
        groups.setdefault(name, f"model.{name}")
        flags[name] = value if flags.get(name) is None else flags[name]
    defaults = {**_defaults(cfg), **model}
    for name, default in defaults.items():
        followed = re.fullmatch(r"\$\{[\w.]*?(\w+)\}", str(default))
        if followed and name in flags and flags[name] == flags.get(followed[1]):
            defaults[name] = flags[name]  # the setting that it follows is the one to name
    given = {name for name, value in flags.items() if value != defaults.get(name)}
    if not model:  # its defaults are its own
        given -= {name for name, place in groups.items() if place.startswith("model.")}
    command = Command(flags, defaults, given)
    try:
        if "data" in flags and not flags["data"]:  # some tasks of fairseq's have none
            raise ConfigError(["--data: is missing; give the folder of fairseq-preprocess."])
        check_command(command)
    except ConfigError as error:
        raise ConfigError(_in_groups(problem, groups) for problem in error.problems) from None
    check_data(flags, {name: groups[flag] for name, flag in _subsets(command)})


def _check_names(cfg: Any) -> None:
    """Refuses an unknown model, task or criterion, for which fairseq raises a KeyError."""
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
    from fairseq.tasks import TASK_REGISTRY

    architectures = ARCH_MODEL_REGISTRY.keys() | MODEL_REGISTRY.keys()
    name = (cfg.get("model") or {}).get("_name")
    problems = [name and architecture_problem(name, architectures, "model._name")]
    for group, known in (("task", TASK_REGISTRY), ("criterion", CRITERION_REGISTRY)):
        name = (cfg.get(group) or {}).get("_name")
        problems += [name and choice_problem(f"{group}._name", name, sorted(known))]
    if any(problems):
        raise ConfigError(filter(None, problems))


def _subsets(command: Command) -> Iterator[tuple[str, str]]:
    for name, flag in subsets(command).items():
        yield name, setting_name(flag)


def _settings(cfg: Any) -> Iterator[tuple[str, str, Any]]:
    for group in cfg:
        values = cfg[group]
        if group not in _OTHERS and hasattr(values, "items"):
            for name, value in values.items():
                if not hasattr(value, "items"):
                    yield str(group), str(name), value


def _defaults(cfg: Any) -> dict[str, Any]:
    """Returns setting → default, without the settings of the model."""
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


def _model_settings(cfg: Any) -> dict[str, Any]:
    """Returns setting → default of a Transformer of this plugin; empty for other models.

    A setting that a configuration leaves out has this value too.
    """
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

    name = (cfg.get("model") or {}).get("_name")
    if not hasattr(ARCH_MODEL_REGISTRY.get(name), "idle_settings"):
        return {}
    settings = Namespace()
    ARCH_CONFIG_REGISTRY[name](settings)
    return vars(settings)


def _in_groups(problem: str, groups: dict[str, str]) -> str:
    """Replaces flags in a sentence by settings: ``--max-tokens`` is ``dataset.max_tokens``."""

    def setting(found: re.Match[str]) -> str:
        return groups.get(setting_name(found[1]), found[0])

    return re.sub(r"--([a-z][a-z0-9-]+)", setting, problem)
