"""What contradicts what in a command line of ``fairseq-train``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields

from ..errors import choice_problem
from .command import Command, flag
from .ranges import METRICS, POST_PROCESS
from .values import range_problems


def family_problems(command: Command) -> Iterator[str]:
    """A language model's architecture belongs to its task, and a translation model's to its."""
    from fairseq.models import ARCH_MODEL_REGISTRY, FairseqLanguageModel
    from fairseq.tasks import TASK_REGISTRY
    from fairseq.tasks.language_modeling import LanguageModelingTask
    from fairseq.tasks.translation import TranslationTask

    arch, task = command.set("arch"), command.set("task")
    if not command.training or arch not in ARCH_MODEL_REGISTRY or task not in TASK_REGISTRY:
        return
    is_language_model = issubclass(ARCH_MODEL_REGISTRY[arch], FairseqLanguageModel)
    if is_language_model and issubclass(TASK_REGISTRY[task], TranslationTask):
        yield f"--task {task}: {arch} is a language model; it needs --task language_modeling."
    if not is_language_model and issubclass(TASK_REGISTRY[task], LanguageModelingTask):
        yield f"--task {task}: {arch} translates, it is no language model; see dc-nmt arch-flags."


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
        problem = choice_problem("--best-checkpoint-metric", metric, METRICS) or ""
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
