"""What a paper trains, decodes and scores with: the ``[settings]`` of a recipe."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import cache

from ..errors import UserError, choice_problem
from ..flags import flag_value
from ..models.presets import FAMILIES, Architecture, architectures
from ..models.presets.family import Family
from ..papers.ini import Section, read_ini
from .recipe import Recipe

PAPERS = "papers.ini"  # in examples: settings that several tasks have in common
# a sample is trained in minutes on a CPU: the architecture itself, but narrow
SAMPLE_UPDATES = 100
SAMPLE_TOKENS = 2048
_NARROW = {
    "transformer": "--encoder-layers 4 --decoder-layers 4 --encoder-embed-dim 64 "
    "--decoder-embed-dim 64 --encoder-ffn-embed-dim 128 --decoder-ffn-embed-dim 128 "
    "--encoder-attention-heads 4 --decoder-attention-heads 4",
    "gru": "--embed-dim 64 --hidden-dim 128",
}


@dataclass(frozen=True)
class Settings:
    """How one architecture is trained on one task.

    Attributes:
        arch: value of ``--arch``, with its size
        arch_flags: it, its task and its criterion
        source: where the settings are published, and what is not
        label: part of the run's folder name
        bpe: name of the words' cutting
        tokens: of one update, all GPUs together
        max_tokens: what one GPU is given at a time at most
        updates, save_every: training updates, and between two checkpoints
        average: last checkpoints that are averaged; 0: the best one alone
        flags, decode: of fairseq-train and fairseq-generate
        paper, metrics: of dc-nmt score: the paper's line, and all
    """

    arch: str
    arch_flags: str
    source: str
    label: str
    bpe: str
    tokens: int
    max_tokens: int
    updates: int
    save_every: int
    average: int
    flags: tuple[str, ...]
    decode: tuple[str, ...]
    paper: str
    metrics: str


def settings_of(recipe: Recipe, arch: str, size: str | None = None) -> Settings:
    """The settings of an architecture.

    A recipe has them for all (``[settings]``), and what is different for one family
    (``[settings:FAMILY]``) or architecture.

    Args:
        arch: with or without its size; without, the paper's size is put behind it
        size: another one, such as ``big``; ``base`` for the one without a name

    Raises:
        UserError: no such architecture
    """
    known = _known()
    problem = choice_problem("architecture", arch, known)
    if problem:
        raise UserError(problem)
    family = known[arch].family
    if family.task == "language_modeling":
        raise UserError(f"architecture: {arch!r} is a language model; this is translation")
    section = _merged(recipe, family, arch)
    wanted = section.text("size", "") if size is None else size.replace("base", "")
    sized = f"{arch}_{wanted}" if wanted and arch in _without_size(family) else arch
    if sized not in known:
        near = ", ".join(name for name in known if name.startswith(arch))
        raise UserError(f"architecture: there is no {sized!r}; there are {near}")
    bpe = section.text("bpe", "")
    problem = choice_problem(f"{section.path}, [{section.name}] bpe", bpe, recipe.bpe)
    if problem:
        raise UserError(problem)
    return Settings(
        arch=sized,
        arch_flags=f"--arch {sized} --task {family.task} --criterion {family.criterion}",
        source=section.text("source"),
        label=section.text("label", ""),
        bpe=bpe,
        tokens=_positive(section, "tokens"),
        max_tokens=section.number("max_tokens") or _positive(section, "tokens"),
        updates=_positive(section, "updates"),
        save_every=_positive(section, "save_every"),
        average=section.number("average", 5) or 0,
        flags=tuple(shlex.split(section.text("flags"))),
        decode=tuple(shlex.split(section.text("decode"))),
        paper=section.text("paper"),
        metrics=section.text("metrics", ""),
    )


def with_updates(settings: Settings, updates: int, label: str) -> Settings:
    """The same for another number of updates; checkpoints as often in proportion.

    Raises:
        UserError: the learning rate would rise all the time, or too few checkpoints would come
    """
    warmup = int(flag_value(settings.flags, "--warmup-updates") or 0)
    if warmup >= updates:
        raise UserError(f"{label} {updates}: --warmup-updates {warmup} must be below it; give both")
    save = max(1, round(settings.save_every * updates / settings.updates))
    if settings.average:
        save = min(save, max(1, updates // settings.average))
    if settings.average > updates:
        raise UserError(
            f"{label} {updates}: too few for the mean of {settings.average} checkpoints"
        )
    return replace(settings, updates=updates, save_every=save)


def for_sample(settings: Settings) -> Settings:
    """Narrow and short, everything else as it is."""
    kind = "gru" if settings.arch.startswith("gru") else "transformer"
    flags = list(settings.flags)
    for name, value in (("--warmup-updates", str(SAMPLE_UPDATES // 10)), ("--lr", "2e-3")):
        if name in flags and not (name == "--lr" and "adam" not in flags):
            flags[flags.index(name) + 1] = value
    return replace(
        settings,
        updates=SAMPLE_UPDATES,
        save_every=SAMPLE_UPDATES // 4,
        average=min(settings.average, 2),
        tokens=min(settings.tokens, SAMPLE_TOKENS),
        max_tokens=min(settings.max_tokens, SAMPLE_TOKENS),
        # validation with the checkpoints only, not after each of many small epochs
        flags=(*flags, *_NARROW[kind].split(), "--validate-interval", "1000"),
    )


def unsized_architectures() -> list[str]:
    """Every translation architecture without its size, as the scripts are given them."""
    families = [family for family in FAMILIES if family.task != "language_modeling"]
    return [name for family in families for name in _without_size(family)]


@cache
def _known() -> dict[str, Architecture]:
    return architectures()


def _without_size(family: Family) -> list[str]:
    return ["_".join(filter(None, (family.name, variant))) for variant in family.variants]


def _merged(recipe: Recipe, family: Family, arch: str) -> Section:
    found = recipe.named("settings")
    values: dict[str, str] = {}
    names = ["", family.name, *(n for n in _without_size(family) if n != family.name)]
    used = "settings"
    for name in names:
        general = name in ("", family.name)
        if name in found and (general or arch == name or arch.startswith(f"{name}_")):
            values.update(_with_paper(found[name]))
            used = found[name].name
    if arch in found:
        values.update(_with_paper(found[arch]))
        used = found[arch].name
    if not values:
        raise UserError(f"{recipe.path}: has no [settings] for {arch}")
    return Section(recipe.path, used, values)


def _with_paper(section: Section) -> dict[str, str]:
    """The section's values on top of those that several tasks share (``like``)."""
    name = section.values.get("like")
    if name is None:
        return section.values
    path = section.path.parents[1] / PAPERS
    papers = {key.partition(":")[2]: paper for key, paper in read_ini(path).items()}
    problem = choice_problem(f"{section.path}, [{section.name}] like", name, papers)
    if problem:
        raise UserError(problem)
    return {**papers[name].values, **section.values}


def _positive(section: Section, key: str) -> int:
    number = section.number(key)
    if not number:
        raise section.problem(key, "is not a whole number above zero")
    return number
