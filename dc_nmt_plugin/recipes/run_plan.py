"""Plans training and evaluation from a task, an architecture and options."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import UsageError
from ..flags import flag_value, replaced, whole_number
from ..steps import digest
from .cleaning import POSITIONS, check_positions, longest_pieces
from .experiment import Experiment
from .launch import Batch, find_machines, share_out
from .options import RunOptions, TrainOptions
from .recipe import Recipe, load
from .schema import Segmentation
from .settings import RunSettings, for_sample, settings_of, with_updates
from .training import TrainingStep, training_step


@dataclass(frozen=True)
class TrainPlan:
    """A planned training run.

    Attributes:
        recipe, settings: of the run
        training: the step
        notes: sentences about the distribution of an update's tokens, and a shorter warm-up
        rank: number of this machine; the first (0) writes the records
    """

    recipe: Recipe
    settings: RunSettings
    training: TrainingStep
    notes: tuple[str, ...]
    rank: int


def plan_run(options: RunOptions) -> Experiment:
    """Returns the run that its training and its evaluation share.

    Raises:
        UserError: an unknown task or architecture
    """
    recipe = load(options.task)
    return _run(recipe, options, *_settings(recipe, options))


def plan_training(options: RunOptions, train: TrainOptions) -> TrainPlan:
    """Plans the steps of ``dc-nmt train``.

    Raises:
        UserError: an unknown task or architecture, options that contradict each other, sentences
            longer than the model's positions
    """
    recipe = load(options.task)
    settings, segmentation = _settings(recipe, options)
    run = _run(recipe, options, settings, segmentation)
    own = (*train.schedule, *settings.size_flags, *train.flags)
    whole, notes = settings, []
    if train.max_update is not None:
        warmup = flag_value(own, "--warmup-updates")
        settings = with_updates(settings, train.max_update, warmup)
        before, now = (flag_value(s.flags, "--warmup-updates") for s in (whole, settings))
        if warmup is None and before != now:
            notes.append(
                f"--warmup-updates {now}, not the recipe's {before}: --max-update is short"
            )
    pieces = _work(recipe, options) / f"bpe{segmentation.suffix}"
    lengths = longest_pieces(pieces)
    machines = find_machines(train.machines)
    batch = _batch(settings, train, machines.workers, lengths)
    limits = {
        language: whole_number((*settings.flags, *own), flag) or POSITIONS
        for language, flag in (
            (recipe.source, "--max-source-positions"),
            (recipe.target, "--max-target-positions"),
        )
    }
    check_positions(lengths, limits, pieces)
    rest = settings.flags
    if "--max-tokens" not in rest:  # otherwise it stays in its place, as in earlier runs
        rest = (*rest, "--max-tokens", str(settings.tokens))
    # settings that depend on the number of GPUs do not identify a run
    identity = (*rest, "--seed", str(options.seed), *own)
    flags = [*replaced(identity, "--max-tokens", str(batch.max_tokens))]
    if train.update_freq and batch.tokens != settings.tokens:
        identity = (*identity, f"tokens={batch.tokens}")  # differs from the recipe's training
    flags += ["--update-freq", str(batch.update_freq)] if batch.update_freq > 1 else []
    flags += machines.flags() + _valid_tokens(lengths, batch)
    training = training_step(
        run, settings.updates, settings.save_every, identity, flags, machines.command()
    )
    notes.insert(0, batch.describe(settings.tokens))
    return TrainPlan(recipe, settings, training, tuple(notes), machines.rank)


def _settings(recipe: Recipe, options: RunOptions) -> tuple[RunSettings, Segmentation]:
    settings = settings_of(recipe, options.arch, options.size, options.like)
    segmentation = recipe.task.bpe[settings.bpe]
    settings = for_sample(settings) if options.sample else settings
    if options.average is not None:
        settings = replace(settings, average=options.average)
    return settings, segmentation


def _run(
    recipe: Recipe, options: RunOptions, settings: RunSettings, segmentation: Segmentation
) -> Experiment:
    if not re.fullmatch(r"[\w.]*", options.decoding):
        raise UsageError(
            f"--as: {options.decoding!r} becomes a part of folders' names: use letters, digits, "
            "_ and ."
        )
    if options.decoding in recipe.splits:
        raise UsageError(
            f"--as: {options.decoding!r} is one of the recipe's sets of text, whose own folder has "
            "that name; take another"
        )
    work = _work(recipe, options)
    like = options.like or ""
    if like == settings_of(recipe, options.arch, options.size).name:
        like = ""  # the settings in use anyway
    like = re.sub(r"[^\w.-]+", "_", like)
    name = "-".join(filter(None, (settings.arch, settings.size, like, f"s{options.seed}")))
    score = _score_flags(recipe, settings, segmentation, work, options.subset)
    other = options.average is not None and (options.decoding or options.subset != "test")
    sample = f"sample{options.sample}" if options.sample else ""
    return Experiment(
        settings.arch,
        settings.task,
        settings.criterion,
        recipe.source,
        recipe.target,
        raw=work / "raw",
        binarised=work / f"bin{segmentation.suffix}",
        folder=recipe.place(recipe.name, options.out, options.sample) / (options.name or name),
        average=settings.average,
        decode=settings.decode,
        score=score,
        score_stamp=f"-{digest(score)}",
        decoding=options.decoding,
        split=options.subset,
        subset=recipe.subset(options.subset),
        # the run's default mean stays unchanged
        averaged=f"average-{options.average}" if other else "average",
        recipe="-".join(filter(None, (recipe.name, sample))),
    )


def _work(recipe: Recipe, options: RunOptions) -> Path:
    return recipe.place(recipe.folder, options.out, options.sample) / "data"


def _batch(
    settings: RunSettings, train: TrainOptions, workers: int, lengths: dict[str, int]
) -> Batch:
    """Returns the share of an update for each process."""
    fits = train.max_tokens or settings.max_tokens
    if train.update_freq:
        return Batch(workers, fits, train.update_freq)
    return share_out(settings.tokens, workers, fits, _longest(lengths, "train"))


def _longest(lengths: dict[str, int], split: str) -> int:
    """Returns the tokens of a split's longest sentence, with the end token; 0 if unknown."""
    return max((n + 1 for name, n in lengths.items() if name.startswith(split)), default=0)


def _valid_tokens(lengths: dict[str, int], batch: Batch) -> list[str]:
    """Returns batch flags for a validation sentence that is longer than a training batch."""
    longest = _longest(lengths, "valid")
    return ["--max-tokens-valid", str(longest)] if longest > batch.max_tokens else []


def _score_flags(
    recipe: Recipe, settings: RunSettings, segmentation: Segmentation, work: Path, split: str
) -> tuple[str, ...]:
    text = recipe.task.text
    flags = ["--tokenizer", text.scored_as]
    # without a tokeniser, sentencepiece segments raw text, whose words multi-bleu cannot count
    if segmentation.kind != "sentencepiece" or text.scored_as != "none":
        flags += ["--tokenized-reference", str(work / f"raw/tokenised/{split}.{recipe.target}")]
    flags += ["--truecased"] if text.casing == "truecase" else []
    flags += ["--metrics", settings.metrics] if settings.metrics else []
    return (*flags, "--main" if recipe.own else "--paper", settings.paper)
