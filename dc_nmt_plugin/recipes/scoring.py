"""Plans the evaluation of one model: averaging, translation, scoring.

fairseq-generate enters the translation into the record of the run, and dc-nmt score its scores.
The record decides what is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..checkpoints.names import BEST, LAST, UPDATE, numbered
from ..errors import UsageError, UserError, counted
from ..flags import typed_flags
from ..runs.finding import is_its_text, text_file
from ..runs.record import RECORD, read_record
from ..steps import TO, Line, Stage, Step, Variable, filled_words, literal, stamp_of
from .training import PlannedRun


def evaluation_stage(run: PlannedRun, variables: Sequence[Variable], seed: int) -> Stage:
    """Returns the steps that average, translate and score.

    Args:
        run: the run
        variables: of the plan
        seed: of the run
    """
    last = f"average the last {counted(run.average, 'checkpoint')}"
    kept, notes_here = _update_checkpoints(run), []
    if run.is_trained() and 0 < len(kept) < run.average:
        notes_here.append(
            f"{run.checkpoints}: {len(kept)} of {run.average} update checkpoints (the training "
            f"keeps no more than its own --average): the mean is of {', '.join(_averaged_now(run))}"
        )
    what = last if run.average else "take the best checkpoint"
    average = Step(
        f"{run.arch}: {what}", f"$RUN/{run.mean}", [_average(run)], is_done=lambda: is_averaged(run)
    )
    translate = Step(
        f"{run.arch}: translate {'the test set' if run.split == 'test' else run.split}",
        f"$RUN/generate{run.suffix}",
        [_translate(run)],
        is_done=lambda: is_translated(run),
    )
    line, log = _score(run), f"$RUN/score{run.suffix}.log"
    known = {each.name: each for each in (*variables, run.variable(seed))}
    words = filled_words(line.words[2:], known)
    score = Step(
        f"{run.arch}: score",
        "$RUN",
        [line],
        log=log,
        is_done=lambda: is_scored(run, words),
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


def _average(run: PlannedRun) -> Line:
    which = ["$RUN/checkpoints", "--last", str(run.average), "--kind", "update"]
    if run.average == 0:
        which = [f"$RUN/checkpoints/{BEST}"]
    elif run.is_trained() and len(_update_checkpoints(run)) < run.average:
        which = [f"$RUN/checkpoints/{name}" for name in _averaged_now(run)]
    return Line(("dc-nmt", "average", *which, "--out", f"{TO}/checkpoint.pt"))


def _averaged_now(run: PlannedRun) -> list[str]:
    """Returns the names of the checkpoints that the mean is to be of.

    A finished training kept no more than its own ``--average``: then its last checkpoint counts
    too, but no update twice.
    """
    if run.average == 0:
        return [BEST]
    names = _update_checkpoints(run)[-run.average :]
    if len(names) < run.average and run.is_trained() and (run.checkpoints / LAST).is_file():
        end = read_record(run.folder).training.updates
        if not names or not names[-1].endswith(f"_{end}.pt"):
            names.append(LAST)
    return names


def _update_checkpoints(run: PlannedRun) -> list[str]:
    if not run.checkpoints.is_dir():
        return []
    return [path.name for _, path in numbered(run.checkpoints, UPDATE)]


def is_averaged(run: PlannedRun) -> bool:
    """Returns True if the mean is of the checkpoints that are there now, or none are there.

    Raises:
        UserError: the folder has no such run
    """
    from ..checkpoints.loading import averaged_names, updates_of

    check_run(run)
    if not run.checkpoint.is_file():
        return False
    names = averaged_names(str(run.checkpoint))
    now = _averaged_now(run)
    newest = run.checkpoints / now[-1] if now else None
    if newest is None or not newest.is_file():
        return len(names) == max(1, run.average)
    if names != tuple(now):
        return False
    # the name of the best checkpoint, or of the last one, says nothing about its updates
    return updates_of(str(newest)) == updates_of(str(run.checkpoint))


def check_run(run: PlannedRun) -> None:
    """Raises UserError if the folder has no training, or that of another model or text."""
    record = read_record(run.folder)
    if record.architecture not in (None, run.arch):
        raise UsageError(f"{run.folder} has a run of {record.architecture}, not of {run.arch}")
    if not is_its_text(record, run.binarised):
        raise UserError(
            f"{run.folder} was trained when {run.binarised} had other text: train anew with "
            "another --name, or prepare that text again"
        )


# -- translation -------------------------------------------------------------------------------


def _translate(run: PlannedRun) -> Line:
    words = ["fairseq-generate", f"$DATA/bin{run.segmentation}", "--user-dir", "$USER_DIR"]
    words += ["--task", run.task, "--source-lang", run.source, "--target-lang", run.target]
    words += ["--path", f"$RUN/{run.mean}/checkpoint.pt", "--gen-subset", run.subset]
    return Line((*words, "--results-path", TO, *map(literal, run.decode)))


def is_translated(run: PlannedRun) -> bool:
    """Returns True if the record has this translation by this model, of the text that is here."""
    from ..checkpoints.loading import averaged_names, updates_of
    from ..runs.translation import number_averaged

    known = read_record(run.folder).decoding(run.key)
    if known is None or not (run.folder / f"generate{run.suffix}").is_dir():
        return False
    model = str(run.checkpoint)
    averaged = number_averaged(averaged_names(model))
    if (known.updates, known.averaged) != (updates_of(model), averaged):
        return False
    if known.search != typed_flags(run.decode):
        return False
    languages = (run.source, run.target)
    texts = [text_file(run.folder, run.raw / f"{run.split}.{name}") for name in languages]
    pairs = zip([known.source, *known.references], texts, strict=False)
    return all(file is None or now.sha256 in (None, file.sha256) for file, now in pairs)


# -- scores ------------------------------------------------------------------------------------


def _score(run: PlannedRun) -> Line:
    translated = f"$RUN/generate{run.suffix}"
    words = ["dc-nmt", "score", f"{translated}/generate-{run.subset}.txt"]
    words += ["--generate-log", f"{translated}.log"]
    words += ["--source", f"$DATA/raw/{run.split}.{run.source}"]
    words += ["--reference", f"$DATA/raw/{run.split}.{run.target}"]
    words += ["--source-lang", run.source, "--target-lang", run.target, *run.score]
    words += ["--detokenized", f"$RUN/hypotheses{run.suffix}.{run.target}"]
    if run.decoding:
        words += ["--as", run.decoding]
    if run.split != "test":
        words += ["--subset", run.split]
    return Line((*words, "--out", f"$RUN/{RECORD}"))


def is_scored(run: PlannedRun, words: Sequence[str]) -> bool:
    """Returns True if ``dc-nmt score WORDS`` has entered its scores into the record."""
    decoding = read_record(run.folder).decoding(run.key)
    return decoding is not None and bool(decoding.scores) and decoding.stamp == stamp_of(words)
