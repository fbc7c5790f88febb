"""Refuses flags of fairseq-train that contradict each other, or that change nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fairseq.dataclass.configs import GenerationConfig
from fairseq.logging import progress_bar
from fairseq.models import ARCH_MODEL_REGISTRY

from ..errors import did_you_mean

LOWER = ("loss", "ppl")  # endings of metrics of which less is better
HIGHER = ("bleu", "accuracy")  # beginnings of those of which more is better


def contradictions(cfg: Any) -> list[str]:
    """Returns a sentence for each problem that fairseq does not see.

    Args:
        cfg: fairseq's whole configuration of a training
    """
    saving, metric = cfg.checkpoint, cfg.checkpoint.best_checkpoint_metric
    problems = []
    if saving.maximize_best_checkpoint_metric and metric.endswith(LOWER):
        problems.append(
            f"--maximize-best-checkpoint-metric: {metric} is better when it is lower; the worst "
            "model would be kept as the best."
        )
    if not saving.maximize_best_checkpoint_metric and metric.startswith(HIGHER):
        problems.append(
            f"--best-checkpoint-metric {metric}: is better when it is higher; give "
            "--maximize-best-checkpoint-metric too."
        )
    if cfg.dataset.disable_validation and (saving.patience > 0 or saving.keep_best_checkpoints > 0):
        problems.append(
            "--disable-validation: leaves nothing for --patience and --keep-best-checkpoints."
        )
    problems += _of_schedule(cfg.lr_scheduler, cfg.optimization.max_update)
    # fairseq warns when the training has begun, and goes on without
    if cfg.common.wandb_project and progress_bar.wandb is None:
        problems.append("--wandb-project: needs a package: pip install wandb.")
    if cfg.common.tensorboard_logdir and progress_bar.SummaryWriter is None:
        problems.append("--tensorboard-logdir: needs a package: pip install tensorboard.")
    if metric.startswith("bleu") and not cfg.task.eval_bleu:
        problems.append(f"--best-checkpoint-metric {metric}: needs --eval-bleu.")
    if cfg.task.eval_bleu:
        known = [each.name for each in fields(GenerationConfig)]
        problems += [
            f"--eval-bleu-args: {name!r} is no setting of a search.{did_you_mean(name, known)}"
            for name in json.loads(cfg.task.eval_bleu_args)
            if name not in known
        ]
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


def _of_schedule(schedule: Any, updates: int) -> list[str]:
    """Returns what is wrong with a schedule of the learning rate over so many updates."""
    name = getattr(schedule, "_name", None)
    warmup = getattr(schedule, "warmup_updates", 0)
    if name == "inverse_sqrt" and warmup < 1:
        return [f"--warmup-updates: {warmup} is not allowed with {name}; give at least 1."]
    end = updates
    if name == "polynomial_decay":
        end = schedule.total_num_update
        if 0 < end < updates and not schedule.end_learning_rate:
            return [
                f"--total-num-update: {end:g} is below --max-update {updates}; the rate would be 0 "
                "from then on."
            ]
    elif name != "cosine" or schedule.lr_period_updates > 0:
        return []
    if 0 < end <= warmup:
        return [f"--warmup-updates: {warmup} leaves nothing of {end:g} updates after the warm-up."]
    return []
