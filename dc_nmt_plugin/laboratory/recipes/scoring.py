"""Plans the evaluation of one model: averaging, translation, scoring. ``dc-nmt evaluate``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...checkpoints.names import BEST
from ...errors import UsageError, counted
from ...runs.record import RECORD
from ..steps import Command, Line, Stage, Step
from .done import (
    checkpoints_of_mean,
    is_averaged,
    is_scored,
    is_trained,
    is_translated,
    update_checkpoints,
)
from .plan import chosen_settings, planned_run
from .planned import PLUGIN, Experiment, PlannedDecoding, PlannedRun, flag_words, words_of_run
from .recipe import Recipe, load
from .settings import TaskSettings

if TYPE_CHECKING:
    from ..inference.trained_run import TrainedRun


def plan_decoding(experiment: Experiment, flags: tuple[str, ...] = ()) -> PlannedDecoding:
    """Returns the decoding that ``dc-nmt evaluate`` makes with the model of a run.

    Args:
        experiment: which run, and which set
        flags: of fairseq-generate, after the recipe's own

    Raises:
        UserError: an unknown task or architecture, or a name that no folder can have
    """
    recipe = load(experiment.task)
    settings = chosen_settings(recipe, experiment)
    run = planned_run(recipe, experiment, settings)
    ensemble, name = _ensemble_of(experiment), experiment.decoding
    if ensemble:  # a row of a table never looks like one of a single model
        name = "ensemble." + (name or "_".join(_named_beside(run, other) for other in ensemble))
        name = re.sub(r"[^\w.]", "_", name)
    if not re.fullmatch(r"[\w.]*", name) or name in recipe.splits:
        raise UsageError(
            f"--as: {name!r} becomes a part of folders' names: use letters, digits, "
            f"_ and ., and none of {', '.join(recipe.splits)}"
        )
    mean = "average"
    # another number of checkpoints leaves the mean of the run's own decoding as it is
    if experiment.average is not None and (name or experiment.subset != "test"):
        mean = f"average-{experiment.average}"
    return PlannedDecoding(
        run=run,
        name=name,
        split=experiment.subset,
        subset=recipe.subset(experiment.subset),
        average=settings.average,
        mean=run.folder / mean,
        search=(*settings.decode, *flags),
        score=_score_flags(recipe, settings, run.text.raw, experiment.subset),
        ensemble=ensemble,
    )


def _ensemble_of(experiment: Experiment) -> tuple[TrainedRun, ...]:
    """Returns the further runs of an ensemble with their models."""
    if not experiment.ensemble:
        return ()
    from ..inference.trained_run import find_runs  # with torch

    return tuple(find_runs(experiment.ensemble))


def _named_beside(run: PlannedRun, other: TrainedRun) -> str:
    """Returns the name of another run; a fine-tuned one is often called as that of its start."""
    folder = other.folder.resolve()
    if folder.parent == run.folder.resolve().parent:
        return folder.name
    return f"{folder.parent.name}_{folder.name}"


def _score_flags(recipe: Recipe, settings: TaskSettings, raw: Path, split: str) -> tuple[str, ...]:
    """Returns the flags of ``dc-nmt score``."""
    text = recipe.task.text
    flags = ["--tokenizer", text.scored_as]
    if text.tokenizer != "raw":
        flags += ["--tokenized-reference", f"{raw}/tokenised/{split}.{recipe.target}"]
    if text.casing == "truecase":
        flags += ["--truecased"]
    if settings.metrics:
        flags += ["--metrics", settings.metrics]
    return (*flags, "--main" if recipe.own else "--paper", settings.main_metric)


def evaluation_command(
    experiment: Experiment,
    decoding: PlannedDecoding,
    flags: tuple[str, ...] = (),
    *,
    hides_gpus: bool = False,
) -> Command:
    """Returns the command ``dc-nmt evaluate``: it averages, translates and scores.

    Args:
        experiment: which run, and which set
        decoding: of :func:`plan_decoding`
        flags: of fairseq-generate, that the user gave
        hides_gpus: translate on the CPU
    """
    words = ["evaluate", *words_of_run(experiment), *["--gpus", "0"] * hides_gpus]
    words += ["--with", *map(str, experiment.ensemble)] if experiment.ensemble else []
    words += flag_words(flags)
    return Command(tuple(words), evaluation_stage(decoding, hides_gpus=hides_gpus))


def evaluation_stage(decoding: PlannedDecoding, *, hides_gpus: bool = False) -> Stage:
    """Returns the steps that average, translate and score."""
    run = decoding.run
    kept, notes = update_checkpoints(run), []
    if is_trained(run) and 0 < len(kept) < decoding.average:
        notes.append(
            f"{run.checkpoints}: {len(kept)} of {decoding.average} update checkpoints (the "
            "training keeps no more than its own --average): the mean is of "
            f"{', '.join(checkpoints_of_mean(decoding))}"
        )
    what = "take the best checkpoint"
    if decoding.average:
        what = f"average the last {counted(decoding.average, 'checkpoint')}"
    average = Step(
        f"{run.arch}: {what}",
        decoding.mean,
        lambda to: [_average(decoding, to)],
        is_done=lambda: is_averaged(decoding),
    )
    translated = "the test set" if decoding.split == "test" else decoding.split
    names = [run.arch, *(other.folder.name for other in decoding.ensemble)]
    translate = Step(
        f"{' + '.join(names)}: translate {translated}",
        decoding.output,
        lambda to: [_translate(decoding, to)],
        is_done=lambda: is_translated(decoding),
        keeps_log=True,
    )
    line, log = _score(decoding), run.folder / f"score{decoding.suffix}.log"
    score = Step(
        f"{run.arch}: score",
        run.folder,
        lambda _: [line],
        is_done=lambda: is_scored(decoding, line.words[2:]),
        log=log,
    )
    return Stage(
        run.folder,
        [average, translate, score],
        run.names,
        notes,
        prints=log,
        hides_gpus=hides_gpus,
    )


def _average(decoding: PlannedDecoding, to: Path) -> Line:
    checkpoints = decoding.run.checkpoints
    which = [str(checkpoints), "--last", str(decoding.average), "--kind", "update"]
    if decoding.average == 0:
        which = [f"{checkpoints}/{BEST}"]
    elif is_trained(decoding.run) and len(update_checkpoints(decoding.run)) < decoding.average:
        which = [f"{checkpoints}/{name}" for name in checkpoints_of_mean(decoding)]
    return Line(("dc-nmt", "average", *which, "--out", f"{to}/checkpoint.pt"))


def _translate(decoding: PlannedDecoding, to: Path) -> Line:
    run, text = decoding.run, decoding.run.text
    words = ["fairseq-generate", str(text.binarised), "--user-dir", PLUGIN]
    words += ["--task", run.fairseq_task]
    words += ["--source-lang", text.source, "--target-lang", text.target]
    words += ["--path", os.pathsep.join(map(str, decoding.models))]
    words += ["--gen-subset", decoding.subset]
    return Line((*words, "--results-path", str(to), *decoding.search))


def _score(decoding: PlannedDecoding) -> Line:
    text, split, folder = decoding.run.text, decoding.split, decoding.run.folder
    words = ["dc-nmt", "score", f"{decoding.output}/generate-{decoding.subset}.txt"]
    words += ["--generate-log", f"{decoding.output}.log"]
    words += ["--source", str(decoding.raw_text(text.source))]
    words += ["--reference", str(decoding.raw_text(text.target))]
    words += ["--source-lang", text.source, "--target-lang", text.target, *decoding.score]
    words += ["--detokenized", f"{folder}/hypotheses{decoding.suffix}.{text.target}"]
    if decoding.name:
        words += ["--as", decoding.name]
    if split != "test":
        words += ["--subset", split]
    return Line((*words, "--out", f"{folder}/{RECORD}"))
