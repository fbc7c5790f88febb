"""Writes ``run.json`` and ``curve.log`` while ``fairseq-train`` trains, whoever started it.

``fairseq-generate`` enters what it translated.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq.dataclass.configs import FairseqConfig
from fairseq.logging import metrics
from fairseq.utils import split_paths
from omegaconf import OmegaConf

from ..checkpoints.loading import architecture_of
from ..checkpoints.mechanisms import sources_of
from ..checkpoints.plain import plain
from ..files import code_folder, sha256, write_text
from ..flags import MECHANISM_FOLDERS, PLACES, SHORT, START, named_start, recorded_flags, value_of
from ..machine import used_device
from ..runs.call import Start, this_call
from ..runs.data import data_facts, preparation_of
from ..runs.differences import WHILE_LONGER, compared, differing
from ..runs.record import (
    CURVE,
    RECORD,
    SCHEMA,
    Flags,
    Record,
    Segment,
    Training,
    run_folder,
    update_record,
)
from ..runs.translation import enter_translation
from .beginning import BEGINNING, is_recorded, languages_of
from .change import Function, replace
from .continuing import LOADING, SAVING

_SPEEDS = ("wps", "wpb", "bsz")  # of the aggregator, with validation
_CURVE = "dc_nmt_curve"  # fairseq's aggregator of the numbers since the last validation


class RecordWriter:
    """The record and the learning curve of one training run, for the process that saves it.

    The record has settings and text from the first update on, so a run that fails before leaves
    none, and what was measured after each validation and each saved checkpoint. The curve has two
    lines a validation, in the form of ``--log-format json``.

    Args:
        trainer: fairseq's, after it has loaded a checkpoint

    Raises:
        UserError: the folder has a ``run.json`` that is no record
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._folder = run_folder(Path(trainer.cfg.checkpoint.save_dir))
        self._start = trainer.get_num_updates()
        self._tokens, self._seconds = 0, 0.0  # of updates that follow another one at once
        self._last: float | None = None  # time of the update before
        self._validated = -1  # update of the last validation
        self._begun = False

    def go_on(self) -> None:
        """Begins the record of a run that continues, after all that may refuse it."""
        if self._start:
            self._begin(continued=True)
            self.measure()  # perhaps there is nothing left to train

    def _begin(self, *, continued: bool) -> None:
        update_record(
            self._folder / RECORD, lambda before: self._record(before if continued else None)
        )
        curve = self._folder / CURVE
        if not continued:
            curve.unlink(missing_ok=True)
        elif curve.is_file():
            _cut_curve(curve, self._start)
        self._begun = True

    def _record(self, before: Record | None) -> Record:
        return _record(self._trainer, self._folder, before, self._start)

    def add_update(self, tokens: int) -> None:
        """Counts an update with so many target tokens."""
        if not self._begun:
            self._begin(continued=False)
        now = time.perf_counter()
        if self._last is not None:  # not the first one, which includes the start
            self._tokens += tokens
            self._seconds += now - self._last
        self._last = now

    def add_validation(self, values: Mapping[str, Any]) -> None:
        """Adds the numbers of a validation, with those of the training before it, to the curve.

        Args:
            values: fairseq's statistics; of several sets, the first one counts
        """
        updates = self._trainer.get_num_updates()
        if updates != self._validated:
            self._validated = updates
            training = metrics.get_smoothed_values(_CURVE) if metrics.get_meters(_CURVE) else {}
            with open(self._folder / CURVE, "a", encoding="utf-8") as curve:
                for kind, numbers in (("train_inner", training), ("valid", values)):
                    known = {n: _plain(v) for n, v in numbers.items() if n not in _SPEEDS}
                    line = json.dumps({**known, "num_updates": updates})
                    curve.write(f"| {kind} | {line}\n")
            metrics.reset_meters(_CURVE)
            self.measure()

    def measure(self) -> None:
        """Enters the updates so far, their time and speed into the record."""
        if not self._begun:  # fairseq saves crash.pt when the first update fails
            return
        self._last = None  # validating and saving are no training
        trainer = self._trainer
        numbers = {
            "updates": trainer.get_num_updates(),
            "parameters": sum(p.numel() for p in trainer.get_model().parameters()),
            "seconds": float(trainer.cumulative_training_time()),  # a tensor of several processes
        }
        if self._seconds:
            numbers["tokens_per_second"] = self._tokens / self._seconds

        def measured(record: Record | None) -> Record:
            record = record or self._record(None)  # somebody removed it
            training = dataclasses.replace(record.training, **numbers)
            return dataclasses.replace(record, training=training)

        update_record(self._folder / RECORD, measured)


