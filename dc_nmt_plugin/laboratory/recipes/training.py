"""One training run: its folder, its batches, and the stage that runs fairseq-train in it.

fairseq-train writes the record of the run (compat/run_record.py). The record decides whether a
training is done, and whether a folder has another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError, counted
from ...files import load_json
from ...steps import Line, Step, Variable, with_seed

if TYPE_CHECKING:
    from ...runs.record import Flags
    from .settings import TaskSettings

PLUGIN = Variable(
    "USER_DIR",
    str(Path(__file__).parents[2]),
    '$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")',
)
LENGTHS = "lengths.json"  # beside the text after BPE: SPLIT.LANG → tokens of the longest sentence
FINISHED = "done training in"  # in the last lines of fairseq-train's log
# kinds of flags that may differ when a training goes on
WHILE_TRAINING = ("machine", "log", "batch", "checkpoints")


@dataclass(frozen=True)
class PreparedText:
    """The text that ``dc-nmt prepare`` makes for a run, in one direction."""

    source: str  # languages
    target: str
    data: Path  # folder
    segmentation: str  # end of the names of its folders; "" for the default

    @property
    def raw(self) -> Path:
        """Returns the folder of the untokenised text."""
        return self.data / "raw"

    @property
    def pieces(self) -> Path:
        """Returns the folder of the text after BPE."""
        return self.data / f"bpe{self.segmentation}"

    @property
    def binarised(self) -> Path:
        """Returns the folder that fairseq reads."""
        return self.data / f"bin{self.segmentation}"


@dataclass(frozen=True)
class PlannedRun:
    """A training run in its own folder."""

    arch: str  # value of --arch
    fairseq_task: str  # value of --task
    criterion: str
    text: PreparedText
    folder: Path

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    def variable(self, seed: int) -> Variable:
        """Returns RUN, the folder of the run; in a script, in $OUT and with the script's seed."""
        return Variable("RUN", str(self.folder), f"$OUT/{with_seed(self.folder.name, seed)}")

    def is_trained(self) -> bool:
        """Returns True if the training in this folder is finished."""
        from ...runs.record import record_of

        record = record_of(self.folder)
        if record is None:
            return False
        # the record counts an update before its checkpoint is saved, and the disk may be full then
        if (self.folder / "train.log").is_file():
            return self._program_ended()
        last_update = record.settings.get("max-update")
        updates = record.training.updates
        return updates is not None and isinstance(last_update, int) and updates >= last_update

    def _program_ended(self) -> bool:
        """Returns True if fairseq-train came to its end, also before, as with --patience."""
        with open(self.folder / "train.log", encoding="utf-8", errors="replace") as lines:
            return any(FINISHED in line for line in deque(lines, maxlen=20))


@dataclass(frozen=True)
class UpdateTokens:
    """Distribution of an update's tokens over processes."""

    processes: int
    max_tokens: int  # of one process at a time
    update_freq: int  # number of batches whose gradients each process sums
    of_recipe: int  # tokens of an update in the recipe

    @property
    def tokens(self) -> int:
        """Returns the tokens of one update."""
        return self.processes * self.max_tokens * self.update_freq

    def __str__(self) -> str:
        text = (
            f"{self.tokens:,} tokens per update = {self.processes} x {self.max_tokens:,} "
            f"(--max-tokens) x {self.update_freq} (--update-freq)"
        )
        if abs(self.tokens - self.of_recipe) > 0.01 * self.of_recipe:
            return f"{text}; not the recipe's {self.of_recipe:,}"
        return text

    def check(self, longest: int) -> None:
        """Raises UsageError if a process would get fewer tokens than the longest sentence has."""
        if self.max_tokens < max(1, longest):
            raise UsageError(
                f"--gpus, --max-tokens: a process would get {counted(self.max_tokens, 'token')} at "
                f"a time, and the longest sentence has {longest}: use fewer GPUs, or a greater "
                "--max-tokens"
            )


