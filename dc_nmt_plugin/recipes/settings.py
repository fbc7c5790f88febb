"""Settings of training, decoding and scoring: one merge, in which the later value wins.

1. ``DEFAULTS``
2. the recipe's entries, from the general to the special: ``all``, the direction, the family, the
   variant, the architecture with its size. Before each comes the paper that it names by ``like``.
3. the paper of ``--like``, with the recipe's own changes to it
4. flags of the command line, which plan.py appends
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError, check_choices
from ..files import read_yaml
from ..flags import flag_value, replaced
from ..models.presets import STOCK, Architecture, Family, architectures
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

    name: str  # of the entry of papers.yaml
    arch: str  # value of --arch, with its size
    task: str  # names of fairseq's, for the architecture
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
    paper: str  # metric of the paper, of dc-nmt score
    metrics: str  # all metrics


@cache
def settings_of(
    recipe: Recipe, arch: str, size: str | None = None, like: str | None = None
) -> TaskSettings:
    """Returns the settings of an architecture on a task.

    Args:
        recipe: of the task
        arch: with or without size; without, the paper's size is added
        size: another size, such as ``big``; ``base`` for the size without a name
        like: an entry of ``papers.yaml``: train with the settings of that paper instead

    Raises:
        UserError: no such architecture, no such size of it, or no such settings
    """
    family = translation_family(arch)
    _, values = _merged(recipe, family, arch, like)
    task_size, arch = _sized(values, family, arch, size)
    name, values = _merged(recipe, family, arch, like)  # now with the entry for this size
    if "big" in values and re.search(r"_big(_|$)", arch):
        name, values = _merged(recipe, family, arch, values["big"])
    place = f"{recipe.path}: settings.{name}"
    check_choices(f"{place}.bpe", [values["bpe"]], recipe.task.bpe, error=UserError)
    for key in REQUIRED:
        if not values.get(key):
            raise UserError(f"{place}.{key}: is missing")
    return TaskSettings(
        name=name,
        arch=arch,
        task=family.task,
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
        decode=tuple(shlex.split(values["decode"])),
        paper=values["paper"],
        metrics=values["metrics"],
    )


def _merged(
    recipe: Recipe, family: Family, arch: str, like: str | None
) -> tuple[str, dict[str, Any]]:
    """Merges the entries for an architecture, as the head of this file says.

    Returns:
        the name of the last paper, and the values of a :class:`SettingsEntry`, without None
    """
    entries = recipe.task.settings
    variants = [v for v in variants_of(family) if arch == v or arch.startswith(f"{v}_")]
    values: dict[str, Any] = {}
    paper = ""
    for name in dict.fromkeys(["all", recipe.direction, family.name, *variants, arch]):
        if name in entries:
            values |= _with_paper(entries[name], f"{recipe.path}: settings.{name}.like")
            paper = entries[name].like or paper
    if like is not None:
        values |= _of_like(recipe, like)
        paper = like
    if not values:
        raise UserError(f"{recipe.path}: settings: has nothing for {arch}")
    return paper, DEFAULTS | values


def _of_like(recipe: Recipe, like: str) -> dict[str, Any]:
    """Returns the values of ``--like``, with the recipe's own changes to them."""
    own = [entry for entry in recipe.task.settings.values() if entry.like == like]
    values = _with_paper(own[0] if own else SettingsEntry(like=like), "--like")
    if values.get("bpe") not in recipe.task.bpe:
        values.pop("bpe", None)  # this task has no such segmentation: use its default
    return values


def _with_paper(entry: SettingsEntry, place: str) -> dict[str, Any]:
    """Returns the values of an entry, after those of the paper that it names."""
    values = {key: value for key, value in vars(entry).items() if value is not None}
    if entry.like is None:
        return values
    papers = _papers()
    check_choices(place, [entry.like], papers, error=UserError)
    return _with_paper(papers[entry.like], place) | values


@cache
def _papers() -> dict[str, SettingsEntry]:
    return read_yaml(PAPERS, dict[str, SettingsEntry])


def _sized(values: dict[str, Any], family: Family, arch: str, size: str | None) -> tuple[str, str]:
    """Returns the task's own size or "", and the architecture with its size.

    A task's own size is flags, and any other size is the end of the architecture's name.

    Raises:
        UserError: neither has this size
    """
    own = list(values["sizes"])
    if size in own:
        return str(size), arch
    if size is not None and "--encoder-embed-dim" in values.get("flags", "").split():
        others = f"; it has the sizes {', '.join(own)}" if own else ""
        raise UsageError(
            f"--size {size}: the recipe's own flags set the model's width{others}. For another, "
            "change the recipe, or give --encoder-embed-dim and the others behind it with --name"
        )
    suffix = values["size"] if size is None else size.replace("base", "")
    # a size in the name of the architecture wins
    sized = f"{arch}_{suffix}" if suffix and arch in variants_of(family) else arch
    if sized not in _known():
        sizes = [*own, *_sizes_of(arch, family)]
        raise UsageError(f"--size {suffix}: there is no {sized!r}; there are {', '.join(sizes)}")
    return (own[0] if own else ""), sized


def _sizes_of(arch: str, family: Family) -> list[str]:
    """Returns an architecture's names with its sizes."""
    names = [f"{arch}_{size}" if size else arch for size in family.sizes]
    return [name for name in names if name in _known()]


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
        if not warmup.isdecimal():
            raise UsageError(f"--warmup-updates {warmup}: give a whole number.")
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
    return replace(
        settings,
        updates=SAMPLE_UPDATES,
        # not a multiple of an epoch's updates: fairseq saves no update checkpoint at an epoch's end
        save_every=13,
        average=min(settings.average, 2),
        tokens=min(settings.tokens, SAMPLE_TOKENS),
        max_tokens=min(settings.max_tokens, SAMPLE_TOKENS),
        # validation with the checkpoints only, not after each of many small epochs
        flags=(*flags, *_NARROW[kind].split(), "--validate-interval", "1000"),
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
