"""Runs fairseq-train and fairseq-generate as users do, in turn, with and without the plugin."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from systems import CONTROL, STOCK, USER_DIR, task_of, training_words

# torch then loads no package that asks for it; plain fairseq is measured without this plugin
PLAIN = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
RATE_OF_TRAINING = re.compile(r"\| train_inner \| (\{.*\})")
RATE_OF_DECODING = re.compile(r"Translated .* \(([\d.]+) sentences/s")
SETTING = re.compile(r"(\w+)=(\S+) ")  # before an architecture: a variable of the environment
PRECISIONS = ("--amp", "--bf16", "--fp16")  # of the flags of a system, those of decoding
RATES = {"train": "words_per_second", "decode": "sentences_per_second"}
CTRANSLATE2 = "ctranslate2 "  # then a number format
HYPOTHESIS = re.compile(r"^H-(\d+)\t[^\t]*\t(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One run of a program.

    Attributes:
        output: what it printed
        cpu, wall: seconds of the whole program, with its start
    """

    output: str
    cpu: float
    wall: float

    @property
    def words_per_second(self) -> float:
        """The median rate that ``fairseq-train`` logged, without the first, which warms up."""
        rates = [float(json.loads(row)["wps"]) for row in RATE_OF_TRAINING.findall(self.output)]
        return statistics.median(rates[1:] or rates)

    @property
    def sentences_per_second(self) -> float:
        """The rate that ``fairseq-generate`` printed, of decoding alone."""
        return float(RATE_OF_DECODING.findall(self.output)[-1])

    @property
    def hypotheses(self) -> dict[str, str]:
        return dict(HYPOTHESIS.findall(self.output))


def run(
    words: list[object], plain: bool, threads: int, settings: dict[str, str] | None = None
) -> Run:
    """Runs a program to its end.

    Args:
        words: the program's module or path, then its flags
        plain: without this plugin
        threads: of the CPU
        settings: more variables of the environment
    """
    module = [] if isinstance(words[0], Path) else ["-m"]
    command = [sys.executable, *module, *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), **(PLAIN if plain else {})}
    environment.update(settings or {})
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\nfailed:\n{text[-2000:]}")
    return Run(text, used.ru_utime + used.ru_stime, wall)


def compare_programs(mode: str, systems: list[str], options: Any) -> list[dict[str, Any]]:
    """Returns a row for stock, its control and each system.

    Args:
        mode: ``train`` or ``decode``
        systems: architectures with flags; in training, variables may stand before, as NAME=VALUE
        options: of the command line: data, updates, rounds, max_tokens, threads, device,
            checkpoint, subset, length, ctranslate2
    """
    names = [STOCK, CONTROL, *systems, *(f"{CTRANSLATE2}{kind}" for kind in options.ctranslate2)]
    with tempfile.TemporaryDirectory() as folder:
        if mode == "train":
            words = {name: _train(name, systems[0], Path(folder, "run"), options) for name in names}
        else:
            words = _decode(names, systems, Path(folder), options)
        runs: dict[str, list[Run]] = {name: [] for name in names}
        for turn in range(options.rounds):
            # another one is first in each round, so that no system always follows the same one
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                shutil.rmtree(Path(folder, "run"), ignore_errors=True)
                plain = name in (STOCK, CONTROL) or name.startswith(CTRANSLATE2)
                settings = dict(SETTING.findall(name))
                runs[name].append(run(words[name], plain, options.threads, settings))
                rate = getattr(runs[name][-1], RATES[mode])
                print(f"{name}: {rate:,.1f}/s, {runs[name][-1].cpu:.1f} s CPU", file=sys.stderr)
    return [_row(mode, name, runs[name], runs[STOCK]) for name in names]


def _common(options: Any) -> list[object]:
    cpu = ["--cpu"] if options.device == "cpu" else []
    return ["--max-tokens", options.max_tokens, *cpu]


