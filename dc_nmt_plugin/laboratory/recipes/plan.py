"""Plans a training run from a task, an architecture and options."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ...errors import UsageError, UserError
from ...flags import flag_value, recorded_flags
from ...steps import Stage, Variable, filled_words, literal
from .recipe import Recipe, load
from .script import quoted
from .settings import TaskSettings, for_sample, settings_of, with_updates
from .training import (
    PLUGIN,
    PlannedRun,
    PreparedText,
    UpdateTokens,
    longest_sentence,
    share_out,
    training_line,
    training_step,
)

PRECISIONS = {"--amp", "--bf16", "--fp16", "--memory-efficient-bf16", "--memory-efficient-fp16"}
# torch, not nvidia-smi: it heeds CUDA_VISIBLE_DEVICES, which Slurm sets
COUNT_GPUS = '$(python -c "import torch; print(torch.cuda.device_count())")'
CPU_FLAGS = (
    "python -c \"from dc_nmt_plugin import machine; print('--cpu', "
    "'--amp' if machine.multiplies_bfloat16() else '')\""
)


@dataclass(frozen=True)
class Experiment:
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

    recipe: Recipe
    run: PlannedRun
    settings: TaskSettings
    variables: tuple[Variable, ...]  # of a script's head
    stage: Stage
    tokens: UpdateTokens  # of one update on this machine

    @property
    def command(self) -> list[str]:
        """Returns the words of fairseq-train on this machine."""
        known = {each.name: each for each in (*self.variables, *self.stage.variables)}
        return filled_words(self.stage.steps[0].lines[0].words, known)

    def is_done(self) -> bool:
        """Returns True if this training is finished.

        Raises:
            UserError: its folder has another training
        """
        return self.stage.steps[0].is_done()

    def check_flags(self, dry_run: bool) -> None:
        """Raises UserError for flags that fairseq-train, or this machine, does not take."""
        from ... import registration  # noqa: F401
        from ...compat.mixed_precision import bfloat16_flag
        from ..fairseq_flags import TRAIN, parse_flags

        args = parse_flags(TRAIN, self.command[1:])
        if not dry_run:  # a script may train on another machine
            bfloat16_flag(args)


def plan_training(
    options: Experiment, train: TrainOptions, *, for_script: bool = False
) -> TrainPlan:
    """Plans ``dc-nmt train``.

    Args:
        options: which run
        train: how it is trained
        for_script: the plan is only printed; a script asks its own machine

    Raises:
        UserError: an unknown task or architecture, options that contradict each other
    """
    recipe = load(options.task)
    settings = chosen_settings(recipe, options)
    run = planned_run(recipe, options, settings)
    _check_flags_of(recipe, settings)
    notes = [f"{recipe.name}: {recipe.task.title}\n{settings.source}"]
    if train.max_update is not None:
        settings, warnings = _with_max_update(settings, train)
        notes += warnings
    gpus = train.gpus or 0
    if train.gpus is None and not for_script:
        gpus = visible_gpus()
    tokens = _tokens(settings, train, max(1, gpus))
    tokens.check(longest_sentence(run.text.pieces, "train"))
    at_choice = _precision_is_open(settings, train)
    amp = at_choice and not gpus and not for_script and _multiplies_bfloat16(run)
    notes_here = [str(tokens)]
    if amp:
        notes_here.append("linear layers multiply in bfloat16 on this CPU; --fp32: in float32")

    flags = _flags(run, settings, train, tokens)
    line = training_line(run, settings, flags)
    head = (
        *run_variables(run, options.seed),
        gpus_variable(str(gpus), train.gpus),
        Variable("PROCESSES", str(max(1, gpus)), "$((GPUS > 0 ? GPUS : 1))"),
        _cpu_variable(gpus, amp, at_choice),
    )
    variables = [run.variable(options.seed)]
    if not train.update_freq:
        variables += _batch_variables(tokens, train.max_tokens or settings.max_tokens)
    known = {variable.name: variable for variable in (*head, *variables)}
    recorded = recorded_flags(filled_words(line.words, known))
    step = training_step(
        run, line, settings.updates, recorded, tokens.tokens, any_precision=at_choice
    )
    done = f"done; the checkpoints are in {run.checkpoints}"
    stage = Stage("$RUN", [step], variables, notes, notes_here, end_note=done)
    return TrainPlan(recipe, run, settings, head, stage, tokens)


@cache  # dc-nmt run plans twice
def _check_flags_of(recipe: Recipe, settings: TaskSettings) -> None:
    """Raises UserError for flags of a user's recipe that fairseq's programs do not take."""
    if not recipe.own:  # the tests do this for the others
        return
    from ... import registration  # noqa: F401
    from ..fairseq_flags import TRAIN, parse_flags
    from ..inference.search import parse_search

    words = ["data", "--arch", settings.arch, "--task", settings.fairseq_task]
    words += ["--criterion", settings.criterion, *settings.flags, *settings.size_flags]
    try:
        key = "flags"
        parse_flags(TRAIN, words)
        key = "decode"
        parse_search(["data", "--task", settings.fairseq_task, *settings.decode])
    except UserError as error:
        raise recipe.problem(f"settings, {key} of {settings.arch}", str(error)) from error


def _tokens(settings: TaskSettings, train: TrainOptions, processes: int) -> UpdateTokens:
    """Returns the batch: the recipe's tokens an update, unless the user gives --update-freq."""
    limit = train.max_tokens or settings.max_tokens  # tokens of one process at a time
    if train.update_freq:
        return UpdateTokens(processes, limit, train.update_freq, settings.tokens)
    return share_out(settings.tokens, processes, limit)


