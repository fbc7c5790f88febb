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


def training_step(words: list[str]) -> tuple[Any, Callable[[dict[str, Any]], None]]:
    """Returns the task of ``fairseq-train`` with these flags, and what makes one update."""
    from fairseq import tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.trainer import Trainer

    cfg = convert_namespace_to_omegaconf(parse(words))
    cfg.common.tpu = False  # fairseq takes --bf16 for a TPU
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
    model.train()
    return task, lambda batch: trainer.train_step([batch])


def random_batch(task: Any, sentences: int, length: int) -> dict[str, Any]:
    """Returns a batch of random sentences, all of the same length on both sides."""
    import torch
    from fairseq.data import LanguagePairDataset

    generator = torch.Generator().manual_seed(1)
    sides: list[Any] = []
    for words in (task.source_dictionary, task.target_dictionary):
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
    words = [*training_words(name, like, options.data), *options.flags, "--max-tokens", "4000"]
    words += ["--max-source-positions", limit, "--max-target-positions", limit]
    words += ["--cpu"] if options.device == "cpu" else []
    task, step = training_step(words)
    batch = random_batch(task, max(1, options.max_tokens // options.lengths[-1]), length)
    step(copy.deepcopy(batch))
    if options.device == "cuda":
        mebibytes = torch.cuda.max_memory_allocated() / 2**20
    else:
        mebibytes = _memory("VmHWM") - before
    names = {"step": step, "batch": batch, "copy": copy}
    timer = Timer("step(copy.deepcopy(batch))", globals=names, num_threads=options.threads)
    return timer.blocked_autorange(min_run_time=options.seconds).median * 1000, mebibytes


def _memory(name: str) -> float:
    """Returns a number of this process in MiB: VmRSS is its memory now, VmHWM the peak."""
    with open("/proc/self/status", encoding="ascii") as file:
        (kibibytes,) = re.findall(rf"^{name}:\s+(\d+) kB", file.read(), re.M)
    return int(kibibytes) / 1024