def _train(name: str, like: str, save: Path, options: Any, updates: int = 0) -> list[object]:
    updates = updates or options.updates
    name, like = SETTING.sub("", name), SETTING.sub("", like)
    words: list[object] = ["fairseq_cli.train", *training_words(name, like, options.data)]
    if name not in (STOCK, CONTROL):
        words += ["--user-dir", USER_DIR]
    words += ["--save-dir", save, "--max-update", updates, "--disable-validation"]
    words += ["--no-epoch-checkpoints", "--log-format", "json"]
    words += ["--log-interval", max(1, updates // 4)]
    return words + _common(options)


def _decode(
    names: list[str], systems: list[str], folder: Path, options: Any
) -> dict[str, list[object]]:
    """Returns the words of ``fairseq-generate`` for each name.

    A trained standard Transformer (``--checkpoint``) is also translated by plain fairseq, with the
    same weights. Without one, models are trained for one update. They never end a sentence, so all
    hypotheses are forced to the same length.
    """
    checkpoints: dict[str, Path] = {}
    lengths: list[object] = []
    if options.checkpoint:
        checkpoints = dict.fromkeys(systems, options.checkpoint)
        standard = options.checkpoint
    else:
        lengths = ["--max-len-b", options.length, "--min-len", options.length]
        standard = folder / "standard" / "checkpoint_last.pt"
        for name in ["transformer_standard", *systems]:
            save = standard.parent if name == "transformer_standard" else folder / name
            words = _train(name, systems[0], save, options, updates=1)
            if name == "transformer_standard":
                like = training_words(STOCK, systems[0], options.data)
                words += like[like.index("label_smoothed_cross_entropy") + 1 :]
            run(words, plain=False, threads=options.threads)
            checkpoints[name] = save / "checkpoint_last.pt"
    # plain fairseq cannot read a checkpoint of a task that it lacks
    plain = folder / "stock.pt"
    run(["dc_nmt_plugin", "export", standard, "--stock", "--out", plain], False, options.threads)
    words_of = {}
    for name in names:
        if name.startswith(CTRANSLATE2):
            words_of[name] = _ctranslate2(name.removeprefix(CTRANSLATE2), standard, folder, options)
            continue
        stock = name in (STOCK, CONTROL)
        words: list[object] = ["fairseq_cli.generate", options.data, "--gen-subset", options.subset]
        words += ["--path", plain if stock else checkpoints[name], "--beam", 5, *lengths]
        words += [] if stock else ["--user-dir", USER_DIR, "--task", task_of(name)]
        words += [flag for flag in name.split() if flag in PRECISIONS]
        words_of[name] = words + _common(options)
    return words_of


def _ctranslate2(kind: str, model: Path, folder: Path, options: Any) -> list[object]:
    """Returns the words of CTranslate2 in a number format."""
    converted = folder / f"ctranslate2-{kind}"
    words: list[object] = ["dc_nmt_plugin", "export", model, "--data", options.data]
    words += ["--ctranslate2", "--quantization", kind, "--out", converted]
    run(words, plain=False, threads=options.threads)
    program = Path(__file__).with_name("ctranslate2_program.py")
    return [program, converted, options.data, options.subset, options.max_tokens]


def _row(mode: str, name: str, runs: list[Run], stock: list[Run]) -> dict[str, Any]:
    rates = [getattr(run, RATES[mode]) for run in runs]
    stock_rates = [getattr(run, RATES[mode]) for run in stock]
    row = {
        "mode": mode,
        "system": name,
        "rate": statistics.median(rates),
        "ratios": [own / other for own, other in zip(rates, stock_rates, strict=True)],
        "cpu_s": statistics.median(run.cpu for run in runs),
        "wall_s": statistics.median(run.wall for run in runs),
    }
    if mode == "decode":
        other = runs[0].hypotheses
        row["different"] = sum(
            other.get(number) != text for number, text in stock[0].hypotheses.items()
        )
    return row
