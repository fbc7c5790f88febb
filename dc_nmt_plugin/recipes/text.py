"""Training, validation and test text of a recipe, raw and tokenised."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from ..errors import UserError
from ..files import write_json, write_parallel, writing
from ..machine import GIB, free_disk_gib
from ..table import format_table
from ..text.checks import bare
from ..text.preparation import fits, learn_truecaser
from .corpora import Corpora
from .formats import Pair
from .recipe import Recipe
from .schema import Part
from .sources import Say, Sources, megabytes

COPIES = 6  # copies of the raw text: read, tokenised, both again as splits, BPE, binarised
TOLERANCE = 0.05  # of a published number that is rounded ("~")


def say_disk(
    recipe: Recipe, sources: Sources, folder: Path, sample: int | None, say: Say = print
) -> None:
    """Prints the disk space that the preparation needs.

    Raises:
        UserError: the disk has less space
    """
    fetched = sum(file.bytes or 0 for file in sources.missing())
    known = sum(part.lines or 0 for part in recipe.split_parts("train"))
    pairs = sample or expectation(recipe, "train")[0] or known
    text = COPIES * pairs * recipe.task.pair_bytes
    folder.mkdir(parents=True, exist_ok=True)
    free = free_disk_gib(folder) * GIB
    say(
        f"disk: about {megabytes(fetched)} to fetch and {megabytes(text)} of prepared text; "
        f"{megabytes(free)} are free"
    )
    if fetched + text > free:
        raise UserError(
            f"{folder}: {megabytes(fetched + text)} are needed and {megabytes(free)} are free; "
            "choose another disk with --out (and --downloads)"
        )


def expectation(recipe: Recipe, split: str) -> tuple[int | None, bool]:
    """Returns the published number of pairs of a split, and True if it is exact (no ``~``)."""
    text = getattr(recipe.task.splits, f"{split}_lines", "").replace(",", "")
    number = text.removeprefix("~").strip()
    if number and not number.isdecimal():
        raise recipe.problem(f"splits.{split}_lines", f"{text!r} is not a number or ~number")
    return (int(number) if number else None), not text.startswith("~")


def make_text(
    recipe: Recipe,
    sources: Sources,
    work: Path,
    to: Path,
    sample: int | None = None,
    any_counts: bool = False,
    say: Say = print,
) -> dict[str, int]:
    """Writes ``to/SPLIT.LANG`` (raw) and ``to/tokenised/SPLIT.LANG``.

    Args:
        recipe: which task
        sources: its files
        work: folder of files that later runs use again
        to: folder to write into
        sample: approximate number of training pairs; other splits have a tenth at most
        any_counts: only warn when numbers of lines differ from the published ones
        say: called with lines of progress

    Returns:
        split → pairs

    Raises:
        UserError: files are missing, damaged, or not those of the paper
    """
    corpora = _corpora(recipe, sources, work, sample, any_counts, say)
    parts = {split: recipe.split_parts(split) for split in recipe.splits}
    for split in recipe.splits:
        parts[split] = [part for part in parts[split] if corpora.ready(part)]
    if not parts["train"]:
        raise UserError(f"{recipe.path}: no training corpus was found")
    chosen = _choose(recipe, corpora, parts, sample)
    counts = {split: _write(recipe, corpora, *chosen[split], split, to) for split in recipe.splits}
    if corpora.settings.casing == "truecase":
        _truecase(recipe, to, say)
    _check_counts(recipe, counts, sample, any_counts, say)
    _manifest(recipe, sources, counts, to)
    return counts


def optional_parts(recipe: Recipe, sources: Sources, work: Path, sample: int | None) -> list[str]:
    """Returns the names of the optional corpora that :func:`make_text` would use."""
    corpora = _corpora(recipe, sources, work, sample, True, lambda _: None)
    parts = recipe.task.parts.values()
    return sorted(part.name for part in parts if part.optional and corpora.here(part))


def _corpora(
    recipe: Recipe, sources: Sources, work: Path, sample: int | None, any_counts: bool, say: Say
) -> Corpora:
    limit = None if sample is None else 4 * sample + 100
    return Corpora(recipe, sources, work, limit, any_counts, say)


Choice = tuple[list[Part], Callable[[int], bool]]


def _choose(
    recipe: Recipe, corpora: Corpora, parts: dict[str, list[Part]], sample: int | None
) -> dict[str, Choice]:
    """Returns the lines (counted over all corpora of a split) of each split."""
    held_out = None if sample is None else max(10, sample // 10)
    kept, ends = _clean(recipe, corpora, parts)
    total = sum(kept)
    valid: set[int] = set()  # places among the kept training lines
    if not parts["valid"]:
        valid = _from_training(recipe, total, held_out)
    places = iter(range(total))
    # line → its place among the kept ones, -1 for a dropped one
    place = [next(places) if keep else -1 for keep in kept] if valid or sample else None
    if valid and place is not None and recipe.task.splits.exclude_valid:
        _leave_out_others(corpora, parts["train"], kept, [number in valid for number in place])
    trained = _spread(kept, ends, valid, place, sample)
    result: dict[str, Choice] = {"train": (parts["train"], trained)}
    if valid and place is not None:
        held = place
        result["valid"] = (parts["train"], lambda line: held[line] in valid)
    for split in recipe.splits[1:]:
        if split not in result:
            result[split] = (parts[split], lambda line: held_out is None or line < held_out)
    return result


def _clean(
    recipe: Recipe, corpora: Corpora, parts: dict[str, list[Part]]
) -> tuple[bytearray, list[int]]:
    """Returns 1 for every used training line, and the line after each corpus's last."""
    settings = recipe.task.text
    splits = recipe.task.splits
    held = [*(recipe.splits[2:] if splits.exclude_test else ())]
    held += ["valid"] if splits.exclude_valid else []
    kept_apart: set[int] = set()
    for part in (part for split in held for part in parts[split]):
        kept_apart.update(hash(bare(source)) for source, _ in corpora.tokens(part))
    kept, ends = bytearray(), []
    for part in parts["train"]:
        for source, target in corpora.tokens(part):
            good = fits(source, target, settings.max_tokens, settings.ratio)
            kept.append(good and not (kept_apart and hash(bare(source)) in kept_apart))
        ends.append(len(kept))
    return kept, ends


