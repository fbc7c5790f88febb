"""Changes of how fairseq's programs begin and end."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from fairseq.data.encoders import TOKENIZER_REGISTRY
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

from ..checkpoints.loading import architecture_of
from ..errors import ConfigError, UserError, did_you_mean, notify
from ..flags import JOINT_LOSSES, LEAST_OF_SEARCH, MECHANISM_FOLDERS, flag_name, value_of
from .change import Function, before, change, replace

PARSING = {"fairseq.options:parse_args_and_arch": "4417ffdbba30"}


def after_parsing(**details: Any) -> Function:
    """Declares that the decorated function is called with the flags that a program has parsed."""

    def declare(check: Function) -> Function:
        def make(stock: Function) -> Function:
            def parse_args_and_arch(*words: Any, **kwargs: Any) -> Any:
                parsed = stock(*words, **kwargs)
                check(parsed[0] if isinstance(parsed, tuple) else parsed)  # with the unknown flags
                return parsed

            return parse_args_and_arch

        make.__name__ = check.__name__
        return replace(PARSING, **details)(make)

    return declare


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
            notify(*f"error: {error}".split("\n"))
        else:
            previous(kind, error, traceback)

    sys.excepthook = hook


@after_parsing(
    reason="--num-shards changes nothing, and nothing says so",
    test="tests/system/test_second_round.py",
    after="bfloat16_on_a_cpu",
)
def refuse_shards(args: Any) -> None:
    if (getattr(args, "num_shards", 1) or 1) > 1:
        raise ConfigError("--num-shards: fairseq ignores it; divide the text into files.")


@after_parsing(
    reason="a flag of a mechanism that the architecture lacks changes nothing, and nothing says so",
    test="tests/system/test_failures.py",
    after="refuse_shards",
)
def refuse_idle_flags(args: Any) -> None:
    problems = [f"{flag_name(name)}: {reason}" for name, reason in _idle(vars(args)).items()]
    if problems:
        raise ConfigError(problems)


def widths_of_the_encoder_alone(settings: Any) -> Iterator[str]:
    """Yields a sentence for each width that differs from the architecture's in the encoder alone.

    fairseq's ``transformer`` gives it to the decoder, too. Here it stays as it is: a run that was
    trained so goes on by the same command line.
    """
    name = architecture_of(settings)
    if not hasattr(ARCH_MODEL_REGISTRY.get(name), "idle_settings"):  # no Transformer of ours
        return
    preset = Namespace()
    ARCH_CONFIG_REGISTRY[name](preset)
    for width in ("embed_dim", "ffn_embed_dim"):
        encoder, decoder = f"encoder_{width}", f"decoder_{width}"
        chosen, kept = value_of(settings, encoder), value_of(settings, decoder)
        if chosen != value_of(preset, encoder) and kept == value_of(preset, decoder) != chosen:
            yield (
                f"{flag_name(encoder)} {chosen}: the decoder keeps {kept}, which --arch {name} "
                f"has; {flag_name(decoder)} changes it."
            )


def contradictions(cfg: Any) -> list[str]:
    """Returns a sentence for each flag of a training that contradicts another or does nothing."""
    return [
        *_of_best_checkpoint(cfg),
        *_of_schedule(cfg.lr_scheduler, cfg.optimization.max_update),
        *_of_criterion(cfg),
        *_of_model(cfg.model),
    ]


def _of_best_checkpoint(cfg: Any) -> Iterator[str]:
    metric = cfg.checkpoint.best_checkpoint_metric
    highest = cfg.checkpoint.maximize_best_checkpoint_metric
    if highest and metric.endswith(("loss", "ppl")):
        yield (
            f"--maximize-best-checkpoint-metric: {metric} is better when it is lower; the worst "
            "model would be kept as the best."
        )
    if not highest and ("bleu" in metric or "accuracy" in metric):
        yield (
            f"--best-checkpoint-metric {metric}: is better when it is higher; give "
            "--maximize-best-checkpoint-metric too."
        )
    if metric.startswith("bleu") and getattr(cfg.task, "eval_bleu", None) is False:
        yield f"--best-checkpoint-metric {metric}: needs --eval-bleu."


def _of_schedule(schedule: Any, updates: int) -> Iterator[str]:
    name = schedule and schedule._name
    if name == "cosine" and schedule.lr_period_updates <= 0 < updates == schedule.warmup_updates:
        yield f"--warmup-updates: {updates} is --max-update; the last one divides by 0. Give less."
    falls_to_zero = name == "polynomial_decay" and not schedule.end_learning_rate
    if falls_to_zero and 0 < schedule.total_num_update < updates:
        yield (
            f"--total-num-update: {schedule.total_num_update:g} is below --max-update {updates}; "
            "the rate would be 0 from then on."
        )


@before(
    {"fairseq.tasks.translation:TranslationTask.build_model": "40ff7b96894c"},
    reason="a wrong value in --eval-bleu-args or --eval-bleu-detok ends in a traceback, or after "
    "an epoch",
    test="tests/system/test_second_round.py",
)
def refuse_wrong_values_of_validation_bleu(
    task: Any, cfg: Any, from_checkpoint: bool = False
) -> None:
    problems = [] if from_checkpoint else list(_of_validation_bleu(task.cfg))
    if problems:
        raise ConfigError(problems)


def _of_validation_bleu(cfg: Any) -> Iterator[str]:
    if not cfg.eval_bleu:
        return
    yield from _of_validation_search(cfg.eval_bleu_args)
    if _json_dictionary(cfg.eval_bleu_detok_args) is None:
        yield f"--eval-bleu-detok-args: {cfg.eval_bleu_detok_args} is no JSON dictionary."
    detokenizer = cfg.eval_bleu_detok
    if detokenizer not in TOKENIZER_REGISTRY:
        yield (
            f"--eval-bleu-detok: {detokenizer!r} is no tokeniser; choose from "
            f"{', '.join(sorted(TOKENIZER_REGISTRY))}."
        )


def _of_validation_search(text: str) -> Iterator[str]:
    """Yields a sentence for each value of --eval-bleu-args with which a search would fail."""
    settings = _json_dictionary(text)
    if settings is None:
        yield f'--eval-bleu-args: {text} is no JSON dictionary, such as {{"beam": 4}}.'
        return
    # not those of the defaults: fairseq's default of lenpen, a float, is 1
    types = {field.name: field.type for field in fields(GenerationConfig)}
    for name, value in settings.items():
        if name not in types:
            hint = did_you_mean(name, list(types))
            yield f"--eval-bleu-args: {name!r} is no setting of a search.{hint}"
            continue
        problem = _problem_of_search(name, value, kind=types[name])
        if problem:
            yield f"--eval-bleu-args: {name} is {value!r}; give {problem}."


def _problem_of_search(name: str, value: Any, kind: Any) -> str | None:
    """Returns which values a setting of a search has, if `value` is none of them."""
    if kind is bool:
        return None if isinstance(value, bool) else "true or false"
    if kind not in (int, float):
        return None
    is_number = isinstance(value, int | kind) and not isinstance(value, bool)
    if not is_number:
        return f"a number ({kind.__name__})"
    least = LEAST_OF_SEARCH.get(name, value)
    return f"at least {least:g}" if value < least else None


def _json_dictionary(text: str) -> dict[str, Any] | None:
    """Returns the dictionary of a JSON text; None for another text."""
    try:
        values = json.loads(text)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _of_criterion(cfg: Any) -> Iterator[str]:
    criterion, architecture = cfg.criterion._name, architecture_of(cfg.model)
    model = ARCH_MODEL_REGISTRY.get(architecture)
    if criterion in JOINT_LOSSES and model and model.__module__.startswith("fairseq."):
        yield (
            f"--criterion {criterion}: is for architectures of 'dc-nmt arch-flags'; {architecture} "
            "needs one of fairseq's own, such as label_smoothed_cross_entropy."
        )


def _of_model(settings: Any) -> list[str]:
    """Returns a sentence for each of Hydra's settings that the model has not, or that is idle."""
    name = settings.get("_name") if isinstance(settings, Mapping) else None
    config = getattr(ARCH_MODEL_REGISTRY.get(name), "config_class", None)
    if config is None:  # another model, or flags, which are checked when they are parsed
        return []
    known = ["_name", MECHANISM_FOLDERS, *config.settings()]
    unknown = [
        f"model.{setting}: {name} has no such setting.{did_you_mean(setting, known)}"
        for setting in settings
        if setting not in known
    ]
    return unknown + [f"model.{setting}: {reason}" for setting, reason in _idle(settings).items()]


def _idle(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns the settings of a model that are not its architecture's and do nothing → why."""
    name = architecture_of(settings)
    model = ARCH_MODEL_REGISTRY.get(name)
    if not hasattr(model, "idle_settings"):
        return {}
    preset = Namespace()
    ARCH_CONFIG_REGISTRY[name](preset)
    reasons = model.idle_settings(settings).items()
    return {each: why for each, why in reasons if settings.get(each) != getattr(preset, each, None)}
