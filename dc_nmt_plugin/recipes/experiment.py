"""Steps of one model: training, averaging, translation, scoring.

fairseq-train writes the record of a run (tasks/run_record.py); the others enter theirs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import PIPE, STDOUT

from ..errors import UserError
from ..flags import typed_flags
from ..machine import used_device
from ..runs.finding import is_its_text, path_from
from ..runs.record import RECORD, Decoding, Record, read_record, update_record, with_decoding
from ..steps import Command, ShellWord, Step, check_space, digest, read_stamp, running, write_stamp

PLUGIN = ShellWord(Path(__file__).parents[1], '"$USER_DIR"')
COMMAND = "command.txt"  # in a run's folder, for people: its fairseq-train command
LOG = "train.log"


@dataclass(frozen=True)
class Experiment:
    """One model in its own folder."""

    arch: str  # fairseq's
    task: str
    criterion: str
    source: str  # languages
    target: str
    raw: Path  # folder of the untokenised text
    binarised: Path  # folder that fairseq reads
    folder: Path  # of the run
    average: int  # number of averaged last checkpoints; 0: only the best one
    decode: tuple[str, ...]  # flags of fairseq-generate
    score: tuple[str, ...]  # flags of dc-nmt score
    score_stamp: str  # of the inputs of a score other than the translation
    decoding: str = ""  # name of this decoding, such as aux1, if the run is decoded in several ways
    split: str = "test"  # translated set: test, valid or a further test set
    subset: str = "test"  # fairseq's name of the set
    averaged: str = "average"  # folder of their mean, in the run's folder
    recipe: str | None = None  # the task; None without one

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def record(self) -> Path:
        return self.folder / RECORD

    @property
    def way(self) -> str:
        """Returns the translated set and the decoding; "" for the recipe's of the test set."""
        return Decoding(self.decoding, self.split).way

    @property
    def suffix(self) -> str:
        """Returns the end of the names of this decoding's files."""
        return f"-{self.way}" if self.way else ""

    @property
    def score_log(self) -> Path:
        """Returns the log of dc-nmt score."""
        return self.folder / f"score{self.suffix}.log"

    def is_trained(self) -> bool:
        """Returns True if the training in this folder is finished."""
        stamp = read_stamp(self.folder / "training.stamp")
        return stamp is not None and stamp == read_stamp(self.folder / "settings.stamp")

    def evaluation(self) -> Iterator[Step]:
        """Yields the steps that average, translate and score."""

        def stamp() -> str:
            return digest([self._trained_stamp(), self.average, *self.decode])

        yield Step(
            f"{self.arch}: average the last {self.average} checkpoints",
            self.folder / self.averaged,
            lambda: digest([self._trained_stamp(), self.average]),
            self._average,
        )
        what = "the test set" if self.split == "test" else self.split
        yield Translation(
            f"{self.arch}: translate {what}",
            self.folder / f"generate{self.suffix}",
            stamp,
            self._translate,
            run=self,
        )
        yield Scoring(
            f"{self.arch}: score",
            self.folder,
            lambda: f"{stamp()}{self.score_stamp}",
            self._score,
            run=self,
        )

    def _trained_stamp(self) -> str:
        """Returns the stamp of the training; before its end, that of the existing checkpoints."""
        stamp = read_stamp(self.folder / "settings.stamp")
        if stamp is None:
            raise UserError(
                f"{self.folder}/settings.stamp is missing: dc-nmt train did not make this folder"
            )
        if not is_its_text(read_record(self.folder), self.binarised):
            raise UserError(
                f"{self.folder} was trained when {self.binarised} had other text: train anew with "
                "another --name, or prepare that text again"
            )
        if self.is_trained():
            return stamp
        return f"{stamp}-{digest(sorted(self.checkpoints.glob('*')))}"

    def _average(self, to: Path) -> list[Command]:
        which = [str(self.checkpoints), "--last", str(self.average), "--kind", "update"]
        if self.average == 0:
            which = [str(self.checkpoints / "checkpoint_best.pt")]
        elif self.is_trained():
            from ..checkpoints.names import UPDATE, numbered

            kept = numbered(self.checkpoints, UPDATE)
            if len(kept) < self.average:  # the training kept no more: its own --average was smaller
                paths = [path for _, path in kept]
                end = read_record(self.folder).settings.get("max-update")
                if not kept or kept[-1][0] != end:
                    paths.append(self.checkpoints / "checkpoint_last.pt")
                print(
                    f"{self.checkpoints}: {len(kept)} of {self.average} update checkpoints (the "
                    "training keeps no more than its own --average): the mean is of "
                    f"{', '.join(path.name for path in paths)}",
                    file=sys.stderr,
                )
                which = list(map(str, paths))
        return [Command(["dc-nmt", "average", *which, "--out", str(to / "checkpoint.pt")])]

    def _translate(self, to: Path) -> list[Command]:
        words = ["fairseq-generate", str(self.binarised), "--user-dir", PLUGIN]
        words += ["--task", self.task, "--source-lang", self.source, "--target-lang", self.target]
        words += ["--path", str(self.folder / self.averaged / "checkpoint.pt")]
        words += ["--gen-subset", self.subset]
        words += ["--results-path", str(to), *self.decode]
        return [Command(words, log=self.folder / f"generate{self.suffix}.log")]

    def _score(self, _: Path) -> list[Command]:
        translated = f"{self.folder}/generate{self.suffix}"
        words = ["dc-nmt", "score", f"{translated}/generate-{self.subset}.txt"]
        words += ["--generate-log", f"{translated}.log"]
        words += ["--source", str(self.raw / f"{self.split}.{self.source}")]
        words += ["--reference", str(self.raw / f"{self.split}.{self.target}")]
        words += ["--source-lang", self.source, "--target-lang", self.target, *self.score]
        words += ["--detokenized", f"{self.folder}/hypotheses{self.suffix}.{self.target}"]
        if self.decoding:
            words += ["--as", self.decoding]
        if self.split != "test":
            words += ["--subset", self.split]
        return [Command([*words, "--out", str(self.record)])]


