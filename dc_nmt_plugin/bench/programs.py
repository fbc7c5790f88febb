"""Runs programs as users do, and reads the rates that they print."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError

USER_DIR = Path(__file__).resolve().parents[1]
ENGINE = Path(__file__).with_name("ctranslate2_program.py")
# Plain fairseq: torch does not call this plugin.
PLAIN = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
_INTERVAL = re.compile(r"\| train_inner \| (\{.*\})")
_TRANSLATED = re.compile(r"Translated ([\d,]+) sentences .* \(([\d.]+) sentences/s")
_HYPOTHESIS = re.compile(r"^H-(\d+)\t[^\t]*\t(.*)$", re.MULTILINE)
_SHOWN = 5  # lines of a program that failed


@dataclass(frozen=True)
class Program:
    """A command line.

    Attributes:
        words: the program and its arguments
        plain: whether fairseq runs without this plugin
        output: a folder that it writes; what an earlier run left there is deleted first
    """

    words: tuple[str, ...]
    plain: bool = False
    output: Path | None = None

    def __str__(self) -> str:
        variables = [f"{name}={value}" for name, value in PLAIN.items()] if self.plain else []
        return shlex.join([*variables, *self.words])


@dataclass(frozen=True)
class Finished:
    """Holds what a program printed and used.

    Attributes:
        output: standard output and errors
        wall: seconds from start to end
        cpu: seconds of CPU time
    """

    output: str
    wall: float
    cpu: float

    @property
    def words_per_second(self) -> float:
        """Returns the rate that ``fairseq-train`` logged: the median of its intervals.

        The first interval is left out where there are more, because it warms up.
        """
        rows = [json.loads(text) for text in _INTERVAL.findall(self.output)]
        return statistics.median(float(row["wps"]) for row in rows[1:] or rows)

    @property
    def sentences_per_second(self) -> float:
        """Returns the rate that ``fairseq-generate`` printed: of decoding alone."""
        found = _TRANSLATED.findall(self.output)
        return float(found[-1][1])

    @property
    def hypotheses(self) -> dict[int, str]:
        """Returns number of a sentence → its best hypothesis."""
        return {int(number): text for number, text in _HYPOTHESIS.findall(self.output)}


def fairseq(
    program: str, *words: object, plain: bool = False, output: Path | None = None
) -> Program:
    """Returns a program of fairseq.

    Args:
        program: ``train`` or ``generate``
        words: its flags
        plain: without this plugin
        output: see :class:`Program`
    """
    module = f"fairseq_cli.{program}"
    return Program((sys.executable, "-m", module, *map(str, words)), plain, output)


def run(program: Program, threads: int) -> Finished:
    """Runs a program to its end.

    Args:
        program: what to run
        threads: of the CPU

    Raises:
        UserError: the program failed; with its last lines
    """
    if program.output is not None:
        shutil.rmtree(program.output, ignore_errors=True)
    environment = {**os.environ, **(PLAIN if program.plain else {})}
    environment |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            program.words, env=environment, stdout=output, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        last = "\n".join(text.strip().splitlines()[-_SHOWN:])
        raise UserError(f"{program}\nended with status {process.returncode}:\n{last}")
    return Finished(text, wall, used.ru_utime + used.ru_stime)


def engine(
    model: Path, text: Path, *, beam: int, tokens: int, longest: int, shortest: int, threads: int
) -> Program:
    """Returns the program that translates a file with CTranslate2.

    Args:
        model: folder made by ``dc-nmt export --ctranslate2``
        text: pieces after BPE, one sentence a line
        beam: hypotheses a sentence
        tokens: of a batch
        longest, shortest: tokens of a hypothesis
        threads: of the CPU
    """
    numbers: Sequence[int] = (beam, tokens, longest, shortest, threads)
    return Program((sys.executable, str(ENGINE), str(model), str(text), *map(str, numbers)))
