"""Measures fairseq's programs and CTranslate2 as users run them, in turns."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ..checkpoints.ctranslate2 import to_ctranslate2
from ..checkpoints.loading import load_checkpoint
from ..checkpoints.plain import plain
from ..errors import UserError
from ..models.transformer.stock_checkpoint import drop_auxiliary, to_stock
from . import CTRANSLATE2, INT8, STOCK
from .comparison import CONTROL
from .data import write_random, write_source
from .measure import by_mode, finished_rounds, interleave, ratio
from .programs import USER_DIR, Finished, Program, engine, fairseq, run
from .subjects import (
    CLIP_NORM,
    LABEL_SMOOTHING,
    checkpoint_of,
    system_of,
    training_flags,
    with_positions,
)

ENGINE_INT8 = f"{CTRANSLATE2}{INT8}"
LONGEST = 200  # tokens of a hypothesis, fairseq-generate's default
INTERVALS = 4  # logged rates of a training run


@dataclass(frozen=True)
class Work:
    """Describes the work of the programs.

    Attributes:
        data: made by ``fairseq-preprocess``; None makes random text
        subset: translated subset
        vocabulary, length: types and mean tokens a sentence, of random text
        tokens: of a batch
        updates: of ``fairseq-train``
        beam: hypotheses a sentence
        rounds: runs of each program
        threads: of the CPU
        device: "cpu" or "cuda"
        int8: each subject decodes with 8-bit layers too
    """

    data: str | None
    subset: str
    vocabulary: int
    length: int
    tokens: int
    updates: int
    beam: int
    rounds: int
    threads: int
    device: str
    int8: bool = False

    def flags(self) -> list[str]:
        """Returns the flags of both programs."""
        return ["--max-tokens", str(self.tokens), *(["--cpu"] if self.device == "cpu" else [])]

    def on_text(self, folder: Path) -> Work:
        """Returns the same work on `data`, which is made in a folder where there is none."""
        if self.data:
            return self
        sentences = max(1, self.tokens // self.length)
        sizes = {"train": self.updates * sentences, self.subset: 2 * sentences}
        write_random(folder, vocabulary=self.vocabulary, length=self.length, sizes=sizes)
        return replace(self, data=str(folder))


def compare_programs(
    modes: Sequence[str], archs: Sequence[str], against: str, work: Work
) -> list[dict[str, Any]]:
    """Returns one row for the baseline, its control and each subject, for each mode.

    Args:
        modes: ``train`` and ``decode``
        archs: architectures, or runs
        against: ``stock`` (fairseq without this plugin), ``ctranslate2``, an architecture or a run
        work: of the programs

    Raises:
        UserError: a program failed, or a model that the baseline cannot compute
        KeyboardInterrupt: no round is finished; otherwise the finished rounds are returned
    """
    with tempfile.TemporaryDirectory() as folder:
        work = work.on_text(Path(folder, "text"))
        names = {against: against, CONTROL: against}
        if against == CTRANSLATE2:
            names[ENGINE_INT8] = ENGINE_INT8
        names |= {name: name for name in archs if name != against}
        names |= {f"{name}{INT8}": name for name in archs if work.int8}
        sides = _Sides(names, archs[0], Path(folder), work)

        def measure(mode: str) -> list[dict[str, Any]]:
            programs = sides.train(work.updates) if mode == "train" else sides.decode()
            finished = _in_turns(programs, work, mode)
            return [_row(mode, label, names, finished) for label in names]

        rows = by_mode(modes, work.rounds, measure)
        for row in rows:
            row["same_weights"] = sides.same_weights
    return rows


def _in_turns(programs: Mapping[str, Program], work: Work, title: str) -> dict[str, list[Finished]]:
    """Runs every program, round by round; returns the rounds that all have finished."""
    finished: dict[str, list[Finished]] = {label: [] for label in programs}

    def turn(label: str) -> Any:
        def once(_: int) -> float:
            finished[label].append(run(programs[label], work.threads))
            return finished[label][-1].wall

        return once

    turns = {label: turn(label) for label in programs}
    times = finished_rounds(
        lambda: interleave(turns, batches=1, rounds=work.rounds, title=title, warm_up=0)
    )
    return {label: own[: len(times[label])] for label, own in finished.items()}


class _Sides:
    """Holds the measured systems: how each is trained, and the checkpoint that it translates with.

    Args:
        names: label → subject
        like: the first subject
        folder: for checkpoints
        work: of the programs
    """

    def __init__(self, names: Mapping[str, str], like: str, folder: Path, work: Work) -> None:
        self._names, self._like, self._folder, self._work = names, like, folder, work
        self._runs = {name: checkpoint_of(name) for name in names.values() if _is_fairseqs(name)}
        self._stock: Path | None = None
        first = self._runs.get(like)
        if first is not None and STOCK in names.values():
            with suppress(UserError):  # of an architecture that fairseq lacks
                self._stock = folder / "stock.pt"
                torch.save(_stock_state(first, like, "--against stock"), self._stock)

    @property
    def same_weights(self) -> bool:
        """Returns whether baseline and first subject translate with the same trained weights."""
        baseline = next(iter(self._names))
        trained = self._runs.get(self._like) is not None
        return trained and (
            baseline == CTRANSLATE2 or (baseline == STOCK and self._checkpoint(STOCK) is not None)
        )

    def _checkpoint(self, name: str) -> Path | None:
        """Returns a trained checkpoint; None for a model that has to be made."""
        if name == STOCK:
            return self._stock if self._stock is not None and self._stock.is_file() else None
        return self._runs[name]

    def train(self, updates: int) -> dict[str, Program]:
        """Returns label → ``fairseq-train``, which leaves a checkpoint in a folder of the label."""
        return {
            label: self._training(name, updates)
            for label, name in self._names.items()
            if _is_fairseqs(name)
        }

    def _training(self, name: str, updates: int) -> Program:
        work, plain = self._work, name == STOCK
        longer, like = (with_positions(each, work.length) for each in (name, self._like))
        words: list[object] = [work.data, *training_flags(longer, like), *work.flags()]
        words += [] if plain else ["--user-dir", USER_DIR]
        words += ["--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--lr", "1e-5"]
        words += ["--label-smoothing", LABEL_SMOOTHING, "--clip-norm", CLIP_NORM, "--seed", 1]
        words += ["--max-update", updates, "--disable-validation", "--no-epoch-checkpoints"]
        words += ["--log-format", "json", "--log-interval", max(1, updates // INTERVALS)]
        save = self._save(name)
        return fairseq("train", *words, "--save-dir", save, plain=plain, output=save)

    def _save(self, name: str) -> Path:
        return self._folder / f"model{list(self._names.values()).index(name)}"

    def _made(self, name: str) -> Path:
        """Returns the checkpoint of a subject; trains a model for one update if there is none."""
        known = self._checkpoint(name)
        if known is not None:
            return known
        path = self._save(name) / "checkpoint_last.pt"
        if not path.is_file():
            run(self._training(name, 1), self._work.threads)
        if name != STOCK:
            return path
        # plain fairseq cannot load what it saved: torch's safe loader refuses its types
        readable = path.with_name("plain.pt")
        if not readable.is_file():
            torch.save(plain(load_checkpoint(str(path))), readable)
        return readable

    def decode(self) -> dict[str, Program]:
        """Returns label → ``fairseq-generate``, or a program that translates with CTranslate2."""
        work = self._work
        assert work.data is not None
        trained = all(self._checkpoint(name) for name in self._names.values() if _is_fairseqs(name))
        # an untrained model never ends a sentence
        longest, shortest = (LONGEST, 1) if trained else (work.length, work.length)
        source = self._folder / "source"
        programs = {}
        for label, name in self._names.items():
            if _is_fairseqs(name):
                words: list[object] = [work.data, "--path", self._made(name), *work.flags()]
                words += ["--gen-subset", work.subset, "--beam", work.beam]
                words += ["--max-len-b", longest, "--min-len", shortest]
                words += [] if name == STOCK else ["--user-dir", USER_DIR]
                words += [] if name == STOCK else ["--task", training_flags(name, self._like)[3]]
                words += ["--int8"] if label == f"{name}{INT8}" else []
                programs[label] = fairseq("generate", *words, plain=name == STOCK)
                continue
            if not source.exists():
                write_source(work.data, work.subset, source)
            programs[label] = engine(
                self._engine_model(name), source, beam=work.beam, tokens=work.tokens,
                longest=longest, shortest=shortest, threads=work.threads,
            )  # fmt: skip
        return programs

    def _engine_model(self, name: str) -> Path:
        """Returns the folder of the first subject's model for CTranslate2."""
        folder = self._folder / name.replace(" ", "-")
        if not folder.exists():
            path = self._made(self._like)
            state = _stock_state(path, self._like, f"--against {CTRANSLATE2}")
            number = "int8" if name == ENGINE_INT8 else None
            to_ctranslate2(state, Path(str(self._work.data)), folder, number, str(path))
        return folder


