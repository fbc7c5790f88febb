"""Plans training and evaluation from a task, an architecture and options.

fairseq-train writes the record of the run (tasks/run_record.py).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import PIPE, STDOUT

from .. import machine
from ..errors import UsageError, UserError
from ..files import check_space, load_json
from ..flags import flag_value, replaced
from ..steps import Command, ShellWord, Step, read_stamp, running, stamp_of, write_stamp
from .recipe import Recipe, load
from .settings import RunSettings, for_sample, settings_of, with_updates

PRECISIONS = {"--amp", "--bf16", "--fp16", "--memory-efficient-bf16", "--memory-efficient-fp16"}
LENGTHS = "lengths.json"  # beside the text after BPE: SPLIT.LANG → tokens of the longest sentence
PLUGIN = ShellWord(Path(__file__).parents[1], '"$USER_DIR"')
COMMAND = "command.txt"  # in a run's folder, for people: its fairseq-train command
LOG = "train.log"


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
    decoding: str = ""  # name of this decoding, such as aux1, if the run is decoded in several ways
    split: str = "test"  # translated set: test, valid or a further test set
    subset: str = "test"  # fairseq's name of the set
    averaged: str = "average"  # folder of their mean, in the run's folder

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def record(self) -> Path:
        return self.folder / "run.json"

    @property
    def key(self) -> str:
        """Returns the translated set and the decoding; "" for the recipe's of the test set."""
        subset = "" if self.split == "test" else self.split
        return ".".join(filter(None, (subset, self.decoding)))

    @property
    def suffix(self) -> str:
        """Returns the end of the names of this decoding's files."""
        return f"-{self.key}" if self.key else ""

    @property
    def score_log(self) -> Path:
        """Returns the log of dc-nmt score."""
        return self.folder / f"score{self.suffix}.log"

    def is_trained(self) -> bool:
        """Returns True if the training in this folder is finished."""
        stamp = read_stamp(self.folder / "training.stamp")
        return stamp is not None and stamp == read_stamp(self.folder / "settings.stamp")


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
        if not begun:
            (folder / LOG).unlink(missing_ok=True)
        if not self._train():
            raise UserError(
                f"training of {self.run.arch} stopped; its log is {folder / LOG}; "
                "the same command continues it"
            )
        write_stamp(folder / "training.stamp", stamp)

    def _train(self) -> bool:
        """Trains with the output in the log; returns True on success."""
        from ..evaluation.logs import follow_training

        with (
            open(self.run.folder / LOG, "ab") as out,
            running(self.command, stdout=PIPE, stderr=STDOUT) as process,
        ):
            assert process.stdout is not None
            tail = follow_training(process.stdout, out, self.run.arch, self.updates)
            code = process.wait()
        if code:
            check_space(self.run.folder, "".join(tail))
            print("\nTraining stopped early. The last lines of its log:", file=sys.stderr)
            sys.stderr.writelines(tail)
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
        lambda: stamp_of([read_stamp(run.binarised / ".stamp"), *fixed, *identity]),
        lambda _: [Command(command, log=run.folder / LOG)],
        run=run,
        command=command,
        updates=updates,
    )


# -- plans -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainPlan:
    """A planned training run."""

    recipe: Recipe  # of the run
    settings: RunSettings
    training: TrainingStep  # the step
    # sentences about the distribution of an update's tokens, and a shorter warm-up
    notes: tuple[str, ...]
    variables: dict[str, str]  # of a script, which knows the number of GPUs when it runs


