"""Times training and decoding steps of one process in turn, and measures memory and growth."""

from __future__ import annotations

import copy
import logging
import math
import multiprocessing
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from typing import Any

from systems import CONTROL, STOCK, parse, training_words

Step = Callable[[dict[str, Any]], None]
WITHOUT = " without "


class System:
    """A system as fairseq's programs set it up.

    Args:
        name: an architecture with flags, STOCK or CONTROL
        like: the architecture that has the size of STOCK
        options: of the command line: data, device, precision, length
        flags: further ones of ``fairseq-train``
    """

    def __init__(self, name: str, like: str, options: Any, flags: tuple[str, ...] = ()) -> None:
        from fairseq import tasks
        from fairseq.dataclass.utils import convert_namespace_to_omegaconf

        cpu = ["--cpu"] if options.device == "cpu" else []
        precision = [] if options.precision == "fp32" else [f"--{options.precision}"]
        words = [*training_words(name, like, options.data), *cpu, *precision, *flags]
        self.cfg = convert_namespace_to_omegaconf(parse([*words, "--max-tokens", "4000"]))
        self.cfg.common.tpu = False  # fairseq takes --bf16 for a TPU
        self.length = options.length
        self.cuda = options.device == "cuda"
        self.precision = options.precision
        self.task = tasks.setup_task(self.cfg.task)
        self.model = self.task.build_model(self.cfg.model)

    def train(self) -> Step:
        """Returns a function that makes one update, as ``fairseq-train`` does."""
        from fairseq.trainer import Trainer

        criterion = self.task.build_criterion(self.cfg.criterion)
        trainer = Trainer(self.cfg, self.task, self.model, criterion)
        trainer.model.train()

        def step(batch: dict[str, Any]) -> None:
            trainer.train_step([batch])

        return step

    def decode(self) -> Step:
        """Returns a function that translates a batch by beam search.

        An untrained model never ends a sentence, so all hypotheses get the same length.
        """
        import torch
        from fairseq import utils

        from dc_nmt_plugin.modules.fast.bfloat16 import bfloat16_products

        generation = self.cfg.generation
        generation.beam, generation.min_len, generation.max_len_b = 5, self.length, self.length
        model = self.model.cuda() if self.cuda else self.model
        common = self.cfg.common
        on_cpu = not self.cuda and (common.bf16 or common.amp)  # weights stay in float32 there
        products = bfloat16_products if on_cpu else nullcontext
        if self.cuda and self.precision in ("bf16", "fp16"):
            model.to(torch.bfloat16 if self.precision == "bf16" else torch.float16)
        model.eval()
        model.prepare_for_inference_(self.cfg)
        generator = self.task.build_generator([model], generation)

        def step(batch: dict[str, Any]) -> None:
            batch = utils.move_to_cuda(batch) if self.cuda else batch
            with torch.no_grad(), products():
                self.task.inference_step(generator, [model], batch)

        return step


