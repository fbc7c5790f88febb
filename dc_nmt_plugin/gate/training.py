"""Contradictions in a command line of ``fairseq-train``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields

from ..errors import choice_problem
from ..flags import flag_name as flag
from .command import Command
from .ranges import METRICS, POST_PROCESS
from .values import range_problems

_USUAL = {"optimizer": "adam", "lr_scheduler": "inverse_sqrt"}


def _is_ours(kind: type) -> bool:
    """Returns True for classes of this plugin, and for their subclasses."""
    return any(base.__module__.startswith("dc_nmt_plugin.") for base in kind.__mro__)


def family_problems(command: Command) -> Iterator[str]:
    """Yields a sentence for each contradiction of architecture, task and criterion."""
    from fairseq.criterions import CRITERION_REGISTRY
    from fairseq.models import ARCH_MODEL_REGISTRY, FairseqLanguageModel
    from fairseq.tasks import TASK_REGISTRY
    from fairseq.tasks.language_modeling import LanguageModelingTask
    from fairseq.tasks.translation import TranslationTask

    arch, task = command.set("arch"), command.set("task")
    if not command.training or arch not in ARCH_MODEL_REGISTRY or task not in TASK_REGISTRY:
        return
    joint = CRITERION_REGISTRY.get(command.set("criterion") or "")
    if joint and _is_ours(joint) and not _is_ours(ARCH_MODEL_REGISTRY[arch]):
        yield (
            f"--criterion {command.set('criterion')}: is for architectures of this plugin, and "
            f"{arch} is not one; give --criterion label_smoothed_cross_entropy."
        )
    is_language_model = issubclass(ARCH_MODEL_REGISTRY[arch], FairseqLanguageModel)
    if is_language_model and issubclass(TASK_REGISTRY[task], TranslationTask):
        yield f"--task {task}: {arch} is a language model; it needs --task language_modeling."
    if not is_language_model and issubclass(TASK_REGISTRY[task], LanguageModelingTask):
        yield f"--task {task}: {arch} translates, it is no language model; see dc-nmt arch-flags."


def idle_problems(command: Command) -> Iterator[str]:
    """Yields a sentence for each flag of something that the model lacks."""
    from fairseq.models import ARCH_MODEL_REGISTRY

    model = ARCH_MODEL_REGISTRY.get(command.set("arch"))
    if not command.training or not hasattr(model, "idle_settings"):
        return
    for name, reason in model.idle_settings(command.flags).items():
        if name in command.given:
            yield f"{flag(name)}: {reason}"


def missing_problems(command: Command) -> Iterator[str]:
    for name in ("optimizer", "lr_scheduler"):
        if command.training and name in command.flags and command.set(name) is None:
            yield f"{flag(name)}: none is chosen; give one, such as {_USUAL[name]}."


def text_problems(command: Command) -> Iterator[str]:
    for name in ("post_process", "eval_bleu_remove_bpe"):
        value = command.set(name)
        if value and (problem := choice_problem(
            "--remove-bpe" if name == "post_process" else flag(name), value, POST_PROCESS
        )):  # fmt: skip
            yield problem
    if not command.training:
        return
    metric = command.set("best_checkpoint_metric") or ""
    if metric.startswith("bleu") and not command.set("eval_bleu"):
        yield f"--best-checkpoint-metric: {metric} is measured with --eval-bleu only."
    # what else is measured depends on the criterion; a slip of the pen is seen at once
    else:
        of_one_decoder = re.fullmatch(r"(?:main|aux\d+)_(.*)", metric)
        name = of_one_decoder[1] if of_one_decoder else metric
        problem = choice_problem("--best-checkpoint-metric", name, METRICS) or ""
        yield from [problem] if "Did you mean" in problem else []
    if not command.set("eval_bleu"):
        return
    from fairseq.data.encoders import TOKENIZER_REGISTRY
    from fairseq.dataclass.configs import GenerationConfig

    detok = command.set("eval_bleu_detok")
    if problem := choice_problem("--eval-bleu-detok", detok, TOKENIZER_REGISTRY):
        yield problem
    known = [field.name for field in fields(GenerationConfig)]
    for name in ("eval_bleu_args", "eval_bleu_detok_args"):
        value = command.set(name) or "{}"
        try:
            settings = json.loads(value)
        except ValueError:
            settings = None
        if not isinstance(settings, dict):
            yield f"{flag(name)}: {value!r} is not a JSON object such as '{{\"beam\": 4}}'."
        elif name == "eval_bleu_args":
            problems = (choice_problem(flag(name), key, known) for key in settings)
            yield from (problem for problem in problems if problem)
            plain = Command(settings, {}, settings.keys())
            yield from (f"{flag(name)}: {problem}" for problem in range_problems(plain))