def plan_training(options: RunOptions, train: TrainOptions) -> TrainPlan:
    """Plans ``dc-nmt train``.

    Raises:
        UserError: an unknown task or architecture, options that contradict each other
    """
    recipe = load(options.task)
    settings = _settings(recipe, options)
    run = _experiment(recipe, options, settings)
    # flags of the user and of the task's size come after the recipe's, so that they win
    own = (*settings.size_flags, *train.flags)
    notes = []
    if train.max_update is not None:
        warmup = flag_value(own, "--warmup-updates")
        published = flag_value(settings.flags, "--warmup-updates")
        settings = with_updates(settings, train.max_update, warmup)
        shorter = flag_value(settings.flags, "--warmup-updates")
        if warmup is None and shorter != published:
            notes.append(
                f"--warmup-updates {shorter}, not the recipe's {published}: --max-update is short"
            )
    segmentation = recipe.task.bpe[settings.bpe]
    pieces = _data(recipe, options) / f"bpe{segmentation.suffix}"
    lengths = longest_pieces(pieces)
    gpus = visible_gpus() if train.gpus is None else train.gpus
    workers = max(1, gpus)  # processes
    fits = train.max_tokens or settings.max_tokens
    batch = Batch(workers, fits, train.update_freq or 1)
    if not train.update_freq:
        longest = _longest(lengths, "train")
        batch = share_out(settings.tokens, workers, fits, longest)
    notes.insert(0, batch.describe(settings.tokens))

    recipe_flags = settings.flags
    if "--max-tokens" not in recipe_flags:  # otherwise it stays in its place, as in earlier runs
        recipe_flags = (*recipe_flags, "--max-tokens", str(settings.tokens))
    # settings that depend on the number of GPUs do not identify a run
    identity = (*recipe_flags, "--seed", ShellWord(options.seed, '"$SEED"'), *own)
    variables, max_tokens, update_freq = {}, str(batch.max_tokens), str(batch.update_freq)
    if not train.update_freq:
        each = f"PROCESSES * {fits}"
        variables["UPDATE_FREQ"] = f"$((({settings.tokens} + {each} - 1) / ({each})))"
        variables["MAX_TOKENS"] = f"$(({settings.tokens} / (PROCESSES * UPDATE_FREQ)))"
        max_tokens = ShellWord(max_tokens, '"$MAX_TOKENS" --update-freq "$UPDATE_FREQ"')
        update_freq = ShellWord(update_freq, "")
    flags = [*replaced(identity, "--max-tokens", max_tokens)]
    if train.update_freq and batch.tokens != settings.tokens:
        identity = (*identity, f"tokens={batch.tokens}")  # differs from the recipe's training
    if batch.update_freq > 1:
        name = "--update-freq"
        flags += [name if train.update_freq else ShellWord(name, ""), update_freq]
    # fairseq uses all GPUs, and with --cpu starts a process for each
    flags += [] if gpus else [ShellWord("--cpu", "")]
    chosen = train.fp32 or not PRECISIONS.isdisjoint(own)
    if not gpus and not chosen and machine.multiplies_bfloat16():
        flags += [ShellWord("--amp", "")]
        notes.append("linear layers multiply in bfloat16 on this CPU; --fp32: in float32")
    flags += ["--distributed-world-size", ShellWord(workers, '"$PROCESSES" $CPU')]
    if _longest(lengths, "valid") > batch.max_tokens:
        flags += ["--max-tokens-valid", str(_longest(lengths, "valid"))]
    step = training_step(run, settings.updates, settings.save_every, identity, flags)
    return TrainPlan(recipe, settings, step, tuple(notes), variables)


def plan_run(options: RunOptions) -> Experiment:
    """Returns the run that its training and its evaluation share.

    Raises:
        UserError: an unknown task or architecture
    """
    recipe = load(options.task)
    return _experiment(recipe, options, _settings(recipe, options))


def _settings(recipe: Recipe, options: RunOptions) -> RunSettings:
    settings = settings_of(recipe, options.arch, options.size, options.like)
    if options.sample:
        settings = for_sample(settings)
    if options.average is not None:
        settings = replace(settings, average=options.average)
    return settings


def _data(recipe: Recipe, options: RunOptions) -> Path:
    """Returns the folder of the prepared text, which both directions of a task share."""
    return recipe.place(recipe.folder, options.out, options.sample) / "data"


