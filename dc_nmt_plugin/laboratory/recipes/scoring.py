"""Plans the evaluation of one model: averaging, translation, scoring.

fairseq-generate enters the translation into the record of the run, and dc-nmt score its scores.
The record decides what is done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...checkpoints.names import BEST, LAST, UPDATE, numbered
from ...errors import UsageError, UserError, counted
from ...flags import typed_flags
from ...runs.finding import is_its_text, text_file
from ...runs.record import RECORD, read_record, record_of
from ...steps import TO, Line, Stage, Step, Variable, filled_words, literal, stamp_of
from .plan import Experiment, chosen_settings, planned_run
from .recipe import Recipe, load
from .settings import TaskSettings
from .training import PlannedRun


@dataclass(frozen=True)
class PlannedDecoding:
    """One way to translate a set with the model of a run, and to score the translation.

    `search` and `score` are words of a plan's lines.
    """

    run: PlannedRun
    name: str  # such as aux1, if the run is decoded in several ways; "" for the recipe's
    split: str  # translated set: test, valid or a further test set
    subset: str  # fairseq's name of the set
    average: int  # number of averaged last checkpoints; 0: only the best one
    mean: str  # name of the folder of their mean, in the run's folder
    search: tuple[str, ...]  # flags of fairseq-generate
    score: tuple[str, ...]  # flags of dc-nmt score

    @property
    def checkpoint(self) -> Path:
        """Returns the model that translates: the mean of the last checkpoints, or the best one."""
        return self.run.folder / self.mean / "checkpoint.pt"

    @property
    def key(self) -> str:
        """Returns the translated set and the decoding; "" for the recipe's of the test set."""
        subset = "" if self.split == "test" else self.split
        return ".".join(filter(None, (subset, self.name)))

    @property
    def suffix(self) -> str:
        """Returns the end of the names of this decoding's files."""
        return f"-{self.key}" if self.key else ""

    def raw_text(self, language: str) -> Path:
        """Returns the untokenised text of the set."""
        return self.run.text.raw / f"{self.split}.{language}"

    def has_scores(self) -> bool:
        """Returns True if the training is finished, and this translation has scores."""
        record = record_of(self.run.folder)
        decoding = record and record.decoding(self.key)
        return bool(decoding and decoding.scores) and self.run.is_trained()


def plan_decoding(options: Experiment) -> PlannedDecoding:
    """Returns the decoding that ``dc-nmt evaluate`` makes with the model of a run.

    Raises:
        UserError: an unknown task or architecture, or a name that no folder can have
    """
    recipe = load(options.task)
    settings = chosen_settings(recipe, options)
    if not re.fullmatch(r"[\w.]*", options.decoding) or options.decoding in recipe.splits:
        raise UsageError(
            f"--as: {options.decoding!r} becomes a part of folders' names: use letters, digits, "
            f"_ and ., and none of {', '.join(recipe.splits)}"
        )
    mean = "average"
    # another number of checkpoints leaves the mean of the run's own decoding as it is
    if options.average is not None and (options.decoding or options.subset != "test"):
        mean = f"average-{options.average}"
    return PlannedDecoding(
        run=planned_run(recipe, options, settings),
        name=options.decoding,
        split=options.subset,
        subset=recipe.subset(options.subset),
        average=settings.average,
        mean=mean,
        search=settings.decode,
        score=_score_flags(recipe, settings, options.subset),
    )


def _score_flags(recipe: Recipe, settings: TaskSettings, split: str) -> tuple[str, ...]:
    """Returns the flags of ``dc-nmt score``, as words of a plan's line."""
    text = recipe.task.text
    flags = ["--tokenizer", text.scored_as]
    if text.tokenizer != "raw":
        flags += ["--tokenized-reference", f"$DATA/raw/tokenised/{split}.{recipe.target}"]
    if text.casing == "truecase":
        flags += ["--truecased"]
    if settings.metrics:
        flags += ["--metrics", literal(settings.metrics)]
    flags += ["--main" if recipe.own else "--paper", literal(settings.main_metric)]
    return tuple(flags)


def evaluation_stage(decoding: PlannedDecoding, variables: Sequence[Variable], seed: int) -> Stage:
    """Returns the steps that average, translate and score.

    Args:
        decoding: of the model of a run
        variables: of the plan
        seed: of the run
    """
    run = decoding.run
    kept, notes_here = _update_checkpoints(run), []
    if run.is_trained() and 0 < len(kept) < decoding.average:
        notes_here.append(
            f"{run.checkpoints}: {len(kept)} of {decoding.average} update checkpoints (the "
            "training keeps no more than its own --average): the mean is of "
            f"{', '.join(_averaged_now(decoding))}"
        )
    what = "take the best checkpoint"
    if decoding.average:
        what = f"average the last {counted(decoding.average, 'checkpoint')}"
    average = Step(
        f"{run.arch}: {what}",
        f"$RUN/{decoding.mean}",
        [_average(decoding)],
        is_done=lambda: is_averaged(decoding),
    )
    translate = Step(
        f"{run.arch}: translate {'the test set' if decoding.split == 'test' else decoding.split}",
        f"$RUN/generate{decoding.suffix}",
        [_translate(decoding)],
        is_done=lambda: is_translated(decoding),
    )
    line, log = _score(decoding), f"$RUN/score{decoding.suffix}.log"
    known = {each.name: each for each in (*variables, run.variable(seed))}
    words = filled_words(line.words[2:], known)
    score = Step(
        f"{run.arch}: score",
        "$RUN",
        [line],
        log=log,
        is_done=lambda: is_scored(decoding, words),
        in_place=True,
    )
    return Stage(
        "$RUN",
        [average, translate, score],
        [run.variable(seed)],
        notes_here=notes_here,
        prints=log,
    )