@dataclass(frozen=True)
class Translation(Step):
    """Translation step: also enters the translation into the record of the run."""

    run: Experiment = field(kw_only=True)

    def is_done(self) -> bool:
        return super().is_done() and bool(read_record(self.run.folder).decoding(self.run.way))

    def make(self) -> None:
        """Translates; the record gets the settings, and loses the scores of a translation before.

        Raises:
            UserError: fairseq-generate failed
        """
        from ..checkpoints.loading import updates_of

        run, device = self.run, None  # a translation without its entry may have been made elsewhere
        if not super().is_done():
            super().make()
            # fairseq-generate takes one GPU
            device = used_device({**typed_flags(run.decode), "distributed-world-size": 1})
        checkpoint = run.folder / run.averaged / "checkpoint.pt"
        decoding = Decoding(
            run.decoding,
            run.split,
            typed_flags(run.decode),
            checkpoint=path_from(run.folder, checkpoint),
            updates=updates_of(str(checkpoint)),
            averaged=run.average,
            device=device,
        )
        record = read_record(run.folder)
        update_record(run.record, lambda known: with_decoding(known or record, decoding))


@dataclass(frozen=True)
class Scoring(Step):
    """Scoring step: fills the record of the run in place."""

    run: Experiment = field(kw_only=True)

    def is_done(self) -> bool:
        decoding = read_record(self.run.folder).decoding(self.run.way)
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
            decoding = record and record.decoding(self.run.way)
            assert record and decoding, "the translation entered it"
            return with_decoding(record, replace(decoding, stamp=stamp))

        update_record(self.run.record, stamped)


