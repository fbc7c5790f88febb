"""From a script's command line to the shell variables that ``scripts/recipe.sh`` works with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from ..flags import flag_value
from .launch import DEFAULT_PORT, Batch, Machines, find_machines, share_out
from .pieces import POSITIONS, check_positions, longest_pieces
from .recipe import Recipe, load
from .words import Value, Words, replaced, take_apart

if TYPE_CHECKING:  # settings need torch, which takes seconds to load
    from .settings import Settings

SAMPLE_OPERATIONS = 2000  # of BPE at most
# option → whether it has a value
DATA_OPTIONS = {
    **dict.fromkeys(("--out", "--sample", "--downloads", "--raw"), True),
    "--any-counts": False,
}
# what an evaluation shares with its training
EVALUATION_OPTIONS = dict.fromkeys(
    ("--out", "--name", "--sample", "--size", "--seed", "--average", "--as"), True
)
RUN_OPTIONS = dict.fromkeys(
    (
        *("--out", "--name", "--sample", "--size", "--seed", "--average"),
        *("--max-update", "--max-tokens", "--update-freq"),
        *("--gpus", "--launcher", "--nodes", "--node-rank", "--rendezvous"),
    ),
    True,
)


def plan_data(argv: Sequence[str]) -> dict[str, Value]:
    """Variables of ``scripts/prepare.sh TASK [ARCH …]``.

    Raises:
        UserError: an unknown task, architecture or option
    """
    words = take_apart(argv, DATA_OPTIONS, names=99)
    if words.rest:
        raise UserError(f"unknown option {words.rest[0]!r}; choose among {', '.join(DATA_OPTIONS)}")
    recipe = _recipe(words)
    sample = words.number("--sample", 20)
    archs = words.names[1:]
    cuts = set(recipe.bpe)
    if archs:
        from .settings import settings_of

        cuts = {settings_of(recipe, arch).bpe for arch in archs}
    bpe = [cut for name, cut in recipe.bpe.items() if name in cuts]
    work = _out(words, recipe.folder, sample) / "data"
    settings = recipe.text_settings
    text = ["text", recipe.folder, "--work", str(work / "corpora")]
    for name in ("--raw", "--downloads", "--sample"):
        text += [name, words.options[name]] if name in words.options else []
    text += ["--any-counts"] if "--any-counts" in words.options else []
    return {
        "TASK": recipe.folder,
        "SRC": recipe.pair[0],
        "TGT": recipe.pair[1],
        "WORK": str(work),
        "TEXT_COMMAND": text,
        "TEXT_STAMP": _text_stamp(recipe, sample),
        "TOKENIZER": settings.stamp,
        "BPE_NAMES": [cut.name for cut in bpe],
        "BPE_OPERATIONS": [
            str(min(cut.operations, SAMPLE_OPERATIONS) if sample else cut.operations) for cut in bpe
        ],
        "BPE_JOINTS": ["yes" if cut.joint else "no" for cut in bpe],
        "BPE_DICTIONARIES": ["joint" if cut.joined_dictionary else "separate" for cut in bpe],
        "BPE_LIMITS": [f"{cut.max_tokens} {cut.ratio:g}" for cut in bpe],
        "BPE_VOCABULARIES": [str(cut.vocabulary or "") for cut in bpe],
    }


def plan_run(argv: Sequence[str]) -> dict[str, Value]:
    """Variables of ``scripts/train.sh TASK ARCH [flags]``.

    Raises:
        UserError: an unknown task or architecture, options that contradict each other, sentences
            longer than the model's positions
    """
    words = take_apart(argv, RUN_OPTIONS, names=2)
    recipe, settings, common = _run(words)
    seed = words.number("--seed", 0)
    pieces = Path(str(common["WORK"])) / f"bpe{_suffix(settings)}"
    lengths = longest_pieces(pieces)
    machines, batch = _batch(recipe, settings, words, pieces, lengths)
    rest = [*settings.flags, "--max-tokens", str(settings.tokens)]
    if "--max-tokens" in settings.flags:  # in its place, as earlier runs have it
        rest = list(settings.flags)
    identity = [*rest, "--seed", str(1 if seed is None else seed), *words.rest]
    flags = replaced(identity, "--max-tokens", str(batch.max_tokens))
    flags += ["--update-freq", str(batch.update_freq)] if batch.update_freq > 1 else []
    flags += machines.flags() + _valid_tokens(lengths, batch)
    return {
        **common,
        "UPDATES": settings.updates,
        "SAVE_EVERY": settings.save_every,
        "BATCH": batch.describe(settings.tokens),
        "LAUNCHER": machines.command(),
        "NODE_RANK": machines.rank,
        "TRAIN_IDENTITY": identity,
        "TRAIN_FLAGS": flags,
    }


def plan_evaluation(argv: Sequence[str]) -> dict[str, Value]:
    """Variables of ``scripts/evaluate.sh TASK ARCH``.

    Raises:
        UserError: an unknown task or architecture, or an option that only a training has
    """
    words = take_apart(argv, EVALUATION_OPTIONS, names=2)
    if words.rest:
        raise UserError(
            f"{words.rest[0]!r} is no option of scripts/evaluate.sh; it has "
            f"{', '.join(EVALUATION_OPTIONS)}, and flags of fairseq-generate behind --"
        )
    way = words.options.pop("--as", "")
    if not re.fullmatch(r"[\w.]*", way):
        raise UserError(
            f"--as: {way!r} becomes a part of folders' names: use letters, digits, _ and ."
        )
    _, _, common = _run(words)
    return {**common, "WAY": f"-{way}" if way else ""}


def _run(words: Words) -> tuple[Recipe, Settings, dict[str, Value]]:
    """Task, settings, and the variables that a training and its evaluation share."""
    from .settings import for_sample, settings_of

    recipe = _recipe(words)
    if len(words.names) < 2:
        raise UserError("name an architecture after the task; dc-nmt arch-flags lists them")
    sample = words.number("--sample", 20)
    settings = settings_of(recipe, words.names[1], words.options.get("--size"))
    if sample:
        settings = for_sample(settings)
    settings = _changed(settings, words)
    seed = words.number("--seed", 0)
    work = _out(words, recipe.folder, sample) / "data"
    name = "-".join(
        filter(None, (settings.arch, settings.label, f"s{1 if seed is None else seed}"))
    )
    return (
        recipe,
        settings,
        {
            "TASK": recipe.name,
            "TITLE": recipe.title,
            "ARCH": settings.arch,
            "ARCH_WORDS": settings.arch_flags,
            "SETTINGS": " ".join(settings.source.split()),
            "SRC": recipe.source,
            "TGT": recipe.target,
            "WORK": str(work),
            "RAW": str(work / "raw"),
            "TOKENISED": str(work / "raw/tokenised"),
            "BIN": str(work / f"bin{_suffix(settings)}"),
            "RUN": str(_out(words, recipe.name, sample) / words.options.get("--name", name)),
            "AVERAGE": settings.average,
            "GENERATE_FLAGS": list(settings.decode),
            "SCORE_FLAGS": _score_flags(recipe, settings, work),
        },
    )


def _suffix(settings: Settings) -> str:
    return f"-{settings.bpe}" if settings.bpe else ""


def _recipe(words: Words) -> Recipe:
    if not words.names:
        raise UserError("name a task; dc-nmt recipe list shows them")
    return load(words.names[0])


def _out(words: Words, name: str, sample: int | None) -> Path:
    """Folder of a task's data or runs."""
    if "--out" in words.options:
        return Path(words.options["--out"])
    return Path("runs") / (f"{name}-sample{sample}" if sample else name)