def _experiment(recipe: Recipe, options: RunOptions, settings: RunSettings) -> Experiment:
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
    name = options.name
    if name is None:
        like = options.like or ""
        if like == settings_of(recipe, options.arch, options.size).name:
            like = ""  # the settings in use anyway
        like = re.sub(r"[^\w.-]+", "_", like)
        parts = (settings.arch, settings.size, like, f"s{options.seed}")
        name = "-".join(part for part in parts if part)
    data = _data(recipe, options)
    segmentation = recipe.task.bpe[settings.bpe]
    # the mean of the run's own decoding stays unchanged
    other = options.average is not None and (options.decoding or options.subset != "test")
    return Experiment(
        settings.arch,
        settings.task,
        settings.criterion,
        recipe.source,
        recipe.target,
        raw=data / "raw",
        binarised=data / f"bin{segmentation.suffix}",
        folder=recipe.place(recipe.name, options.out, options.sample) / name,
        average=settings.average,
        decode=settings.decode,
        score=_score_flags(recipe, settings, data, options.subset),
        decoding=options.decoding,
        split=options.subset,
        subset=recipe.subset(options.subset),
        averaged=f"average-{options.average}" if other else "average",
    )


def _score_flags(recipe: Recipe, settings: RunSettings, data: Path, split: str) -> tuple[str, ...]:
    text = recipe.task.text
    flags = ["--tokenizer", text.scored_as]
    flags += ["--tokenized-reference", str(data / f"raw/tokenised/{split}.{recipe.target}")]
    if text.casing == "truecase":
        flags += ["--truecased"]
    if settings.metrics:
        flags += ["--metrics", settings.metrics]
    return (*flags, "--main" if recipe.own else "--paper", settings.paper)


# -- lengths of sentences ----------------------------------------------------------------------


def longest_pieces(folder: Path) -> dict[str, int]:
    """Returns the stored tokens of the longest sentences; empty before the first preparation."""
    return dict(load_json(folder / LENGTHS)) if (folder / LENGTHS).is_file() else {}


def _longest(lengths: dict[str, int], split: str) -> int:
    """Returns the tokens of a split's longest sentence, with the end token; 0 if unknown."""
    return max((n + 1 for name, n in lengths.items() if name.startswith(split)), default=0)


# -- GPUs --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Distribution of an update's tokens over processes."""

    workers: int  # number of processes
    max_tokens: int  # of one process at a time
    update_freq: int  # number of batches whose gradients each process sums

    @property
    def tokens(self) -> int:
        """Returns the tokens of one update."""
        return self.workers * self.max_tokens * self.update_freq

    def describe(self, published: int) -> str:
        """Returns a sentence for the user."""
        text = (
            f"{self.tokens:,} tokens per update = {self.workers} x {self.max_tokens:,} "
            f"(--max-tokens) x {self.update_freq} (--update-freq)"
        )
        if abs(self.tokens - published) > 0.01 * published:
            return f"{text}; not the recipe's {published:,}"
        return text


def share_out(tokens: int, workers: int, max_tokens: int, longest: int = 0) -> Batch:
    """Distributes an update's ``tokens`` over ``workers``, each ``max_tokens`` at most at a time.

    Raises:
        UserError: a process would get fewer tokens than the longest sentence has
    """
    update_freq = -(-tokens // (workers * max_tokens))
    batch = Batch(workers, round(tokens / (workers * update_freq)), update_freq)
    if batch.max_tokens >= max(1, longest):
        return batch
    if max_tokens < longest:
        raise UsageError(
            f"--max-tokens {max_tokens}: the longest sentence has {longest} tokens and has to "
            "fit into a batch"
        )
    raise UsageError(
        f"--gpus: {workers} processes would each get {batch.max_tokens} of an update's "
        f"{tokens:,} tokens, and the longest sentence has {longest}: use fewer"
    )


def visible_gpus() -> int:
    """Returns the number of GPUs of this machine that torch may use."""
    import torch

    return torch.cuda.device_count()