def _with_max_update(settings: TaskSettings, train: TrainOptions) -> tuple[TaskSettings, list[str]]:
    """Returns the settings of ``--max-update``; a short run may need a shorter warm-up."""
    assert train.max_update is not None
    flag = "--warmup-updates"
    warmup = flag_value((*settings.size_flags, *train.flags), flag)
    published = flag_value(settings.flags, flag)
    settings = with_updates(settings, train.max_update, warmup)
    shorter = flag_value(settings.flags, flag)
    if warmup is not None or shorter == published:
        return settings, []
    return settings, [f"{flag} {shorter}, not the recipe's {published}: --max-update is short"]


def _precision_is_open(settings: TaskSettings, train: TrainOptions) -> bool:
    """Returns True if a CPU may train in the precision in which it is faster."""
    precisions = PRECISIONS.intersection((*settings.flags, *settings.size_flags, *train.flags))
    if train.fp32 and precisions:
        raise UsageError(f"--fp32: contradicts {min(precisions)}; leave one of them out")
    return not (train.fp32 or precisions)


def _multiplies_bfloat16(run: PlannedRun) -> bool:
    """Returns True if this CPU is faster in bfloat16; a run goes on in float32 if it began so."""
    from ...machine import multiplies_bfloat16
    from ...runs.record import record_of

    before = record_of(run.folder)
    began_in_float32 = before and before.settings.get("cpu") and not before.settings.get("amp")
    return multiplies_bfloat16() and not began_in_float32


def _flags(
    run: PlannedRun, settings: TaskSettings, train: TrainOptions, tokens: UpdateTokens
) -> list[str]:
    """Returns the flags of fairseq-train that the recipe, the user and the machine decide."""
    flags = [literal(word) for word in settings.flags]
    if train.update_freq:
        flags += ["--max-tokens", str(tokens.max_tokens)]
    else:
        flags += ["--max-tokens", "$MAX_TOKENS", "--update-freq", "$UPDATE_FREQ"]
    # fairseq takes the last value of a flag: these win over the recipe's
    flags += ["--seed", "$SEED", *map(literal, (*settings.size_flags, *train.flags))]
    if train.update_freq and train.update_freq > 1:
        flags += ["--update-freq", str(train.update_freq)]
    # fairseq uses all GPUs, and with --cpu starts a process for each
    flags += ["--distributed-world-size", "$PROCESSES", "$CPU"]
    # before the text is prepared nobody knows the longest sentence
    longest = longest_sentence(run.text.pieces, "valid")
    if longest > tokens.max_tokens:
        flags += ["--max-tokens-valid", str(longest)]
    return flags