def _leave_out_others(
    corpora: Corpora, parts: list[Part], kept: bytearray, held_out: list[bool]
) -> None:
    """Drops training lines whose source is also the source of a held-out line."""

    def sources() -> Iterator[int]:
        return (hash(bare(source)) for part in parts for source, _ in corpora.tokens(part))

    known = {source for source, held in zip(sources(), held_out, strict=True) if held}
    for line, source in enumerate(sources()):
        if source in known and not held_out[line]:
            kept[line] = 0


def _from_training(recipe: Recipe, total: int, held_out: int | None) -> set[int]:
    """Returns the positions of training lines that become validation text."""
    rule = recipe.held_out()
    if rule is None:
        raise recipe.problem("splits.valid", "is not names of parts, 'random N' or 'every N'")
    how, number = rule
    if how == "every":
        return set(islice(range(number - 1, total, number), held_out))
    wanted = min(number if held_out is None else held_out, total // 2)
    return set(random.Random(recipe.task.splits.seed).sample(range(total), wanted))


def _spread(
    kept: bytearray,
    ends: list[int],
    valid: set[int],
    place: list[int] | None,
    sample: int | None,
) -> Callable[[int], bool]:
    """Returns a test of used training lines; a sample takes similar amounts of every corpus."""
    if place is None:
        return lambda line: bool(kept[line])
    share = len(kept) if sample is None else -(-sample // len(ends))
    used = bytearray(len(kept))
    start = 0
    for end in ends:
        fitting = (line for line in range(start, end) if kept[line] and place[line] not in valid)
        for line in islice(fitting, share):
            used[line] = 1
        start = end
    return lambda line: bool(used[line])


def _write(
    recipe: Recipe,
    corpora: Corpora,
    parts: list[Part],
    wanted: Callable[[int], bool],
    split: str,
    to: Path,
) -> int:
    counts = []
    for reader, folder in ((corpora.raw, to), (corpora.tokens, to / "tokenised")):
        paths = [folder / f"{split}.{language}" for language in recipe.pair]
        counts.append(write_parallel(paths, _lines(parts, reader, wanted)))
    if counts[0] != counts[1]:
        raise UserError(f"{to}: {split} has {counts[0]:,} pairs, tokenised {counts[1]:,}")
    return counts[0]


def _lines(
    parts: list[Part], reader: Callable[[Part], Iterator[Pair]], wanted: Callable[[int], bool]
) -> Iterator[Pair]:
    line = 0
    for part in parts:
        for pair in reader(part):
            if wanted(line):
                yield pair
            line += 1


def _truecase(recipe: Recipe, to: Path, say: Say) -> None:
    for language in recipe.pair:
        say(f"learning the truecaser of {language} (kept beside the text)")
        with open(to / f"tokenised/train.{language}", encoding="utf-8", newline="\n") as lines:
            truecase = learn_truecaser(lines, to / f"truecase.{language}")
        for split in recipe.splits:
            path = to / f"tokenised/{split}.{language}"
            with (
                open(path, encoding="utf-8", newline="\n") as lines,
                writing(path) as out,
            ):
                out.writelines(truecase(line.removesuffix("\n")) + "\n" for line in lines)


def _check_counts(
    recipe: Recipe, counts: dict[str, int], sample: int | None, any_counts: bool, say: Say
) -> None:
    rows, problems = [], []
    for split, count in counts.items():
        published, exact = expectation(recipe, split)
        rows.append(
            (split, f"{count:,}", f"{'' if exact else '~'}{published:,}" if published else "")
        )
        if count == 0:
            raise UserError(f"{recipe.name}: no pair is left for {split}")
        slack = 0 if exact or published is None else TOLERANCE * published
        if published is not None and abs(count - published) > slack:
            problems.append(f"{split} has {count:,} pairs, published are {published:,}")
    say(format_table(("split", "pairs", "published"), rows))
    if sample is None and problems:
        problem = f"{recipe.name}: {'; '.join(problems)}"
        if not any_counts:
            raise UserError(
                f"{problem}: the files differ from the paper's; --any-counts continues anyway"
            )
        say(f"warning: {problem}")


def _manifest(recipe: Recipe, sources: Sources, counts: dict[str, int], to: Path) -> None:
    content = {
        "task": recipe.name,
        "pairs": counts,
        "files": sources.checksums(),
        "text": asdict(recipe.task.text),
    }
    write_json(to / "manifest.json", content)
