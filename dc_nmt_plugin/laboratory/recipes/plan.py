"""Plans a training run from a task, an architecture and options: ``dc-nmt train``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from ...errors import UsageError, UserError, counted
from ...flags import (
    MECHANISM_FOLDERS,
    PRECISION,
    flag_name,
    flag_value,
    flags_of,
    recorded_flags,
)
from ..steps import Command, Line, Stage, Step
from .planned import (
    PLUGIN,
    Experiment,
    PlannedRun,
    PreparedText,
    TrainOptions,
    UpdateTokens,
    flag_words,
    longest_sentence,
    option_words,
    share_out,
    words_of_run,
)
from .recipe import Recipe, load
from .settings import TaskSettings, for_sample, settings_of, with_updates


@dataclass(frozen=True)
class TrainPlan:
    """A planned training run."""

    experiment: Experiment
    options: TrainOptions
    run: PlannedRun
    settings: TaskSettings
    notes: tuple[str, ...]
    gpus: int  # 0: the CPU
    tokens: UpdateTokens  # of one update
    any_precision: bool  # the user chose none, so one of either precision is this training
    amp: bool  # this CPU is faster in bfloat16

    @property
    def words(self) -> list[str]:
        """Returns the words of fairseq-train. Before the text is prepared one may be missing."""
        run, settings, text = self.run, self.settings, self.run.text
        words = ["fairseq-train", str(text.binarised), "--user-dir", PLUGIN]
        words += ["--arch", run.arch, "--task", run.fairseq_task, "--criterion", run.criterion]
        words += ["--source-lang", text.source, "--target-lang", text.target]
        words += ["--max-update", str(settings.updates)]
        words += ["--save-interval-updates", str(settings.save_every)]
        words += ["--keep-interval-updates", str(max(settings.average, 1))]
        words += ["--no-epoch-checkpoints", "--log-format", "json"]
        words += ["--log-interval", "1" if settings.updates < 100 else "10"]
        return [*words, *self._flags(), "--save-dir", str(run.checkpoints)]

    def _flags(self) -> list[str]:
        """Returns the flags of fairseq-train that the recipe, the user and the machine decide."""
        settings, options, tokens = self.settings, self.options, self.tokens
        flags = [*settings.flags, "--max-tokens", str(tokens.max_tokens)]
        if not options.update_freq:
            flags += ["--update-freq", str(tokens.update_freq)]
        # fairseq takes the last value of a flag: these win over the recipe's
        flags += ["--seed", str(self.experiment.seed), *settings.size_flags, *options.flags]
        if options.update_freq and options.update_freq > 1:
            flags += ["--update-freq", str(options.update_freq)]
        # fairseq uses all GPUs, and with --cpu starts a process for each
        flags += ["--distributed-world-size", str(tokens.processes)]
        if not self.gpus:
            flags += ["--cpu", "--amp"] if self.amp else ["--cpu"]
        longest = longest_sentence(self.run.text.pieces, "valid")
        if longest > tokens.max_tokens:
            flags += ["--max-tokens-valid", str(longest)]
        return flags

    @cached_property
    def command(self) -> Command:
        """Returns the command ``dc-nmt train`` with this run's options."""
        words = ["train", *words_of_run(self.experiment, {"decoding", "subset"})]
        words += [*option_words(self.options, {"flags"}), *flag_words(self.options.flags)]
        done = f"done; the checkpoints are in {self.run.checkpoints}"
        step = Step(
            f"{self.run.arch}: train {counted(self.settings.updates, 'update')}",
            self.run.folder,
            self._lines,
            is_done=self.is_done,
            log=self.run.folder / "train.log",
            updates=self.settings.updates,
        )
        return Command(
            tuple(words),
            Stage(
                self.run.folder,
                [step],
                self.run.names,
                self.notes,
                end_note=done,
                hides_gpus=not self.gpus,
            ),
        )

    def _lines(self, _: Path) -> list[Line]:
        self.tokens.check(longest_sentence(self.run.text.pieces, "train"))
        return [Line(tuple(self.words))]

    def is_done(self) -> bool:
        """Returns True if this training is finished.

        Raises:
            UserError: its folder has another training
        """
        from .done import is_trained_so

        settings = recorded_flags(self.words)
        return is_trained_so(
            self.run, settings, self.tokens.tokens, any_precision=self.any_precision
        )

    def check_flags(self, *, elsewhere: bool) -> None:
        """Raises UserError for flags that fairseq-train, or this machine, does not take."""
        from ...compat.mixed_precision import bfloat16_flag
        from ..fairseq_flags import TRAIN, parse_flags

        args = parse_flags(TRAIN, self.words[1:])
        if not elsewhere:
            bfloat16_flag(args)

    def check_text(self) -> None:
        """Raises UserError if the text is not prepared."""
        from .done import has_text

        if not has_text(self.run):
            raise UserError(
                f"{self.run.text.binarised} is not there: prepare the text first, with dc-nmt "
                f"prepare {self.experiment.task} --bpe {self.settings.bpe} and the same --out and "
                "--sample"
            )


def plan_training(experiment: Experiment, options: TrainOptions) -> TrainPlan:
    """Plans ``dc-nmt train``.

    Args:
        experiment: which run
        options: how it is trained

    Raises:
        UserError: an unknown task or architecture, options that contradict each other
    """
    recipe = load(experiment.task)
    _check_code(recipe, experiment)
    settings = chosen_settings(recipe, experiment)
    run = planned_run(recipe, experiment, settings)
    _check_flags_of(recipe, settings)
    notes = [f"{recipe.name}: {recipe.task.title}\n{settings.source}"]
    if options.max_update is not None:
        settings, warnings = _with_max_update(settings, options)
        notes += warnings
    gpus = visible_gpus() if options.gpus is None else options.gpus
    tokens = _tokens(settings, options, max(1, gpus))
    tokens.check(longest_sentence(run.text.pieces, "train"))
    any_precision = _precision_is_open(settings, options)
    amp = any_precision and not gpus and _multiplies_bfloat16(run)
    notes.append(str(tokens))
    if amp:
        notes.append("linear layers multiply in bfloat16 on this CPU; --fp32: in float32")
    return TrainPlan(
        experiment, options, run, settings, tuple(notes), gpus, tokens, any_precision, amp
    )