# -- variables of a plan -----------------------------------------------------------------------


def data_variable(data: Path) -> Variable:
    return Variable("DATA", str(data), f"${{DATA:-{quoted(str(data))}}}", "the prepared text")


def run_variables(run: PlannedRun, seed: int) -> list[Variable]:
    """Returns the variables of every plan for a run: text, runs, seed, plugin."""
    out = run.folder.parent
    return [
        data_variable(run.text.data),
        Variable("OUT", str(out), f"${{OUT:-{quoted(str(out))}}}", "the runs"),
        Variable("SEED", str(seed), f"${{SEED:-{seed}}}"),
        PLUGIN,
    ]


def gpus_variable(here: str, asked: int | None) -> Variable:
    """Returns the number of GPUs; a script counts its own unless the user asked for a number."""
    number = COUNT_GPUS if asked is None else asked
    return Variable("GPUS", here, f"${{GPUS:-{number}}}", "0: the CPU")


def _cpu_variable(gpus: int, amp: bool, at_choice: bool) -> Variable:
    """Returns the flags of a training on a CPU; a script asks its own CPU where it may choose."""
    flags = "--cpu --amp" if amp else "--cpu"
    in_script = CPU_FLAGS if at_choice else "echo --cpu"
    shell = f'$([ "$GPUS" -gt 0 ] || {in_script})'
    return Variable("CPU", "" if gpus else flags, shell, several=True)


def _batch_variables(tokens: UpdateTokens, limit: int) -> list[Variable]:
    """Returns the batch, which a script computes for its own number of processes."""
    at_once = f"PROCESSES * {limit}"
    update_freq = f"$((({tokens.of_recipe} + {at_once} - 1) / ({at_once})))"
    max_tokens = f"$(({tokens.of_recipe} / (PROCESSES * UPDATE_FREQ)))"
    return [
        Variable("UPDATE_FREQ", str(tokens.update_freq), update_freq),
        Variable("MAX_TOKENS", str(tokens.max_tokens), max_tokens),
    ]


# -- a run, which its training and its evaluation share ----------------------------------------


def chosen_settings(recipe: Recipe, options: Experiment) -> TaskSettings:
    """Returns the settings that the recipe and the options choose."""
    settings = settings_of(recipe, options.arch, options.size, options.like)
    if options.sample:
        settings = for_sample(settings)
    if options.average is not None:
        settings = replace(settings, average=options.average)
    return settings


def planned_run(recipe: Recipe, options: Experiment, settings: TaskSettings) -> PlannedRun:
    """Returns a run with its folder and its text."""
    name = options.name or _default_name(recipe, options, settings)
    text = PreparedText(
        recipe.source,
        recipe.target,
        recipe.data_folder(options.out, options.sample),
        recipe.task.bpe[settings.bpe].suffix,
    )
    return PlannedRun(
        settings.arch,
        settings.fairseq_task,
        settings.criterion,
        text,
        recipe.output_folder(recipe.name, options.out, options.sample) / name,
    )


def _default_name(recipe: Recipe, options: Experiment, settings: TaskSettings) -> str:
    """Returns the name of the run's folder: ARCH-SIZE-LIKE-sSEED, without empty parts."""
    like = options.like or ""
    if like == settings_of(recipe, options.arch, options.size).like:
        like = ""  # the settings in use anyway
    like = re.sub(r"[^\w.-]+", "_", like)
    parts = [settings.arch, settings.size, like, f"s{options.seed}"]
    return "-".join(part for part in parts if part)


def visible_gpus() -> int:
    """Returns the number of GPUs of this machine that torch may use."""
    import torch

    return torch.cuda.device_count()
