"""Prints the steps of a recipe as a shell script that a person can read, change and run."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path

from ..steps import Command, Pipeline, ShellWord, Step

WIDTH = 96
USER_DIR = 'USER_DIR=$(python -c "import dc_nmt_plugin as plugin; print(plugin.__path__[0])")'
# torch, not nvidia-smi: it heeds CUDA_VISIBLE_DEVICES, which Slurm sets
GPUS = '$(python -c "import torch; print(torch.cuda.device_count())")'
CPU = "from dc_nmt_plugin import machine; print('--cpu', "
CPU += "'--amp' if machine.multiplies_bfloat16() else '')"


class Script(Pipeline):
    """Prints what a :class:`Pipeline` would do.

    Args:
        printed_by: the command that prints the script
    """

    dry_run = True

    def __init__(self, printed_by: Sequence[str]) -> None:
        super().__init__()
        self._printed_by = shlex.join(printed_by)
        self._seed: int | None = None
        self._variables: dict[str, str] = {}  # beginning of a path → variable that holds it
        self._folders: set[Path] = set()  # that the script makes

    def begin_script(
        self,
        data: Path,
        out: Path | None = None,
        seed: int | None = None,
        gpus: int | None = None,
        fp32: bool = False,
    ) -> None:
        """Prints the head with the variables, once: those of the text, and of runs in `out`."""
        if self._variables:
            return
        self._variables = {f"{data}/": "DATA"}
        lines = ["#!/usr/bin/env bash", f"# Made by: {self._printed_by}"]
        lines.append("# Run it with the environment's programs on PATH, such as: SEED=2 bash FILE")
        # $CPU is several words, or none
        lines += ["# shellcheck disable=SC2046,SC2086", "set -euo pipefail"]
        lines.append(f"DATA=${{DATA:-{shlex.quote(str(data))}}} # the prepared text")
        if out is not None:
            self._seed = seed
            self._variables[f"{out}/"] = "OUT"
            lines.append(f"OUT=${{OUT:-{shlex.quote(str(out))}}} # the runs")
            lines.append(f"SEED=${{SEED:-{seed}}}")
            lines.append(f"GPUS=${{GPUS:-{GPUS if gpus is None else gpus}}} # 0: the CPU")
            lines.append("PROCESSES=$((GPUS > 0 ? GPUS : 1))")
            cpu = "echo --cpu" if fp32 else f'python -c "{CPU}"'
            lines.append(f'CPU=$([ "$GPUS" -gt 0 ] || {cpu})')
            lines.append('[ "$GPUS" -gt 0 ] || export CUDA_VISIBLE_DEVICES=')
            lines.append(USER_DIR)
        print(*lines, sep="\n")

    def begin_run(self, run: Path, **variables: str) -> None:
        """Prints RUN and further variables of the steps that follow."""
        if f"{run}/" in self._variables:
            return
        name = run.name.removesuffix(f"-s{self._seed}")
        text = f"$OUT/{name}" + ("-s$SEED" if name != run.name else "")
        others = {path: name for path, name in self._variables.items() if name != "RUN"}
        self._variables = {f"{run}/": "RUN", **others}
        print(f"\nRUN={text}")
        for name, value in variables.items():
            print(f"{name}={value}")

    def note(self, text: str) -> None:
        for line in text.splitlines():
            print(
                *textwrap.wrap(line, WIDTH, initial_indent="# ", subsequent_indent="# "), sep="\n"
            )

    say = note

    def run(self, folder: Path, *steps: Step) -> None:
        for step in steps:
            print(f"\n# {step.name}")
            done = self._word(f"{step.folder}/.done")
            once = done.startswith('"$DATA/')  # a second call of the script goes on with the runs
            if once:
                print(f"if [ ! -e {done} ]; then # remove this file to prepare again")
            if step.folder not in self._folders:
                self._folders.add(step.folder)
                print(f"mkdir -p {self._word(f'{step.folder}/')}")
            print(*map(self._command, step.commands(step.folder)), sep="\n")
            if once:
                print(f"touch {done}\nfi")

    def _command(self, command: Command) -> str:
        """Returns a command in lines; none ends between a flag and its value."""
        units: list[str] = []
        for word in filter(None, map(self._word, command.words)):
            after_flag = units and units[-1].startswith("-") and " " not in units[-1]
            if after_flag and not word.startswith("--"):
                units[-1] += f" {word}"
            else:
                units.append(word)
        lines = [units[0]]
        for unit in units[1:]:
            if len(lines[-1]) + len(unit) > WIDTH:
                lines.append(" ")
            lines[-1] += f" {unit}"
        text = " \\\n".join(lines)
        if command.output:
            text += f" > {self._word(str(command.output))}"
        if not command.log:
            return text
        # a training that goes on keeps the log of its beginning
        tee = "tee -a" if command.words[0] == "fairseq-train" else "tee"
        return f"{text} 2>&1 |\n  {tee} {self._word(str(command.log))}"

    def _word(self, word: str) -> str:
        if isinstance(word, ShellWord):
            return word.shell
        text = word
        for path, name in self._variables.items():
            text = re.sub(f"(^|,){re.escape(path)}", rf"\1${name}/", text)
        return shlex.quote(word) if text == word else f'"{text}"'
