"""Settings of training, decoding and scoring: one merge, in which the later value wins.

1. ``DEFAULTS``
2. the recipe's entries, from the general to the special: ``all``, the direction, the family, the
   variant, the architecture with its size. Each comes after the entry of ``papers.yaml`` that it
   names by ``like``.
3. the entry of ``--like``, or that of ``big`` for a big architecture, with the recipe's own changes
4. flags of the command line, which plan.py appends
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from ...errors import UsageError, UserError, check_choices
from ...flags import START, flag_name, flag_value, replaced
from ...models.presets import STOCK, Architecture, Family, architectures
from ..typed_yaml import read_yaml
from .recipe import Recipe, SettingsEntry

PAPERS = Path(__file__).with_name("papers.yaml")
DEFAULTS = {"bpe": "default", "size": "", "sizes": {}, "average": 5, "metrics": ""}
REQUIRED = ("source", "tokens", "updates", "save_every", "flags", "decode", "paper")
# a sample is trained in minutes on a CPU: the architecture itself, but narrow
SAMPLE_UPDATES = 40
SAMPLE_TOKENS = 512
_NARROW = {
    "transformer": "--encoder-layers 4 --decoder-layers 4 --encoder-embed-dim 64 "
    "--decoder-embed-dim 64 --encoder-ffn-embed-dim 128 --decoder-ffn-embed-dim 128 "
    "--encoder-attention-heads 4 --decoder-attention-heads 4",
    "gru": "--embed-dim 64 --hidden-dim 128",
}


@dataclass(frozen=True)
class TaskSettings:
    """Settings of one architecture on one task."""

    like: str  # entry of papers.yaml; "" for none
    arch: str  # value of --arch, with its size
    fairseq_task: str  # value of --task
    criterion: str
    source: str  # place of the published settings, and the unpublished settings
    size: str  # one of the task's own sizes, part of the run's folder name; "" without sizes
    size_flags: tuple[str, ...]  # of fairseq-train, for that size
    bpe: str  # name of the segmentation
    tokens: int  # of one update, all GPUs together
    max_tokens: int  # of one GPU at a time, at most
    updates: int
    save_every: int  # updates between two checkpoints
    average: int  # number of averaged last checkpoints; 0: only the best one
    flags: tuple[str, ...]  # of fairseq-train
    decode: tuple[str, ...]  # of fairseq-generate
    main_metric: str  # metric of the paper, of dc-nmt score
    metrics: str  # all metrics

    @property
    def most_gpus(self) -> int:
        """Returns the number of GPUs that an update fills; more have less to do."""
        return max(1, -(-self.tokens // self.max_tokens))


@cache
def settings_of(
    recipe: Recipe, arch: str, size: str | None = None, like: str | None = None
) -> TaskSettings:
    """Returns the settings of an architecture on a task.

    Args:
        recipe: of the task
        arch: with or without size; without, the paper's size is added
        size: another size, such as ``big``; ``base`` for the size without a name
        like: an entry of ``papers.yaml``: train with these settings instead

    Raises:
        UserError: no such architecture, no such size of it, or no such settings
    """
    family = translation_family(arch)
    of_like = {} if like is None else _of_like(recipe, like)
    task_size, arch = _sized(_of_recipe(recipe, family, arch) | of_like, family, arch, size)
    of_recipe = _of_recipe(recipe, family, arch)  # with the entry for this size, too
    if not (of_recipe or of_like):
        raise UserError(f"{recipe.path}: settings: has nothing for {arch}")
    big = (of_recipe if like is None else of_like).get("big")
    if big and re.search(r"_big(_|$)", arch):
        of_like = _of_like(recipe, big)
    return _task_settings(recipe, family, arch, task_size, DEFAULTS | of_recipe | of_like)


def _task_settings(
    recipe: Recipe, family: Family, arch: str, task_size: str, values: dict[str, Any]
) -> TaskSettings:
    """Checks merged values, and returns them with their types."""
    like = values.get("like", "")
    place = f"{recipe.path}: settings.{like}"
    check_choices(f"{place}.bpe", [values["bpe"]], recipe.task.bpe, error=UserError)
    for key in REQUIRED:
        if not values.get(key):
            raise UserError(f"{place}.{key}: is missing")
    return TaskSettings(
        like=like,
        arch=arch,
        fairseq_task=family.task,
        criterion=family.criterion,
        source=values["source"],
        size=task_size,
        size_flags=tuple(shlex.split(values["sizes"].get(task_size, ""))),
        bpe=values["bpe"],
        tokens=values["tokens"],
        max_tokens=values.get("max_tokens") or values["tokens"],
        updates=values["updates"],
        save_every=values["save_every"],
        average=values["average"],
        flags=tuple(shlex.split(values["flags"])),
        decode=(*shlex.split(values["decode"]), *recipe.task.bpe[values["bpe"]].joining),
        main_metric=values["paper"],
        metrics=values["metrics"],
    )


def _of_recipe(recipe: Recipe, family: Family, arch: str) -> dict[str, Any]:
    """Returns the values of the recipe's entries for an architecture, from general to special."""
    entries = recipe.task.settings
    variants = [v for v in variants_of(family) if arch == v or arch.startswith(f"{v}_")]
    values: dict[str, Any] = {}
    for name in dict.fromkeys(["all", recipe.direction, family.name, *variants, arch]):
        if name in entries:
            values |= _values(entries[name], f"{recipe.path}: settings.{name}.like")
    return values