# -- training ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingStep(Step):
    """Training step: fills the folder of a run in place, and continues from checkpoints.

    ``settings.stamp`` says what a folder trains, and ``training.stamp`` that it is finished.
    """

    run: Experiment = field(kw_only=True)  # the trained run
    command: Sequence[str] = field(kw_only=True)  # the whole command
    updates: int = field(kw_only=True)  # number of training updates

    def check_flags(self) -> None:
        """
        Raises:
            UsageError: fairseq-train does not take these flags
        """
        from .. import registration  # noqa: F401
        from ..compat.fairseq_flags import TRAIN, parse_flags

        words = list(self.command)
        parse_flags(TRAIN, words[words.index(str(self.run.binarised)) :])

    def is_done(self) -> bool:
        return read_stamp(self.run.folder / "training.stamp") == self.stamp()

    def announcement(self) -> str:
        if (self.run.checkpoints / "checkpoint_last.pt").is_file():
            return f"{self.name}, from the last checkpoint on"
        return self.name

    def make(self) -> None:
        """Trains, or continues training.

        Raises:
            UserError: the folder has another training run, or the run stopped early
        """
        folder, stamp = self.run.folder, self.stamp()
        known = read_stamp(folder / "settings.stamp")
        # without checkpoints nothing can be lost; a finished run may have no checkpoints left
        begun = self.run.is_trained() or any(self.run.checkpoints.glob("checkpoint*.pt"))
        if begun and known not in (None, stamp):
            raise UserError(
                f"{folder} has a run with other data or settings (see its command.txt): "
                "use another folder, or remove that one"
            )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / COMMAND).write_text(f"{Command(self.command[:-2])}\n", "utf-8")
        write_stamp(folder / "settings.stamp", stamp)
        if not (self.run.checkpoints / "checkpoint_last.pt").is_file():
            (folder / LOG).unlink(missing_ok=True)
        if not self._train():
            raise UserError(
                f"training of {self.run.arch} stopped; its log is {folder / LOG}; "
                "the same command continues it"
            )
        write_stamp(folder / "training.stamp", stamp)

    def _train(self) -> bool:
        """Trains with the output in the log; returns True on success."""
        from ..evaluation.progress_line import ProgressLine

        line = ProgressLine(self.run.arch, self.updates)
        with (
            open(self.run.folder / LOG, "ab") as out,
            running(self.command, stdout=PIPE, stderr=STDOUT) as process,
        ):
            assert process.stdout is not None
            tail = line.follow(process.stdout, out)
            code = process.wait()
        if code:
            check_space(self.run.folder, "".join(tail), code)
            line.last_words(tail)
        return not code


def training_step(
    run: Experiment,
    updates: int,
    save_every: int,
    identity: Sequence[str],
    flags: Sequence[str],
) -> TrainingStep:
    """Returns the training step of a run.

    Args:
        run: the trained run
        updates, save_every: number of training updates, and between two checkpoints
        identity: flags that identify the run on any machine
        flags: of fairseq-train
    """
    fixed = ["--arch", run.arch, "--task", run.task, "--criterion", run.criterion]
    fixed += ["--source-lang", run.source, "--target-lang", run.target]
    fixed += ["--max-update", str(updates), "--save-interval-updates", str(save_every)]
    fixed += ["--keep-interval-updates", str(max(run.average, 1)), "--no-epoch-checkpoints"]
    fixed += ["--log-format", "json", "--log-interval", "1" if updates < 100 else "10"]
    command = ["fairseq-train", str(run.binarised), "--user-dir", PLUGIN, *fixed, *flags]
    command += ["--save-dir", str(run.checkpoints)]
    return TrainingStep(
        f"{run.arch}: train {updates} updates",
        run.folder,
        lambda: digest([read_stamp(run.binarised / ".stamp"), *fixed, *identity]),
        lambda _: [Command(command, log=run.folder / LOG)],
        run=run,
        command=command,
        updates=updates,
    )
