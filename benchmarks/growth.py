"""Measures time and memory of one training step on sentences of growing length."""

from __future__ import annotations

import copy
import logging
import multiprocessing
import re
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from systems import STOCK, parse, training_words

Step = Callable[[dict[str, Any]], None]


class System:
    """A system as fairseq's programs set it up.

    Args:
        name: an architecture with flags, or STOCK
        like: the architecture that has the size of STOCK
        options: of the command line: data, device, flags
        flags: further ones of ``fairseq-train``
    """

    def __init__(self, name: str, like: str, options: Any, flags: tuple[str, ...] = ()) -> None:
        from fairseq import tasks
        from fairseq.dataclass.utils import convert_namespace_to_omegaconf

        cpu = ["--cpu"] if options.device == "cpu" else []
        words = [*training_words(name, like, options.data), *cpu, *options.flags, *flags]
        self.cfg = convert_namespace_to_omegaconf(parse([*words, "--max-tokens", "4000"]))
        self.cfg.common.tpu = False  # fairseq takes --bf16 for a TPU
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


def measure_growth(systems: list[str], options: Any) -> list[dict[str, Any]]:
    """Returns a row for stock and each system: milliseconds and MiB of a step at each length."""
    rows = []
    for name in [STOCK, *systems]:
        row: dict[str, Any] = {"system": name, "ms": [], "mib": []}
        for length in options.lengths:
            # a new process for each, because memory that was freed before is not counted
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
                task = pool.submit(measure_alone, name, systems[0], length, options)
                milliseconds, mebibytes = task.result()
            row["ms"].append(milliseconds)
            row["mib"].append(mebibytes)
            print(f"{name}, {length}: {milliseconds:.0f} ms, {mebibytes:.0f} MiB", file=sys.stderr)
        rows.append(row)
    return rows


def measure_alone(name: str, like: str, length: int, options: Any) -> tuple[float, float]:
    """Returns median milliseconds of a step, and the peak memory in MiB that it added."""
    import torch
    from torch.utils.benchmark import Timer

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    parse(training_words(name, like, options.data))  # imports what is no part of the model
    before = _memory("VmRSS")
    limit = str(length + 2)
    positions = ("--max-source-positions", limit, "--max-target-positions", limit)
    system = System(name, like, options, positions)
    step = system.train()
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