def _of_like(recipe: Recipe, like: str) -> dict[str, Any]:
    """Returns the values of an entry of ``papers.yaml``, with the recipe's own changes to them."""
    changed = [entry for entry in recipe.task.settings.values() if entry.like == like]
    values = _values(changed[0] if changed else SettingsEntry(like=like), "--like")
    if values.get("bpe") not in recipe.task.bpe:
        values.pop("bpe", None)  # this task has no such segmentation: use its default
    return values


def _values(entry: SettingsEntry, place: str) -> dict[str, Any]:
    """Returns the values of an entry, after those of the entry that it names by ``like``."""
    values = {key: value for key, value in asdict(entry).items() if value is not None}
    if entry.like is None:
        return values
    papers = _papers()
    check_choices(place, [entry.like], papers, error=UserError)
    return _values(papers[entry.like], place) | values


@cache
def _papers() -> dict[str, SettingsEntry]:
    return read_yaml(PAPERS, dict[str, SettingsEntry])


def _sized(values: dict[str, Any], family: Family, arch: str, size: str | None) -> tuple[str, str]:
    """Returns the task's own size or "", and the architecture with its size.

    A task's own size is flags, and any other size is the end of the architecture's name.

    Raises:
        UserError: neither has this size
    """
    task_sizes = list(values.get("sizes", {}))
    if size in task_sizes:
        return str(size), arch
    if size is not None and "--encoder-embed-dim" in values.get("flags", "").split():
        raise UsageError(
            f"--size {size}: the recipe's own flags set the model's width; change the recipe, or "
            "give --encoder-embed-dim and the others behind it with --name"
        )
    suffix = values.get("size", "") if size is None else size.replace("base", "")
    # a size in the name of the architecture wins
    sized = f"{arch}_{suffix}" if suffix and arch in variants_of(family) else arch
    check_choices("--size", [sized], _known(), "dc-nmt arch-flags")
    return (task_sizes[0] if task_sizes else ""), sized


def with_updates(settings: TaskSettings, updates: int, warmup: str | None) -> TaskSettings:
    """Returns the settings for another number of updates, with about as many checkpoints.

    A warm-up that would be as long as the training becomes as much shorter as the training.

    Args:
        settings: of the recipe
        updates: number of training updates
        warmup: the user's ``--warmup-updates``; None: that of the settings

    Raises:
        UserError: the learning rate would only rise, or there would be too few checkpoints
    """
    if settings.average > updates:
        raise UsageError(
            f"--max-update {updates}: too few for the mean of {settings.average} checkpoints"
        )
    flags = settings.flags
    if warmup is not None:
        flags = replaced(flags, "--warmup-updates", warmup)
    rising = int(flag_value(flags, "--warmup-updates") or 0)
    if rising >= updates:
        shorter = max(1, rising * updates // settings.updates)
        if warmup is not None or shorter >= updates:
            raise UsageError(
                f"--warmup-updates {rising}: must be below --max-update {updates}; give both"
            )
        flags = replaced(flags, "--warmup-updates", str(shorter))
    flags = replaced(flags, "--total-num-update", str(updates))  # polynomial decay's end
    wanted = settings.save_every * updates / settings.updates
    most = updates // settings.average if settings.average else updates
    return replace(
        settings, updates=updates, save_every=_save_every(updates, wanted, most), flags=flags
    )


def _save_every(updates: int, wanted: float, most: int) -> int:
    """Returns the number of updates between two checkpoints: about `wanted`, and not over `most`.

    The last checkpoint is as near to the last update as possible: what comes after it would be in
    no averaged model.
    """
    most = max(1, most)
    candidates = range(
        max(1, min(most, round(wanted / 1.5))), max(1, min(most, round(wanted * 1.5))) + 1
    )
    return min(candidates, key=lambda every: (updates % every, abs(every - wanted)))


def for_sample(settings: TaskSettings) -> TaskSettings:
    """Returns the settings for a narrow model and a short run."""
    kind = "gru" if settings.arch.startswith("gru") else "transformer"
    flags = replaced(settings.flags, "--warmup-updates", str(SAMPLE_UPDATES // 10))
    if "adam" in flags:
        flags = replaced(flags, "--lr", "2e-3")
    # the model of another run has its own size
    narrow = [] if flag_name(START) in flags else _NARROW[kind].split()
    return replace(
        settings,
        updates=SAMPLE_UPDATES,
        save_every=SAMPLE_UPDATES // 2,
        average=min(settings.average, 2),
        tokens=min(settings.tokens, SAMPLE_TOKENS),
        max_tokens=min(settings.max_tokens, SAMPLE_TOKENS),
        # validation with the checkpoints only, not after each of many small epochs
        flags=(*flags, *narrow, "--validate-interval", "1000"),
    )


# -- architectures -----------------------------------------------------------------------------


def _known() -> dict[str, Architecture]:
    return {**architectures(), STOCK.name: Architecture(STOCK.name, STOCK.model, {}, STOCK)}


def translation_family(arch: str) -> Family:
    """Returns the family of a translation architecture.

    Raises:
        UserError: no such architecture, or a language model
    """
    check_choices("architecture", [arch], _known(), "dc-nmt arch-flags")
    family = _known()[arch].family
    if family.task == "language_modeling":
        raise UserError(f"architecture: {arch!r} is a language model; this is translation")
    return family


def variants_of(family: Family) -> list[str]:
    """Returns the names of a family's variants, without a size."""
    return [f"{family.name}_{variant}" if variant else family.name for variant in family.variants]
