"""Steps that evaluate one model: averaging, translation, scoring; they enter its record."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import UsageError, UserError, counted
from ..flags import flag_values, typed_flags
from ..machine import used_device
from ..runs.finding import is_its_text, path_from, text_file
from ..runs.record import RECORD, Decoding, Record, read_record, update_record, with_decoding
from ..steps import Command, Step, read_stamp, stamp_of
from .training import PLUGIN, PlannedRun


def evaluation(run: PlannedRun) -> Iterator[Step]:
    """Yields the steps that average, translate and score."""
    translated = run.folder / f"generate{run.suffix}"

    def mean_stamp() -> str:
        return stamp_of([_trained_stamp(run), run.average])

    def stamp() -> str:
        model = [_trained_stamp(run), run.average]
        # earlier versions stamped the flags in the order of the command line
        before = stamp_of([*model, *run.decode])
        if read_stamp(translated / ".stamp") == before:
            return before
        return stamp_of([*model, *sorted(flag_values(run.decode).items())])

    def score_stamp() -> str:
        return f"{stamp()}-{stamp_of(run.score)}"

    last = f"average the last {counted(run.average, 'checkpoint')}"
    name = f"{run.arch}: {last if run.average else 'take the best checkpoint'}"
    yield Step(name, run.folder / run.mean, mean_stamp, lambda to: _average(run, to))
    name = f"{run.arch}: translate {'the test set' if run.split == 'test' else run.split}"
    yield TranslationStep(name, translated, stamp, lambda to: _translate(run, to), run=run)
    name = f"{run.arch}: score"
    yield ScoringStep(name, run.folder, score_stamp, lambda _: _score(run), run=run)


def _trained_stamp(run: PlannedRun) -> str:
    """Returns the stamp of the training; before its end, that of the existing checkpoints."""
    stamp = read_stamp(run.folder / "settings.stamp")
    if stamp is None:
        raise UserError(
            f"{run.folder}/settings.stamp is missing: dc-nmt train did not make this folder"
        )
    record = read_record(run.folder)
    if record.architecture not in (None, run.arch):
        raise UsageError(f"{run.folder} has a run of {record.architecture}, not of {run.arch}")
    if not is_its_text(record, run.binarised):
        raise UserError(
            f"{run.folder} was trained when {run.binarised} had other text: train anew with "
            "another --name, or prepare that text again"
        )
    if run.is_trained():
        return stamp
    return f"{stamp}-{stamp_of(sorted(run.checkpoints.glob('*')))}"


def _average(run: PlannedRun, to: Path) -> list[Command]:
    which = [str(run.checkpoints), "--last", str(run.average), "--kind", "update"]
    if run.average == 0:
        which = [str(run.checkpoints / "checkpoint_best.pt")]
    elif run.is_trained():
        from ..checkpoints.names import UPDATE, numbered

        kept = numbered(run.checkpoints, UPDATE)
        if len(kept) < run.average:  # the training kept no more: its own --average was smaller
            paths = [path for _, path in kept]
            end = read_record(run.folder).settings.get("max-update")
            if not kept or kept[-1][0] != end:
                paths.append(run.checkpoints / "checkpoint_last.pt")
            print(
                f"{run.checkpoints}: {len(kept)} of {run.average} update checkpoints (the "
                "training keeps no more than its own --average): the mean is of "
                f"{', '.join(path.name for path in paths)}",
                file=sys.stderr,
            )
            which = list(map(str, paths))
    return [Command(["dc-nmt", "average", *which, "--out", str(to / "checkpoint.pt")])]


def _translate(run: PlannedRun, to: Path) -> list[Command]:
    words = ["fairseq-generate", str(run.binarised), "--user-dir", PLUGIN]
    words += ["--task", run.task, "--source-lang", run.source, "--target-lang", run.target]
    words += ["--path", str(run.checkpoint), "--gen-subset", run.subset]
    words += ["--results-path", str(to), *run.decode]
    return [Command(words, log=run.folder / f"generate{run.suffix}.log")]


def _score(run: PlannedRun) -> list[Command]:
    translated = f"{run.folder}/generate{run.suffix}"
    words = ["dc-nmt", "score", f"{translated}/generate-{run.subset}.txt"]
    words += ["--generate-log", f"{translated}.log"]
    words += ["--source", str(run.raw / f"{run.split}.{run.source}")]
    words += ["--reference", str(run.raw / f"{run.split}.{run.target}")]
    words += ["--source-lang", run.source, "--target-lang", run.target, *run.score]
    words += ["--detokenized", f"{run.folder}/hypotheses{run.suffix}.{run.target}"]
    if run.decoding:
        words += ["--as", run.decoding]
    if run.split != "test":
        words += ["--subset", run.split]
    return [Command([*words, "--out", str(run.folder / RECORD)])]


@dataclass(frozen=True)
class TranslationStep(Step):
    """Translation step: also enters the translation into the record of the run."""

    run: PlannedRun = field(kw_only=True)

    def is_done(self) -> bool:
        """Returns True if the record has this translation, and of the text that is here now."""
        run = self.run
        known = read_record(run.folder).decoding(run.key)
        if known is None or not super().is_done():
            return False
        languages = (run.source, run.target)
        texts = [text_file(run.folder, run.raw / f"{run.split}.{name}") for name in languages]
        pairs = zip([known.source, *known.references], texts, strict=False)
        return all(file is None or now.sha256 in (None, file.sha256) for file, now in pairs)

    def make(self) -> None:
        """Translates; the record gets the settings, and loses the scores of a translation before.

        Raises:
            UserError: fairseq-generate failed
        """
        from ..checkpoints.loading import updates_of

        run, device = self.run, None  # a translation without its entry may have been made elsewhere
        if read_record(run.folder).decoding(run.key) or not super().is_done():
            super().make()
            # fairseq-generate takes one GPU
            device = used_device({**typed_flags(run.decode), "distributed-world-size": 1})
        decoding = Decoding(
            run.decoding,
            run.split,
            typed_flags(run.decode),
            checkpoint=path_from(run.folder, run.checkpoint),
            updates=updates_of(str(run.checkpoint)),
            averaged=run.average,
            device=device,
        )
        record = read_record(run.folder)
        update_record(run.folder / RECORD, lambda known: with_decoding(known or record, decoding))


@dataclass(frozen=True)
class ScoringStep(Step):
    """Scoring step: fills the record of the run in place."""

    run: PlannedRun = field(kw_only=True)

    def is_done(self) -> bool:
        decoding = read_record(self.run.folder).decoding(self.run.key)
        return decoding is not None and decoding.stamp == self.stamp()

    def make(self) -> None:
        """Scores the translation of the run.

        Raises:
            UserError: dc-nmt score failed
        """
        stamp = self.stamp()
        self.run.score_log.write_text("")
        for command in self.commands(self.folder):
            command.run(self.run.score_log)

        def stamped(record: Record | None) -> Record:
            decoding = record and record.decoding(self.run.key)
            assert record and decoding, "the translation entered it"
            return with_decoding(record, replace(decoding, stamp=stamp))

        update_record(self.run.folder / RECORD, stamped)
