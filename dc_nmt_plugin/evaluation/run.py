"""A finished run of a recipe."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..flags import flag_value, given_flags, read_command
from ..papers.described_run import tokens_of
from .logs import read_decoder, read_search
from .results import Result, read_result
from .systems import decoding_of, run_folder

# flags that do not change the settings of a run: seed, folders, and settings of the machine; the
# tokens of an update are compared as a product
_NOT_SETTINGS = frozenset(
    f"--{name}"
    for name in (
        *("seed", "save-dir", "user-dir", "tensorboard-logdir", "wandb-project"),
        *("max-tokens", "max-tokens-valid", "update-freq", "num-workers", "ddp-backend", "cpu"),
        *("distributed-world-size", "fp16", "bf16", "amp", "memory-efficient-fp16"),
        *("log-format", "log-interval", "log-file", "no-progress-bar"),
    )
)
_OPEN_END = {"--patience", "--max-epoch", "--stop-time-hours", "--stop-min-lr"}
TOKENS = "tokens an update"  # max-tokens of all processes and of all their batches
KEPT = "runs"  # below examples/TASK: runs that dc-nmt results --keep made small


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        path: its ``result.json``
        result: what that holds
        command: words of its ``fairseq-train`` command, none where unknown
    """

    path: Path
    result: Result
    command: list[str]

    @classmethod
    def read(cls, path: Path) -> Run:
        """Raises UserError where `path` is no result."""
        return cls(path, read_result(path), read_command(run_folder(path)))

    @property
    def folder(self) -> Path:
        return run_folder(self.path).resolve()

    @property
    def arch(self) -> str | None:
        return self.result.arch or flag_value(self.command, "--arch")

    def settings(self) -> dict[str, str]:
        """Returns the flags of the training run that are the same for every seed: flag → value.

        Includes the tokens of an update, and the updates unless training stops early.
        """
        words = self.command
        found = given_flags(words[words.index("--user-dir") if "--user-dir" in words else 0 :])
        if not found.keys() & _OPEN_END:
            found["updates"] = f"{self.result.updates or 'unknown'}"
        if (tokens := tokens_of(words)) is not None:
            found[TOKENS] = f"{tokens:,}"
        return {name: value for name, value in found.items() if name not in _NOT_SETTINGS}

    @property
    def task(self) -> str:
        """Returns the task: the name of the folder above the run; kept runs store it."""
        parent = self.folder.parent
        if self.result.task:
            return self.result.task
        return parent.parent.name if parent.name == KEPT else parent.name

    @property
    def decoding(self) -> str:
        """Returns the name of ``dc-nmt evaluate --as``; "" for the recipe's default decoding."""
        return decoding_of(self.path)

    @property
    def generate_log(self) -> Path:
        """Returns the path of the log of the scored translation."""
        return self.folder / f"generate{f'-{self.decoding}' if self.decoding else ''}.log"

    @property
    def subset(self) -> str:
        """Returns the translated set: test, valid, or a further test set."""
        found = read_search(self.generate_log).get("gen_subset", "test")
        return self.decoding.partition(".")[0] if re.fullmatch(r"test\d+", found) else found

    @property
    def decode_with(self) -> str | None:
        log = self.folder / "generate.log"
        if self.result.texts is None and log.is_file():  # results of the first recipes
            return read_decoder(log)
        return self.result.decode_with