def share_out(tokens: int, processes: int, max_tokens: int) -> UpdateTokens:
    """Distributes an update's `tokens`, at most `max_tokens` a process at a time."""
    update_freq = -(-tokens // (processes * max_tokens))
    return UpdateTokens(processes, round(tokens / (processes * update_freq)), update_freq, tokens)


def longest_sentence(folder: Path, split: str) -> int:
    """Returns the tokens of a split's longest sentence with its end; 0 before it is prepared."""
    if not (folder / LENGTHS).is_file():
        return 0
    lengths = load_json(folder / LENGTHS)
    return max((n + 1 for name, n in lengths.items() if name.startswith(split)), default=0)


def training_line(run: PlannedRun, settings: TaskSettings, flags: Sequence[str]) -> Line:
    """Returns the command line of a run's training.

    Args:
        run: the run
        settings: with the numbers of updates and checkpoints
        flags: further flags of fairseq-train, words of a plan's line
    """
    text, every, kept = run.text, settings.save_every, max(settings.average, 1)
    words = ["fairseq-train", f"$DATA/bin{text.segmentation}", "--user-dir", "$USER_DIR"]
    words += ["--arch", run.arch, "--task", run.fairseq_task, "--criterion", run.criterion]
    words += ["--source-lang", text.source, "--target-lang", text.target]
    words += ["--max-update", str(settings.updates), "--save-interval-updates", str(every)]
    words += ["--keep-interval-updates", str(kept), "--no-epoch-checkpoints"]
    words += ["--log-format", "json", "--log-interval", "1" if settings.updates < 100 else "10"]
    return Line((*words, *flags, "--save-dir", "$RUN/checkpoints"))


def training_step(
    run: PlannedRun,
    line: Line,
    updates: int,
    settings: Flags,
    tokens: int,
    *,
    any_precision: bool,
) -> Step:
    """Returns the step that trains, or continues a training.

    Args:
        run: the run
        line: of :func:`training_line`
        updates: number of training updates
        settings: what the record of the run will have as its settings
        tokens: of one update
        any_precision: the user chose none, so one of either precision is this training
    """
    return Step(
        f"{run.arch}: train {counted(updates, 'update')}",
        "$RUN",
        [line],
        log="$RUN/train.log",
        is_done=lambda: is_trained_so(run, settings, tokens, any_precision=any_precision),
        in_place=True,
        updates=updates,
    )


def is_trained_so(run: PlannedRun, settings: Flags, tokens: int, *, any_precision: bool) -> bool:
    """Returns True if a training with these settings is finished in the folder of the run.

    Raises:
        UserError: the folder has another training
    """
    from ...runs.differences import all_settings, differing, shown
    from ...runs.finding import is_its_text
    from ...runs.record import record_of

    record = record_of(run.folder)
    trained = run.is_trained()
    # without checkpoints nothing can be lost; a finished run may have no checkpoints left
    if record is None or not (trained or any(run.checkpoints.glob("checkpoint*.pt"))):
        return False
    before = identity(all_settings(record), record.training.tokens, any_precision=any_precision)
    now = identity(settings, tokens, any_precision=any_precision)
    other = [
        f"{setting.name} {shown(setting.value)} there, {shown(setting.other_value)} now"
        for setting in differing(before, now)
    ]
    if not is_its_text(record, run.text.binarised):
        other.append(f"other text in {run.text.binarised}")
    if other:
        raise UserError(
            f"{run.folder} has a run with other data or settings ({'; '.join(other)}): "
            "give another --name, or remove that folder"
        )
    return trained


def identity(settings: Flags, tokens: int | None, *, any_precision: bool) -> dict[str, Any]:
    """Returns the settings that make a training another one, but for its text.

    Args:
        settings: as in its record
        tokens: of one update; None: unknown
        any_precision: a CPU multiplies in the precision in which it is faster
    """
    from ...runs.differences import TOKENS, compared

    chosen = compared(settings, WHILE_TRAINING)
    if any_precision:
        chosen.pop("amp", None)
    return {**chosen, TOKENS: tokens}