def _check_code(recipe: Recipe, experiment: Experiment) -> None:
    """Raises UserError if the run is there, and needs code of the user's that nobody imported."""
    folder = recipe.output_folder(recipe.name, experiment.out, experiment.sample)
    folder /= experiment.name or f"{experiment.arch}-s{experiment.seed}"
    if not (folder / "run.json").exists():
        return
    from ...runs.record import read_record

    mechanisms = read_record(folder).mechanisms
    if mechanisms:
        from ...checkpoints.loading import check_mechanisms  # with torch

        check_mechanisms({MECHANISM_FOLDERS: mechanisms})


@cache
def _check_flags_of(recipe: Recipe, settings: TaskSettings) -> None:
    """Raises UserError for flags of a user's recipe that fairseq's programs do not take."""
    if not recipe.own:  # the tests do this for the others
        return
    from ..fairseq_flags import GENERATE, TRAIN, parse_flags

    words = ["data", "--arch", settings.arch, "--task", settings.fairseq_task]
    words += ["--criterion", settings.criterion, *settings.flags, *settings.size_flags]
    try:
        key = "flags"
        parse_flags(TRAIN, words)
        key = "decode"
        parse_flags(GENERATE, ["data", "--task", settings.fairseq_task, *settings.decode])
    except UserError as error:
        raise recipe.problem(f"settings, {key} of {settings.arch}", str(error)) from error


def _tokens(settings: TaskSettings, options: TrainOptions, processes: int) -> UpdateTokens:
    """Returns the batch: the recipe's tokens an update, unless the user gives --update-freq."""
    limit = options.max_tokens or settings.max_tokens  # tokens of one process at a time
    if options.update_freq:
        return UpdateTokens(processes, limit, options.update_freq, settings.tokens)
    return share_out(settings.tokens, processes, limit)


def _with_max_update(
    settings: TaskSettings, options: TrainOptions
) -> tuple[TaskSettings, list[str]]:
    """Returns the settings of ``--max-update``; a short run may need a shorter warm-up."""
    assert options.max_update is not None
    flag = "--warmup-updates"
    warmup = flag_value((*settings.size_flags, *options.flags), flag)
    published = flag_value(settings.flags, flag)
    settings = with_updates(settings, options.max_update, warmup)
    shorter = flag_value(settings.flags, flag)
    if warmup is not None or shorter == published:
        return settings, []
    return settings, [f"{flag} {shorter}, not the recipe's {published}: --max-update is short"]


def _precision_is_open(settings: TaskSettings, options: TrainOptions) -> bool:
    """Returns True if a CPU may train in the precision in which it is faster."""
    chosen = {*settings.flags, *settings.size_flags, *options.flags}
    precisions = chosen.intersection(map(flag_name, flags_of(PRECISION)))
    if options.fp32 and precisions:
        raise UsageError(f"--fp32: contradicts {min(precisions)}; leave one of them out")
    return not (options.fp32 or precisions)


def _multiplies_bfloat16(run: PlannedRun) -> bool:
    """Returns True if this CPU is faster in bfloat16; a run goes on in float32 if it began so."""
    from ...machine import multiplies_bfloat16
    from ...runs.record import record_of

    before = record_of(run.folder)
    began_in_float32 = before and before.settings.get("cpu") and not before.settings.get("amp")
    return multiplies_bfloat16() and not began_in_float32


# -- a run, which its training and its evaluation share ----------------------------------------


def chosen_settings(recipe: Recipe, experiment: Experiment) -> TaskSettings:
    """Returns the settings that the recipe and the experiment choose."""
    settings = settings_of(recipe, experiment.arch, experiment.size, experiment.like)
    if experiment.sample:
        settings = for_sample(settings)
    if experiment.average is not None:
        settings = replace(settings, average=experiment.average)
    return settings


def planned_run(recipe: Recipe, experiment: Experiment, settings: TaskSettings) -> PlannedRun:
    """Returns a run with its folder and its text."""
    name = experiment.name or _default_name(recipe, experiment, settings)
    text = PreparedText(
        recipe.source,
        recipe.target,
        recipe.data_folder(experiment.out, experiment.sample),
        recipe.task.bpe[settings.bpe].suffix,
    )
    return PlannedRun(
        settings.arch,
        settings.fairseq_task,
        settings.criterion,
        text,
        recipe.output_folder(recipe.name, experiment.out, experiment.sample) / name,
    )


def _default_name(recipe: Recipe, experiment: Experiment, settings: TaskSettings) -> str:
    """Returns the name of the run's folder: ARCH-SIZE-LIKE-sSEED, without empty parts."""
    like = experiment.like or ""
    if like == settings_of(recipe, experiment.arch, experiment.size).like:
        like = ""  # the settings in use anyway
    like = re.sub(r"[^\w.-]+", "_", like)
    parts = [settings.arch, settings.size, like, f"s{experiment.seed}"]
    return "-".join(part for part in parts if part)


def visible_gpus() -> int:
    """Returns the number of GPUs of this machine that torch may use."""
    import torch

    return torch.cuda.device_count()