def _is_fairseqs(name: str) -> bool:
    return name not in (CTRANSLATE2, ENGINE_INT8)


def _stock_state(path: Path, name: str, flag: str) -> dict[str, Any]:
    """
    Raises:
        UserError: the model is no standard Transformer
    """
    return to_stock(drop_auxiliary(load_checkpoint(str(path)), name), name, flag)


def _row(
    mode: str, label: str, names: Mapping[str, str], finished: Mapping[str, list[Finished]]
) -> dict[str, Any]:
    baseline, own = finished[next(iter(names))], finished[label]
    rate = {"train": "words_per_second", "decode": "sentences_per_second"}[mode]
    rates = [[getattr(done, rate) for done in each] for each in (baseline, own)]
    speedup = ratio(*([1 / value for value in each] for each in rates))
    whole = ratio(*([done.cpu for done in each] for each in (baseline, own)))
    differ = [
        own[0].hypotheses.get(number) != text for number, text in baseline[0].hypotheses.items()
    ]
    name = names[label]
    return {
        "mode": mode,
        "name": label,
        "rounds": len(own),
        "system": system_of(name) if _is_fairseqs(name) and label in (name, CONTROL) else None,
        "speed": statistics.median(rates[1]),
        "updates_per_s": None,
        "ratio": speedup.median,
        "ratio_low": speedup.low,
        "ratio_high": speedup.high,
        "peak_memory_mib": None,
        "cpu_s": statistics.median(done.cpu for done in own),
        "wall_s": statistics.median(done.wall for done in own),
        "cpu_ratio": whole.median,
        "different": sum(differ) if mode == "decode" else None,
        "sentences": len(differ) if mode == "decode" else None,
    }
