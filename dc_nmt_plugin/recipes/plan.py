"""Plans a training run, or its evaluation, from a task, an architecture and options."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from .. import machine
from ..errors import UsageError
from ..flags import flag_value, replaced
from ..steps import ShellWord
from .recipe import Recipe, load
from .settings import RunSettings, for_sample, settings_of, with_updates
from .training import (
    Batch,
    PlannedRun,
    TrainingStep,
    longest_sentence,
    share_out,
    training_step,
)

PRECISIONS = {"--amp", "--bf16", "--fp16", "--memory-efficient-bf16", "--memory-efficient-fp16"}


@dataclass(frozen=True)
class RunOptions:
    """Options of training and evaluation."""

    task: str  # names
    arch: str
    size: str | None = None  # of the architecture; default the paper's
    seed: int = 1  # of the training run
    name: str | None = None  # folder of the run; default of its architecture, size and seed
    out: Path | None = None  # as the text was prepared
    sample: int | None = None
    average: int | None = None  # number of averaged checkpoints; default the recipe's
    decoding: str = ""  # name of this decoding, if the run is decoded in several ways
    # entry of papers.yaml whose settings are used; default the recipe's choice
    like: str | None = None
    subset: str = "test"  # translated set: test, valid or a further test set


@dataclass(frozen=True)
class TrainOptions:
    """Options of training only."""

    flags: tuple[str, ...] = ()  # of fairseq-train, after the recipe's own
    max_update: int | None = None  # another number of updates
    max_tokens: int | None = None  # of one GPU at a time
    # batches whose gradients are summed; default: keeps the tokens per update
    update_freq: int | None = None
    gpus: int | None = None  # of this machine; 0: the CPU; None: all
    fp32: bool = False  # no bfloat16 on a CPU that multiplies it fast


@dataclass(frozen=True)
class TrainPlan:
    """A planned training run."""

    recipe: Recipe  # of the run
    settings: RunSettings
    training: TrainingStep
    notes: tuple[str, ...]  # sentences for the user
    variables: dict[str, str]  # of a script, which knows the number of GPUs when it runs


def plan_training(options: RunOptions, train: TrainOptions) -> TrainPlan:
    """Plans ``dc-nmt train``.

    Raises:
        UserError: an unknown task or architecture, options that contradict each other
    """
    recipe = load(options.task)
    settings = _settings(recipe, options)
    run = _planned_run(recipe, options, settings)
    # fairseq takes the last value of a flag: these win over the recipe's
    last_flags = (*settings.size_flags, *train.flags)
    precisions = PRECISIONS.intersection(last_flags)
    if train.fp32 and precisions:
        raise UsageError(f"--fp32: contradicts {min(precisions)}; leave one of them out")
    notes = []
    if train.max_update is not None:  # a short run may need a shorter warm-up
        warmup = flag_value(last_flags, "--warmup-updates")
        published = flag_value(settings.flags, "--warmup-updates")
        settings = with_updates(settings, train.max_update, warmup)
        shorter = flag_value(settings.flags, "--warmup-updates")
        if warmup is None and shorter != published:
            notes.append(
                f"--warmup-updates {shorter}, not the recipe's {published}: --max-update is short"
            )

    # flags that are the same on every machine: together with the text they identify the run
    flags = [*settings.flags]
    if "--max-tokens" not in flags:  # otherwise it stays in its place, as in earlier runs
        flags += ["--max-tokens", str(settings.tokens)]
    flags += ["--seed", ShellWord(options.seed, '"$SEED"'), *last_flags]
    identity = [*flags]

    # the batch on this machine; a script computes its own in `variables` when it runs
    gpus = visible_gpus() if train.gpus is None else train.gpus
    processes = max(1, gpus)
    limit = train.max_tokens or settings.max_tokens  # tokens of one process at a time
    variables = {}
    if train.update_freq:
        batch = Batch(processes, limit, train.update_freq, settings.tokens)
        if batch.tokens != settings.tokens:
            identity += [f"--tokens={batch.tokens}"]  # it is not the recipe's run
        max_tokens = str(batch.max_tokens)
        update_freq = ["--update-freq", str(batch.update_freq)]
    else:
        batch = share_out(settings.tokens, processes, limit)
        at_once = f"PROCESSES * {limit}"
        variables["UPDATE_FREQ"] = f"$((({settings.tokens} + {at_once} - 1) / ({at_once})))"
        variables["MAX_TOKENS"] = f"$(({settings.tokens} / (PROCESSES * UPDATE_FREQ)))"
        max_tokens = ShellWord(batch.max_tokens, '"$MAX_TOKENS" --update-freq "$UPDATE_FREQ"')
        update_freq = [ShellWord("--update-freq", ""), ShellWord(batch.update_freq, "")]
    flags = [*replaced(flags, "--max-tokens", max_tokens)]
    if batch.update_freq > 1:
        flags += update_freq

    # the device; a script has --cpu and --amp in $CPU
    if not gpus:
        flags += [ShellWord("--cpu", "")]
        if not (train.fp32 or precisions) and machine.multiplies_bfloat16():
            flags += [ShellWord("--amp", "")]
            notes.append("linear layers multiply in bfloat16 on this CPU; --fp32: in float32")
    # fairseq uses all GPUs, and with --cpu starts a process for each
    flags += ["--distributed-world-size", ShellWord(processes, '"$PROCESSES" $CPU')]

    batch.check(longest_sentence(run.pieces, "train"))
    training = training_step(run, settings.updates, settings.save_every, identity, flags, batch)
    return TrainPlan(recipe, settings, training, tuple(notes), variables)


def plan_run(options: RunOptions) -> PlannedRun:
    """Returns the run that its training and its evaluation share.

    Raises:
        UserError: an unknown task or architecture
    """
    recipe = load(options.task)
    return _planned_run(recipe, options, _settings(recipe, options))


def _settings(recipe: Recipe, options: RunOptions) -> RunSettings:
    settings = settings_of(recipe, options.arch, options.size, options.like)
    if options.sample:
        settings = for_sample(settings)
    if options.average is not None:
        settings = replace(settings, average=options.average)
    return settings


def _planned_run(recipe: Recipe, options: RunOptions, settings: RunSettings) -> PlannedRun:
    if not re.fullmatch(r"[\w.]*", options.decoding) or options.decoding in recipe.splits:
        raise UsageError(
            f"--as: {options.decoding!r} becomes a part of folders' names: use letters, digits, "
            f"_ and ., and none of {', '.join(recipe.splits)}"
        )
    name = options.name or _default_name(recipe, options, settings)
    mean = "average"
    # another number of checkpoints leaves the mean of the run's own decoding as it is
    if options.average is not None and (options.decoding or options.subset != "test"):
        mean = f"average-{options.average}"
    data = recipe.data_folder(options.out, options.sample)
    suffix = recipe.task.bpe[settings.bpe].suffix
    return PlannedRun(
        arch=settings.arch,
        task=settings.task,
        criterion=settings.criterion,
        source=recipe.source,
        target=recipe.target,
        raw=data / "raw",
        pieces=data / f"bpe{suffix}",
        binarised=data / f"bin{suffix}",
        folder=recipe.output_folder(recipe.name, options.out, options.sample) / name,
        average=settings.average,
        decode=settings.decode,
        score=_score_flags(recipe, settings, data, options.subset),
        decoding=options.decoding,
        split=options.subset,
        subset=recipe.subset(options.subset),
        mean=mean,
    )


def _default_name(recipe: Recipe, options: RunOptions, settings: RunSettings) -> str:
    """Returns the name of the run's folder: ARCH-SIZE-LIKE-sSEED, without empty parts."""
    like = options.like or ""
    if like == settings_of(recipe, options.arch, options.size).name:
        like = ""  # the settings in use anyway
    like = re.sub(r"[^\w.-]+", "_", like)
    parts = [settings.arch, settings.size, like, f"s{options.seed}"]
    return "-".join(part for part in parts if part)


def _score_flags(recipe: Recipe, settings: RunSettings, data: Path, split: str) -> tuple[str, ...]:
    text = recipe.task.text
    flags = ["--tokenizer", text.scored_as]
    flags += ["--tokenized-reference", str(data / f"raw/tokenised/{split}.{recipe.target}")]
    if text.casing == "truecase":
        flags += ["--truecased"]
    if settings.metrics:
        flags += ["--metrics", settings.metrics]
    flags += ["--main" if recipe.own else "--paper", settings.paper]
    return tuple(flags)


def visible_gpus() -> int:
    """Returns the number of GPUs of this machine that torch may use."""
    import torch

    return torch.cuda.device_count()
