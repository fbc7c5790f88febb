"""Compares fairseq-train and fairseq-generate as users run them, with and without the plugin."""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from systems import CONTROL, STOCK, USER_DIR, size_flags, task_of, training_words
from turns import GENERATE, TRAIN, Program, take_turns

WORKER = str(Path(__file__).with_name("turns.py"))
WITHOUT = " without "  # then a piece of speed
CTRANSLATE2 = "ctranslate2 "  # then a number format
SETTING = re.compile(r"(\w+)=(\S+) ")  # before an architecture: a variable of the environment
PRECISIONS = ("--amp", "--bf16", "--fp16")  # of the flags of a system, those of decoding
WARM_UP = 3  # batches
HYPOTHESIS = re.compile(r"^H-(\d+)\t[^\t]*\t(.*)$", re.MULTILINE)


def compare_programs(
    mode: str, systems: list[str], options: Any, *, seconds: float = math.inf
) -> list[dict[str, Any]]:
    """Returns a row for stock, its control, each system, and each system without a piece of speed.

    Variables of the environment may stand before the name of a system, as NAME=VALUE.
    """
    without = [f"{name}{WITHOUT}{piece}" for name in systems for piece in options.without]
    others = [f"{CTRANSLATE2}{kind}" for kind in options.ctranslate2]
    names = [STOCK, CONTROL, *systems, *without, *others]
    with tempfile.TemporaryDirectory() as folder:
        prepare = _train if mode == "train" else _decode
        programs = prepare(names, systems, Path(folder), options)
        take_turns(list(programs.values()), options.turns, seconds)
    turns = len(programs[STOCK].seconds)
    if turns < WARM_UP + 2:  # two make quartiles
        raise SystemExit(f"{turns} batches are too few: the first {WARM_UP} are left out")
    rows = []
    for name, program in programs.items():
        amounts, times = program.amounts[WARM_UP:], program.seconds[WARM_UP:]
        # a program waits with one more batch than it has worked on
        rates = [amount / time for amount, time in zip(amounts, times, strict=False)]
        row = {"mode": mode, "system": name, "rate": statistics.median(rates)}
        row["ratios"] = _ratios(programs[STOCK], program)
        base, _, piece = name.partition(WITHOUT)
        if piece:
            row["kept"] = _ratios(programs[base], program)
        if mode == "decode" and options.checkpoint:  # the same weights
            row["different"] = _different(programs[STOCK], program)
        rows.append(row)
    return rows


def _ratios(other: Program, program: Program) -> list[float]:
    pairs = zip(other.seconds[WARM_UP:], program.seconds[WARM_UP:], strict=True)
    return [of_other / own for of_other, own in pairs]


def _different(other: Program, program: Program) -> int:
    """Returns the number of sentences with another hypothesis."""
    hypotheses = dict(HYPOTHESIS.findall("".join(program.printed)))
    others = HYPOTHESIS.findall("".join(other.printed))
    return sum(hypotheses.get(number) != text for number, text in others)


def _program(mode: str, name: str, flags: list[object], options: Any) -> Program:
    piece = name.partition(WITHOUT)[2]
    words = [WORKER, mode, piece, *map(str, flags), "--max-tokens", str(options.max_tokens)]
    words += ["--cpu"] if options.device == "cpu" else []
    words += [] if name in (STOCK, CONTROL) else ["--user-dir", USER_DIR]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    environment.update(SETTING.findall(name))
    return Program(words, environment)


def _system(name: str) -> str:
    """Returns an architecture and its flags alone."""
    return SETTING.sub("", name.partition(WITHOUT)[0])


def _train(
    names: list[str], systems: list[str], folder: Path, options: Any, updates: int = 0
) -> dict[str, Program]:
    programs = {}
    for number, name in enumerate(names):
        flags: list[object] = [*training_words(_system(name), _system(systems[0]), options.data)]
        flags += [*options.flags, "--disable-validation", "--save-dir", folder / str(number)]
        flags += ["--max-update", updates or options.turns + 1, "--no-epoch-checkpoints"]
        flags += [] if updates else ["--no-save"]
        programs[name] = _program(TRAIN, name, flags, options)
    return programs


def _decode(names: list[str], systems: list[str], folder: Path, options: Any) -> dict[str, Program]:
    """Returns programs of ``fairseq-generate``.

    A trained standard Transformer (``--checkpoint``) is also translated by plain fairseq, with the
    same weights. Without one, models are trained for one update. They never end a sentence, so all
    hypotheses are forced to the same length.
    """
    lengths: list[object] = []
    if options.checkpoint:
        checkpoints = dict.fromkeys(systems, options.checkpoint)
        standard = options.checkpoint
    else:
        lengths = ["--max-len-b", options.length, "--min-len", options.length]
        models = ["transformer_standard", *systems]
        trained = _train(models, systems, folder, options, updates=1)
        trained[models[0]].words += size_flags(_system(systems[0]), options.data)
        take_turns(list(trained.values()), 2)
        files = [folder / str(number) / "checkpoint_last.pt" for number in range(len(models))]
        standard, *others = files
        checkpoints = dict(zip(systems, others, strict=True))
    plain = folder / "stock.pt"  # plain fairseq cannot read a checkpoint of a task that it lacks
    _export(standard, "--stock", "--out", plain)
    programs = {}
    for name in names:
        if name.startswith(CTRANSLATE2):
            kind, model = name.removeprefix(CTRANSLATE2), folder / name
            data = ("--data", options.data)
            _export(standard, *data, "--ctranslate2", "--quantization", kind, "--out", model)
            words = [Path(__file__).with_name("ctranslate2_program.py"), model, options.data]
            words += [options.subset, options.max_tokens]
            environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
            programs[name] = Program([*map(str, words)], environment)
            continue
        flags: list[object] = [options.data, "--gen-subset", options.subset, "--beam", 5, *lengths]
        if name in (STOCK, CONTROL):
            flags += ["--path", plain]
        else:
            base = name.partition(WITHOUT)[0]
            flags += ["--path", checkpoints[base], "--task", task_of(_system(name))]
        flags += [word for word in [*name.split(), *options.flags] if word in PRECISIONS]
        programs[name] = _program(GENERATE, name, flags, options)
    return programs


def _export(*words: object) -> None:
    command = [sys.executable, "-m", "dc_nmt_plugin", "export", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
