"""Steps of one model: training, averaging, translation, scoring."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT

from ..checkpoints.names import UPDATE, numbered
from ..errors import UserError
from ..evaluation.progress_line import ProgressLine
from ..flags import COMMAND, read_command, whole_number
from ..pipeline import Command, Step, check_space, running
from ..stamps import DATA, digest, may_be_its_text, read_stamp, write_stamp

PLUGIN = Path(__file__).parents[1]
LAST_WORDS = 20  # lines of the training log that are shown when a run stops early


@dataclass(frozen=True)
class Experiment:
    """One model in its own folder.

    Attributes:
        arch, task, criterion: fairseq's
        source, target: languages
        raw: folder of the untokenised text
        binarised: folder that fairseq reads
        folder: of the run
        average: number of averaged last checkpoints; 0: only the best one
        averaged: folder of their mean, in the run's folder
        decode: flags of fairseq-generate
        score: flags of dc-nmt score
        score_stamp: of the inputs of a score other than the translation
        split: translated set: ``test``, ``valid`` or a further test set
        subset: fairseq's name of the set
        decoding: suffix of the output folders, such as ``-aux1``, for several decodings of one run
    """

    arch: str
    task: str
    criterion: str
    source: str
    target: str
    raw: Path
    binarised: Path
    folder: Path
    average: int
    decode: tuple[str, ...]
    score: tuple[str, ...]
    score_stamp: str
    decoding: str = ""
    split: str = "test"
    subset: str = "test"
    averaged: str = "average"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def result(self) -> Path:
        """Returns the result file of the evaluation."""
        return self.folder / f"score{self.decoding}" / "result.json"

    @property
    def score_log(self) -> Path:
        """Returns the log of dc-nmt score."""
        return self.folder / f"score{self.decoding}.log"

    def is_trained(self) -> bool:
        """Returns True if the training in this folder is finished."""
        stamp = read_stamp(self.folder / "training.stamp")
        return stamp is not None and stamp == read_stamp(self.folder / "settings.stamp")

    def evaluation(self) -> Iterator[Step]:
        """Yields the steps that average, translate and score."""
        translated = self.folder / f"generate{self.decoding}"

        def stamp() -> str:
            return digest([self._trained_stamp(), self.average, *self.decode])

        yield Step(
            f"{self.arch}: average the last {self.average} checkpoints",
            self.folder / self.averaged,
            lambda: digest([self._trained_stamp(), self.average]),
            self._average,
        )
        what = "the test set" if self.split == "test" else self.split
        yield Step(f"{self.arch}: translate {what}", translated, stamp, self._translate)
        yield Step(
            f"{self.arch}: score",
            self.result.parent,
            lambda: f"{stamp()}{self.score_stamp}",
            self._score,
        )

    def _trained_stamp(self) -> str:
        """Returns the stamp of the training; before its end, that of the existing checkpoints."""
        stamp = read_stamp(self.folder / "settings.stamp")
        if stamp is None:
            raise UserError(
                f"{self.folder}/settings.stamp is missing: dc-nmt train did not make this folder"
            )
        if not may_be_its_text(self.folder, self.binarised):
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
            named = numbered(self.checkpoints, UPDATE)
            if len(named) < self.average:
                paths = [path for _, path in named]
                end = whole_number(read_command(self.folder), "--max-update")
                if not named or named[-1][0] != end:
                    paths.append(self.checkpoints / "checkpoint_last.pt")
                print(
                    f"{self.checkpoints}: {len(named)} of {self.average} update checkpoints (the "
                    "training keeps no more than its own --average): the mean is of "
                    f"{', '.join(path.name for path in paths)}",
                    file=sys.stderr,
                )
                which = list(map(str, paths))
        return [Command(["dc-nmt", "average", *which, "--out", str(to / "checkpoint.pt")])]

    def _translate(self, to: Path) -> list[Command]:
        words = ["fairseq-generate", str(self.binarised), "--user-dir", str(PLUGIN)]
        words += ["--task", self.task, "--source-lang", self.source, "--target-lang", self.target]
        words += ["--path", str(self.folder / self.averaged / "checkpoint.pt")]
        words += ["--gen-subset", self.subset]
        return [Command([*words, "--results-path", str(to), *self.decode])]

    def _score(self, to: Path) -> list[Command]:
        translated = f"{self.folder}/generate{self.decoding}"
        words = ["dc-nmt", "score", f"{translated}/generate-{self.subset}.txt"]
        words += ["--name", self.arch, "--generate-log", f"{translated}.log"]
        words += ["--source", str(self.raw / f"{self.split}.{self.source}")]
        words += ["--reference", str(self.raw / f"{self.split}.{self.target}")]
        words += ["--source-lang", self.source, "--target-lang", self.target, *self.score]
        words += ["--train-log", str(self.folder / "train.log")]
        words += ["--detokenized", f"{self.folder}/hypotheses{self.decoding}.{self.target}"]
        return [Command([*words, "--out", str(to / "result.json")])]


@dataclass(frozen=True)
class TrainingStep(Step):
    """Training step: fills the folder of a run in place, and continues from checkpoints.

    Attributes:
        run: the trained run
        command: the whole command
        updates: number of training updates
    """

    run: Experiment = field(kw_only=True)
    command: Sequence[str] = field(kw_only=True)
    updates: int = field(kw_only=True)

    def check_flags(self) -> None:
        """
        Raises:
            UsageError: fairseq-train does not take these flags
        """
        from .. import registration  # noqa: F401
        from ..gate.fairseq_flags import TRAIN, check_flags

        words = list(self.command)
        check_flags(TRAIN, words[words.index(str(self.run.binarised)) :])

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
        # otherwise nothing can be lost; a finished run may have no checkpoints left
        begun = self.run.is_trained() or any(self.run.checkpoints.glob("checkpoint*.pt"))
        if begun and read_stamp(folder / "settings.stamp") not in (None, stamp):
            raise UserError(
                f"{folder} has a run with other data or settings (see its command.txt): "
                "use another folder, or remove that one"
            )
        (folder / COMMAND).write_text(f"{Command(self.command[:-2])}\n", "utf-8")
        write_stamp(folder / "settings.stamp", stamp)
        write_stamp(folder / DATA, read_stamp(self.run.binarised / ".stamp") or "")
        log = folder / "train.log"
        if not (self.run.checkpoints / "checkpoint_last.pt").is_file():
            log.unlink(missing_ok=True)
        if not self._train(log):
            raise UserError(
                f"training of {self.run.arch} stopped; its log is {log}; "
                "the same command continues it"
            )
        write_stamp(folder / "training.stamp", stamp)

    def _train(self, log: Path) -> bool:
        """Trains with the output in the log; returns True on success."""
        line = ProgressLine(self.run.arch, self.updates)
        tail: deque[str] = deque(maxlen=LAST_WORDS)
        with open(log, "ab") as out, running(self.command, stdout=PIPE, stderr=STDOUT) as process:
            assert process.stdout is not None
            for raw in process.stdout:
                out.write(raw)
                out.flush()
                text = raw.decode("utf-8", errors="replace")
                tail.append(text)
                line.feed(text)
            code = process.wait()
        line.close()
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
    launcher: Sequence[str],
) -> TrainingStep:
    """Returns the training step of a run.

    Args:
        run: the trained run
        updates, save_every: number of training updates, and between two checkpoints
        identity: flags that identify the run on any machine
        flags: of fairseq-train
        launcher: words before the folder of data
    """
    fixed = ["--arch", run.arch, "--task", run.task, "--criterion", run.criterion]
    fixed += ["--source-lang", run.source, "--target-lang", run.target]
    fixed += ["--max-update", str(updates), "--save-interval-updates", str(save_every)]
    fixed += ["--keep-interval-updates", str(max(run.average, 1)), "--no-epoch-checkpoints"]
    fixed += ["--log-format", "json", "--log-interval", "1" if updates < 100 else "10"]
    command = [*launcher, str(run.binarised), "--user-dir", str(PLUGIN), *fixed, *flags]
    command += ["--save-dir", str(run.checkpoints)]
    return TrainingStep(
        f"{run.arch}: train {updates} updates",
        run.folder,
        lambda: digest([read_stamp(run.binarised / ".stamp"), *fixed, *identity]),
        lambda _: [Command(command)],
        run=run,
        command=command,
        updates=updates,
    )