# -- the mean of the last checkpoints ----------------------------------------------------------


def _average(decoding: PlannedDecoding) -> Line:
    which = ["$RUN/checkpoints", "--last", str(decoding.average), "--kind", "update"]
    if decoding.average == 0:
        which = [f"$RUN/checkpoints/{BEST}"]
    elif decoding.run.is_trained() and len(_update_checkpoints(decoding.run)) < decoding.average:
        which = [f"$RUN/checkpoints/{name}" for name in _averaged_now(decoding)]
    return Line(("dc-nmt", "average", *which, "--out", f"{TO}/checkpoint.pt"))


def _averaged_now(decoding: PlannedDecoding) -> list[str]:
    """Returns the names of the checkpoints that the mean is to be of.

    A finished training kept no more than its own ``--average``: then its last checkpoint counts
    too, but no update twice.
    """
    if decoding.average == 0:
        return [BEST]
    run = decoding.run
    names = _update_checkpoints(run)[-decoding.average :]
    if len(names) < decoding.average and run.is_trained() and (run.checkpoints / LAST).is_file():
        end = read_record(run.folder).training.updates
        if not names or not names[-1].endswith(f"_{end}.pt"):
            names.append(LAST)
    return names


def _update_checkpoints(run: PlannedRun) -> list[str]:
    if not run.checkpoints.is_dir():
        return []
    return [path.name for _, path in numbered(run.checkpoints, UPDATE)]


def is_averaged(decoding: PlannedDecoding) -> bool:
    """Returns True if the mean is of the checkpoints that are there now, or none are there.

    Raises:
        UserError: the folder has no such run
    """
    from ...checkpoints.loading import averaged_names, updates_of

    check_run(decoding.run)
    if not decoding.checkpoint.is_file():
        return False
    names = averaged_names(str(decoding.checkpoint))
    now = _averaged_now(decoding)
    newest = decoding.run.checkpoints / now[-1] if now else None
    if newest is None or not newest.is_file():
        return len(names) == max(1, decoding.average)
    if names != tuple(now):
        return False
    # the name of the best checkpoint, or of the last one, says nothing about its updates
    return updates_of(str(newest)) == updates_of(str(decoding.checkpoint))


def check_run(run: PlannedRun) -> None:
    """Raises UserError if the folder has no training, or that of another model or text."""
    record = read_record(run.folder)
    if record.architecture not in (None, run.arch):
        raise UsageError(f"{run.folder} has a run of {record.architecture}, not of {run.arch}")
    if not is_its_text(record, run.text.binarised):
        raise UserError(
            f"{run.folder} was trained when {run.text.binarised} had other text: train anew with "
            "another --name, or prepare that text again"
        )


# -- translation -------------------------------------------------------------------------------


def _translate(decoding: PlannedDecoding) -> Line:
    text = decoding.run.text
    words = ["fairseq-generate", f"$DATA/bin{text.segmentation}", "--user-dir", "$USER_DIR"]
    words += ["--task", decoding.run.fairseq_task]
    words += ["--source-lang", text.source, "--target-lang", text.target]
    words += ["--path", f"$RUN/{decoding.mean}/checkpoint.pt", "--gen-subset", decoding.subset]
    return Line((*words, "--results-path", TO, *map(literal, decoding.search)))


def is_translated(decoding: PlannedDecoding) -> bool:
    """Returns True if the record has this translation by this model, of the text that is here."""
    from ...checkpoints.loading import averaged_names, updates_of
    from ...runs.translation import number_averaged

    folder, text = decoding.run.folder, decoding.run.text
    known = read_record(folder).decoding(decoding.key)
    if known is None or not (folder / f"generate{decoding.suffix}").is_dir():
        return False
    model = str(decoding.checkpoint)
    averaged = number_averaged(averaged_names(model))
    if (known.updates, known.averaged) != (updates_of(model), averaged):
        return False
    if known.search != typed_flags(decoding.search):
        return False
    texts = [text_file(folder, decoding.raw_text(name)) for name in (text.source, text.target)]
    pairs = zip([known.source, *known.references], texts, strict=False)
    return all(file is None or now.sha256 in (None, file.sha256) for file, now in pairs)


# -- scores ------------------------------------------------------------------------------------


def _score(decoding: PlannedDecoding) -> Line:
    text, split = decoding.run.text, decoding.split
    translated = f"$RUN/generate{decoding.suffix}"
    words = ["dc-nmt", "score", f"{translated}/generate-{decoding.subset}.txt"]
    words += ["--generate-log", f"{translated}.log"]
    words += ["--source", f"$DATA/raw/{split}.{text.source}"]
    words += ["--reference", f"$DATA/raw/{split}.{text.target}"]
    words += ["--source-lang", text.source, "--target-lang", text.target, *decoding.score]
    words += ["--detokenized", f"$RUN/hypotheses{decoding.suffix}.{text.target}"]
    if decoding.name:
        words += ["--as", decoding.name]
    if split != "test":
        words += ["--subset", split]
    return Line((*words, "--out", f"$RUN/{RECORD}"))


def is_scored(decoding: PlannedDecoding, words: Sequence[str]) -> bool:
    """Returns True if ``dc-nmt score WORDS`` has entered its scores into the record."""
    known = read_record(decoding.run.folder).decoding(decoding.key)
    return known is not None and bool(known.scores) and known.stamp == stamp_of(words)