def corpus_batches(system: System, options: Any) -> list[dict[str, Any]]:
    """Returns evenly spaced batches of real text."""
    subset = options.subset
    system.task.load_dataset(subset)
    data = system.task.dataset(subset)
    plan = data.batch_by_size(
        data.ordered_indices(), max_tokens=options.max_tokens, required_batch_size_multiple=8
    )
    number = min(options.batches or options.rounds, len(plan))
    chosen = [plan[turn * len(plan) // number] for turn in range(number)]
    return [data.collater([data[int(row)] for row in rows]) for rows in chosen]


def random_batch(system: System, sentences: int, length: int) -> dict[str, Any]:
    """Returns a batch of random sentences, all of the same length on both sides."""
    import torch
    from fairseq.data import LanguagePairDataset

    generator = torch.Generator().manual_seed(1)
    sides: list[Any] = []
    for words in (system.task.source_dictionary, system.task.target_dictionary):
        size = (sentences, length)
        tokens = torch.randint(words.nspecial, len(words), size, generator=generator)
        tokens[:, -1] = words.eos()
        sides += [list(tokens), torch.full((sentences,), length), words]
    data = LanguagePairDataset(*sides, shuffle=False)
    return data.collater([data[row] for row in range(sentences)])


def clock_of(options: Any) -> Callable[[], float]:
    """Returns CPU time for one thread, which other programs change little; else the wall clock."""
    if options.device == "cuda":
        import torch

        def synchronised() -> float:
            torch.cuda.synchronize()
            return time.perf_counter()

        return synchronised
    return time.process_time if options.threads == 1 else time.perf_counter


def compare_steps(
    mode: str, systems: list[str], options: Any, *, seconds: float = math.inf
) -> list[dict[str, Any]]:
    """Returns a row for stock, its control, each system, and each system without a piece of speed.

    All run in this process, in turn.

    Args:
        mode: ``train`` or ``decode``
        systems: architectures with flags
        options: of the command line
        seconds: after the warm-up, the rounds end after this time, but not before the second
    """
    import torch
    from without import without

    torch.set_num_threads(options.threads)
    made = {name: System(name, systems[0], options) for name in [STOCK, CONTROL, *systems]}
    batches = corpus_batches(made[STOCK], options)
    steps = {name: getattr(system, mode)() for name, system in made.items()}
    for name in systems:
        for piece in options.without:
            steps[f"{name}{WITHOUT}{piece}"] = without(piece, steps[name])
    names = list(steps)
    clock = clock_of(options)
    times: dict[str, list[float]] = {name: [] for name in names}
    # the first round warms up, on a GPU a round for each shape
    warm_up = len(batches) if options.device == "cuda" else 1
    end = math.inf
    for turn in range(-warm_up, options.rounds):
        if turn == 0:
            end = time.monotonic() + seconds
        if turn >= 2 and time.monotonic() > end:
            break
        batch = batches[turn % len(batches)]
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            mine = copy.deepcopy(batch)  # a step may change its batch
            start = clock()
            steps[name](mine)
            if turn >= 0:
                times[name].append(clock() - start)
        print(f"{mode}: round {turn + 1} of {options.rounds}", file=sys.stderr)
    counted = "ntokens" if mode == "train" else "nsentences"
    rows = []
    for name in names:
        amounts = [batches[turn % len(batches)][counted] for turn in range(len(times[name]))]
        rates = [n / time for n, time in zip(amounts, times[name], strict=True)]
        ratios = [theirs / own for theirs, own in zip(times[STOCK], times[name], strict=True)]
        row = {"mode": mode, "system": name, "rate": statistics.median(rates), "ratios": ratios}
        base, _, piece = name.partition(WITHOUT)
        if piece:  # of the system with it
            row["kept"] = [all_ / own for all_, own in zip(times[base], times[name], strict=True)]
        rows.append(row)
    return rows


def measure_growth(mode: str, systems: list[str], options: Any) -> list[dict[str, Any]]:
    """Returns a row for stock and each system: milliseconds and MiB of a step at each length."""
    rows = []
    for name in [STOCK, *systems]:
        row: dict[str, Any] = {"mode": mode, "system": name, "ms": [], "mib": []}
        for length in options.lengths:
            # a new process for each, because memory that was freed before is not counted
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
                task = pool.submit(measure_alone, mode, name, systems[0], length, options)
                milliseconds, mebibytes = task.result()
            row["ms"].append(milliseconds)
            row["mib"].append(mebibytes)
            print(f"{name}, {length}: {milliseconds:.0f} ms, {mebibytes:.0f} MiB", file=sys.stderr)
        rows.append(row)
    return rows


def measure_alone(
    mode: str, name: str, like: str, length: int, options: Any
) -> tuple[float, float]:
    """Returns median milliseconds of a step, and the peak memory in MiB that it added."""
    import torch
    from torch.utils.benchmark import Timer

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    parse(training_words(name, like, options.data))  # imports what is no part of the model
    before = _memory("VmRSS")
    options.length = length
    positions = (
        "--max-source-positions",
        str(length + 2),
        "--max-target-positions",
        str(length + 2),
    )
    system = System(name, like, options, positions)
    step = getattr(system, mode)()
    batch = random_batch(system, max(1, options.max_tokens // options.lengths[-1]), length)
    step(copy.deepcopy(batch))
    if options.device == "cuda":
        mebibytes = torch.cuda.max_memory_allocated() / 2**20
    else:
        mebibytes = _memory("VmHWM") - before
    timer = Timer(
        "step(copy.deepcopy(batch))", globals={"step": step, "batch": batch, "copy": copy},
        num_threads=options.threads,
    )  # fmt: skip
    return timer.blocked_autorange(min_run_time=options.seconds).median * 1000, mebibytes


def _memory(name: str) -> float:
    """Returns a number of this process in MiB: VmRSS is its memory now, VmHWM the peak."""
    with open("/proc/self/status", encoding="ascii") as file:
        match = re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.M)
    if match is None:
        raise SystemExit("this system does not report the memory of a process")
    return int(match[1]) / 1024