@replace(
    {
        **LOADING,
        **SAVING,
        "fairseq.tasks.translation:TranslationTask.reduce_metrics": "8846f3bdc671",
        "fairseq_cli.train:get_valid_stats": "dfc2d7043950",
        **BEGINNING,
    },
    reason="a training run leaves no record of its settings, text and speed, and no learning curve",
    test="tests/system/test_plain_runs.py",
    after=("same_architecture", "refuse_contradictions"),
)
def record_training(
    load: Function, save: Function, reduce: Function, statistics: Function, begin: Function
) -> tuple[Function, ...]:
    def load_checkpoint(self: Any, *args: Any, **kwargs: Any) -> Any:
        state = load(self, *args, **kwargs)
        self.run_record = self.task.run_record = RecordWriter(self) if is_recorded(self) else None
        return state

    def save_checkpoint(self: Any, *args: Any, **kwargs: Any) -> Any:
        saved = save(self, *args, **kwargs)
        if getattr(self, "run_record", None):
            self.run_record.measure()
        return saved

    def reduce_metrics(self: Any, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        record = getattr(self, "run_record", None)
        if not record or not criterion.training:
            reduce(self, logging_outputs, criterion)
            return
        with metrics.aggregate(_CURVE):
            reduce(self, logging_outputs, criterion)
        record.add_update(sum(int(log.get("ntokens", 0)) for log in logging_outputs))

    def get_valid_stats(cfg: Any, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        stats = statistics(cfg, trainer, *args, **kwargs)
        if getattr(trainer, "run_record", None):
            trainer.run_record.add_validation(stats)
        return stats

    def begin_training(cfg: Any, trainer: Any, **kwargs: Any) -> Any:
        loaded = begin(cfg, trainer, **kwargs)
        if trainer.run_record:
            trainer.run_record.go_on()
        return loaded

    return load_checkpoint, save_checkpoint, reduce_metrics, get_valid_stats, begin_training


@replace(
    {"fairseq_cli.generate:main": "ddff57f29d4f"},
    reason="no record of a run says which model translated, how, and on which device",
    test="tests/system/test_recipe_scripts.py",
)
def enter_the_translation(stock: Function) -> Function:
    def main(args: Any) -> Any:
        scorer = stock(args)
        if getattr(args, "results_path", None):  # a Namespace, as fairseq-generate has it
            models = list(map(Path, split_paths(args.path)))
            data, results = Path(args.data), Path(args.results_path)
            enter_translation(sys.argv[1:], data, models, results, args.gen_subset)
        return scorer

    return main


def _cut_curve(curve: Path, updates: int) -> None:
    """Drops what a killed run has written after the checkpoint from which it continues.

    Args:
        curve: the file
        updates: that the checkpoint has
    """

    def is_kept(line: str) -> bool:
        try:
            return int(json.loads(line.rpartition(" | ")[2])["num_updates"]) <= updates
        except (KeyError, TypeError, ValueError):  # half a line
            return False

    lines = curve.read_text("utf-8", "replace").splitlines(keepends=True)
    kept = list(filter(is_kept, lines))
    if kept != lines:
        write_text(curve, "".join(kept))


def _plain(value: Any) -> Any:
    try:
        return round(float(value), 5)
    except (TypeError, ValueError):
        return str(value)


def _record(trainer: Any, folder: Path, before: Record | None, updates: int) -> Record:
    """Returns the record of a run that begins after so many updates, or continues `before`."""
    cfg = trainer.cfg
    settings, sources = _settings(cfg), sources_of(cfg.model)
    if getattr(trainer, "bfloat16_flag", None):  # which the settings have no more
        settings[trainer.bfloat16_flag] = True
    name = before.name if before else folder.resolve().name
    data = Path(str(cfg.task.data).split(os.pathsep)[0])
    source, target = languages_of(trainer.task)
    world = cfg.distributed_training.distributed_world_size
    starts = _starts(before, updates, used_device({**settings, "distributed-world-size": world}))
    devices = dict.fromkeys(start.device for start in starts if start.device)
    tokens = None
    if cfg.dataset.max_tokens and len(cfg.optimization.update_freq) == 1:
        tokens = int(cfg.dataset.max_tokens * world * cfg.optimization.update_freq[0])
    training = Training(
        tokens=tokens,
        # a run that continues may have no such checkpoint any more
        start=before.training.start if before else _digest(cfg.checkpoint.finetune_from_model),
        tokens_per_second=before.training.tokens_per_second if before else None,
        device=", then ".join(devices) or None,
        log=CURVE,
    )
    return Record(
        schema=SCHEMA,
        name=name,
        system=name.removesuffix(f"-s{cfg.common.seed}"),
        data=data_facts(folder, data, source, target),
        task=_recipe(data, source, target),
        architecture=architecture_of(cfg.model),
        seed=cfg.common.seed,
        settings=settings,
        segments=_segments(before, settings, sources, updates) if before else (),
        starts=starts,
        mechanisms=_code_folders(trainer),
        sources=sources,
        training=training,
        decodings=before.decodings if before else (),
        written_in=os.path.abspath(folder),
    )


def _digest(checkpoint: str | None) -> str | None:
    return sha256(checkpoint) if checkpoint and Path(checkpoint).is_file() else None


def _code_folders(trainer: Any) -> dict[str, str]:
    """Returns mechanisms, architecture and criterion of the user's own, with their folders."""
    folders = dict(value_of(trainer.cfg.model, MECHANISM_FOLDERS) or {})
    module = type(trainer.get_criterion()).__module__
    if module.partition(".")[0] not in ("fairseq", __name__.partition(".")[0]):
        folders[value_of(trainer.cfg.criterion, "_name")] = code_folder(module)
    return folders


def _segments(
    before: Record, settings: Flags, sources: dict[str, str], updates: int
) -> tuple[Segment, ...]:
    """Returns the segments of a run that continues in this way after so many updates."""
    kept = [segment for segment in before.segments if segment.until_update < updates]
    # what was trained after these updates is lost
    lost = [*before.segments[len(kept) :], Segment(updates, before.settings, before.sources)]
    former = dataclasses.replace(lost[0], until_update=updates)
    is_another_source = former.sources not in ({}, sources)  # {}: of an earlier version
    both = (compared(flags, WHILE_LONGER) for flags in (former.settings, settings))
    return (*kept, former) if is_another_source or any(differing(*both)) else tuple(kept)


def _starts(before: Record | None, updates: int, device: str | None) -> tuple[Start, ...]:
    """Returns the starts whose updates a run has that starts now, after so many updates."""
    starts = before.starts if before else ()
    if before and not starts:  # of an earlier version, or of a training before
        starts = (Start(versions=before.training.versions, device=before.training.device),)
    now = Start(**vars(this_call()), from_update=updates, device=device)
    return (*(start for start in starts if start.from_update < updates), now)


def _settings(cfg: Any) -> Flags:
    """Returns the flags of fairseq-train, or what docs/runs.md names of Hydra's values."""
    words = [SHORT.get(word, word) for word in sys.argv[1:]]
    if any(word.partition("=")[0] == "--arch" for word in words):
        if cfg.task.data in words:  # it has no flag
            words.remove(cfg.task.data)
        return recorded_flags(words)
    defaults = {**plain(OmegaConf.structured(FairseqConfig)), "model": {}}
    settings: Flags = {"arch": str(architecture_of(cfg.model))}
    for group, values in plain(cfg).items():
        if isinstance(values, dict) and group != "job_logging_cfg":  # log files, others in each run
            settings |= _settings_of_group(group, values, defaults.get(group) or {})
    if START in settings:
        settings[START] = named_start(settings[START])
    return settings


def _settings_of_group(group: str, values: dict[str, Any], defaults: dict[str, Any]) -> Flags:
    """Returns the settings of a group of Hydra that are not its defaults, as flags."""
    settings: Flags = {}
    for name, value in values.items():
        flag = name.replace("_", "-")
        if value in (None, defaults.get(name)) or flag in PLACES:
            continue
        if name == "_name":
            settings.setdefault(group.replace("_", "-"), str(value))
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        settings[flag] = value if isinstance(value, bool | int | float) else str(value)
    return settings


def _recipe(data: Path, source: str, target: str) -> str | None:
    """Returns the task whose text ``dc-nmt prepare`` wrote beside this data."""
    prepared = preparation_of(data)
    task = str(prepared["task"]) if prepared else None
    return task and task.replace(f"{target}_{source}", f"{source}_{target}")