def _text_stamp(recipe: Recipe, sample: int | None) -> str:
    content = [str(sample)]
    for name, section in recipe.sections.items():
        if name.partition(":")[0] in ("part", "splits", "text"):
            content += [name, *(f"{key}={value}" for key, value in section.values.items())]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()[:16]


def _changed(settings: Settings, words: Words) -> Settings:
    from .settings import with_updates

    average = words.number("--average")
    if average is not None:
        settings = replace(settings, average=average)
    updates = words.number("--max-update")
    if updates is None:
        return settings
    warmup = flag_value(words.rest, "--warmup-updates")
    if warmup is not None:
        flags = replaced(list(settings.flags), "--warmup-updates", warmup)
        settings = replace(settings, flags=tuple(flags))
    return with_updates(settings, updates, "--max-update")


def _batch(
    recipe: Recipe, settings: Settings, words: Words, pieces: Path, lengths: dict[str, int]
) -> tuple[Machines, Batch]:
    """What it runs on, and each process's share of an update."""
    machines = find_machines(
        words.options.get("--launcher"),
        words.number("--gpus", 0),
        words.number("--nodes"),
        words.number("--node-rank", 0),
        words.options.get("--rendezvous", f"localhost:{DEFAULT_PORT}"),
    )
    limits = {
        language: int(flag_value((*settings.flags, *words.rest), flag) or POSITIONS)
        for language, flag in (
            (recipe.source, "--max-source-positions"),
            (recipe.target, "--max-target-positions"),
        )
    }
    check_positions(lengths, limits, pieces)
    fits = words.number("--max-tokens") or settings.max_tokens
    update_freq = words.number("--update-freq")
    if update_freq:
        return machines, Batch(machines.workers, fits, update_freq)
    longest = _longest(lengths, "train")
    return machines, share_out(settings.tokens, machines.workers, fits, longest)


def _longest(lengths: dict[str, int], split: str) -> int:
    """Tokens of a split's longest sentence, with the end token; 0 where unknown."""
    return max((n + 1 for name, n in lengths.items() if name.startswith(split)), default=0)


def _valid_tokens(lengths: dict[str, int], batch: Batch) -> list[str]:
    """Room for a validation sentence that is longer than a training batch."""
    longest = _longest(lengths, "valid")
    return ["--max-tokens-valid", str(longest)] if longest > batch.max_tokens else []


def _score_flags(recipe: Recipe, settings: Settings, work: Path) -> list[str]:
    text = recipe.text_settings
    tokenizer = "moses-a" if text.undo == "moses" and text.hyphens else text.undo
    reference = work / f"raw/tokenised/test.{recipe.target}"
    flags = ["--tokenizer", tokenizer, "--tokenized-reference", str(reference)]
    flags += ["--truecased"] if text.casing == "truecase" else []
    flags += ["--metrics", settings.metrics] if settings.metrics else []
    return [*flags, "--paper", settings.paper]
