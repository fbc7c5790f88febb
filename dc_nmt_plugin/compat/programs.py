"""Changes of how fairseq's programs begin and end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import ARCH_MODEL_REGISTRY

from ..checkpoints.loading import architecture_of
from ..errors import ConfigError, UserError, did_you_mean
from ..flags import flag_name, flag_values, setting_name
from ..names import JOINT_LOSSES
from .change import Function, change, replace

LOWER = ("loss", "ppl")  # endings of metrics of which less is better
HIGHER = ("bleu", "accuracy")  # beginnings of those of which more is better


@change(
    "sys:excepthook",
    reason="a failure that the user can correct ends with a traceback instead of one sentence",
    since="Python 3",
    test="tests/system/test_failures.py",
)
def end_with_a_sentence() -> None:
    previous = sys.excepthook

    def hook(kind: Any, error: BaseException, traceback: Any) -> None:
        if isinstance(error, UserError):
            print(f"error: {error}", file=sys.stderr)
        else:
            previous(kind, error, traceback)

    sys.excepthook = hook


@replace(
    {"fairseq.options:parse_args_and_arch": "4417ffdbba30"},
    reason="a flag of a mechanism that the architecture lacks changes nothing, as --num-shards "
    "always, and nothing says so",
    test="tests/system/test_failures.py",
)
def refuse_idle_flags(stock: Function) -> Function:
    def parse_args_and_arch(parser: Any, input_args: Any = None, *more: Any, **kwargs: Any) -> Any:
        parsed = stock(parser, input_args, *more, **kwargs)
        args = parsed[0] if isinstance(parsed, tuple) else parsed  # with the unknown flags
        if (getattr(args, "num_shards", 1) or 1) > 1:
            raise ConfigError("--num-shards: fairseq ignores it; divide the text into files.")
        model = ARCH_MODEL_REGISTRY.get(getattr(args, "arch", None))
        if hasattr(model, "idle_settings"):
            words = flag_values(sys.argv[1:] if input_args is None else input_args)
            chosen = set(map(setting_name, words))
            idle = model.idle_settings(vars(args))
            problems = [f"{flag_name(name)}: {idle[name]}" for name in idle if name in chosen]
            if problems:
                raise ConfigError(problems)
        return parsed

    return parse_args_and_arch


def contradictions(cfg: Any) -> list[str]:
    """Returns a sentence for each flag of a training that contradicts another or does nothing."""
    metric = cfg.checkpoint.best_checkpoint_metric
    highest = cfg.checkpoint.maximize_best_checkpoint_metric
    problems = []
    if highest and metric.endswith(LOWER):
        problems.append(
            f"--maximize-best-checkpoint-metric: {metric} is better when it is lower; the worst "
            "model would be kept as the best."
        )
    if not highest and metric.startswith(HIGHER):
        problems.append(
            f"--best-checkpoint-metric {metric}: is better when it is higher; give "
            "--maximize-best-checkpoint-metric too."
        )
    schedule, updates = cfg.lr_scheduler, cfg.optimization.max_update
    name = schedule and schedule._name
    if name == "cosine" and schedule.lr_period_updates <= 0 < updates == schedule.warmup_updates:
        problems.append(
            f"--warmup-updates: {updates} is --max-update; the last one divides by 0. Give less."
        )
    falls_to_zero = name == "polynomial_decay" and not schedule.end_learning_rate
    if falls_to_zero and 0 < schedule.total_num_update < updates:
        problems.append(
            f"--total-num-update: {schedule.total_num_update:g} is below --max-update {updates}; "
            "the rate would be 0 from then on."
        )
    eval_bleu = getattr(cfg.task, "eval_bleu", None)  # not of every task
    if metric.startswith("bleu") and eval_bleu is False:
        problems.append(f"--best-checkpoint-metric {metric}: needs --eval-bleu.")
    if eval_bleu:
        known = [each.name for each in fields(GenerationConfig)]
        problems += [
            f"--eval-bleu-args: {name!r} is no setting of a search.{did_you_mean(name, known)}"
            for name in json.loads(cfg.task.eval_bleu_args)
            if name not in known
        ]
    criterion, architecture = cfg.criterion._name, architecture_of(cfg.model)
    model = ARCH_MODEL_REGISTRY.get(architecture)
    if criterion in JOINT_LOSSES and model and model.__module__.startswith("fairseq."):
        problems.append(
            f"--criterion {criterion}: is for architectures of 'dc-nmt arch-flags'; {architecture} "
            "needs one of fairseq's own, such as label_smoothed_cross_entropy."
        )
    return problems + _of_model(cfg.model)


def _of_model(settings: Any) -> list[str]:
    """Returns what a file of Hydra sets that the model has not, and fairseq would ignore."""
    name = settings.get("_name") if isinstance(settings, Mapping) else None
    config = getattr(ARCH_MODEL_REGISTRY.get(name), "config_class", None)
    if config is None:  # another model, or flags, which argparse has checked
        return []
    known = ["_name", *(each.name for each in fields(config))]
    return [
        f"model.{each}: {name} has no such setting.{did_you_mean(each, known)}"
        for each in settings
        if each not in known
    ]
