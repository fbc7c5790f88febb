"""Training, validation and test text of a recipe, raw and tokenised."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from msgspec.structs import asdict

from ...errors import UserError, counted
from ...files import is_same_file, write_json, write_lines, write_parallel
from ...text.lines import stream_lines
from ..raw_text.checks import bare
from ..raw_text.preparation import fits, learn_truecaser, load_truecaser
from ..table import format_table
from .corpora import Corpora
from .formats import Pair
from .held_out import lines_by_rule
from .recipe import Part, Recipe

TOLERANCE = 0.05  # of a published number that is rounded ("~")


def _published(recipe: Recipe, split: str) -> tuple[int | None, bool]:
    """Returns the published number of pairs of a split, and True if it is exact (no ``~``)."""
    text = getattr(recipe.task.splits, f"{split}_lines", "").replace(",", "")
    number = text.removeprefix("~").strip()
    return (int(number) if number else None), not text.startswith("~")


def make_text(corpora: Corpora, to: Path) -> dict[str, int]:
    """Writes ``to/SPLIT.LANG`` (raw) and ``to/tokenised/SPLIT.LANG``.

    In a sample, the other splits have a tenth of the training pairs at most.

    Returns:
        split → pairs

    Raises:
        UserError: files are missing, damaged, or not those of the paper, or would be replaced
    """
    recipe, sample = corpora.recipe, corpora.sample
    _check_replaces_nothing(to, recipe)
    parts = {
        split: [part for part in recipe.split_parts(split) if corpora.prepare(part)]
        for split in recipe.splits
    }
    most = None if sample is None else max(10, sample // 10)  # pairs of the other splits

    # of all training corpora, one after the other: 1 for a used line
    kept, ends = _clean(corpora, parts)
    if left := kept.count(0):
        corpora.say(
            f"{counted(left, 'training pair')} left out: blank, too long, uneven, or with the "
            "source of a validation or test pair"
        )
    valid: set[int] = set()
    rule = recipe.held_out()
    if rule:
        valid = lines_by_rule(rule, recipe.task.splits.seed, kept, most)
        for line in valid:
            kept[line] = 0
    if sample is not None:
        _keep_first(kept, ends, -(-sample // sum(part.repeat for part in parts["train"])))
    counts = _write_all(corpora, parts, to, kept, valid, most)
    if corpora.settings.casing == "truecase":
        _truecase(corpora, to)
    if any(part.tag for part in parts["train"]):
        _add_tags(recipe.source, parts["train"], kept, ends, to)
    _check_counts(corpora, counts)
    write_manifest(recipe, counts, to, sample)
    return counts


def write_manifest(recipe: Recipe, counts: dict[str, int], to: Path, sample: int | None) -> None:
    """Writes what is known of prepared text beside it."""
    manifest = {
        "task": f"{recipe.name}-sample{sample}" if sample else recipe.name,
        "pairs": counts,
        "text": asdict(recipe.task.text),
    }
    write_json(to / "manifest.json", manifest)


def _check_replaces_nothing(to: Path, recipe: Recipe) -> None:
    """Refuses a folder with files of these names that no recipe made, or that are read."""
    names = [f"{split}.{language}" for split in recipe.splits for language in recipe.pair]
    there = [to / name for name in names if (to / name).exists()]
    read = recipe.local_files()
    replaced = [path for path in there if any(is_same_file(path, source) for source in read)]
    if not (to / "manifest.json").is_file():
        replaced += there
    if replaced:
        raise UserError(f"--out {to}: {replaced[0]} would be replaced; take another folder")


def _write_all(
    corpora: Corpora,
    parts: dict[str, list[Part]],
    to: Path,
    kept: bytearray,
    valid: set[int],
    most: int | None,
) -> dict[str, int]:
    """Writes every split; returns split → pairs.

    Args:
        corpora: of the recipe
        parts: split → its corpora
        to: folder
        kept: 1 for a used line of the training corpora
        valid: lines of the training corpora that are validation text
        most: number of pairs of the other splits; None for all
    """
    counts = {}
    for split in corpora.recipe.splits:
        wanted, source = _is_below(most), split
        if split == "train":
            wanted = kept.__getitem__
        elif split == "valid" and valid:
            wanted, source = valid.__contains__, "train"
        counts[split] = _write(corpora, parts[source], wanted, split, to)
    return counts


def _is_below(most: int | None) -> Callable[[int], object]:
    return lambda line: most is None or line < most


def _clean(corpora: Corpora, parts: dict[str, list[Part]]) -> tuple[bytearray, list[int]]:
    """Returns 1 for every used training line, and the line after each corpus's last."""
    recipe, settings = corpora.recipe, corpora.settings
    splits = recipe.task.splits
    excluded = list(recipe.splits[2:]) if splits.exclude_test else []
    excluded += ["valid"] if splits.exclude_valid else []
    known: set[int] = set()  # of hashes, because training text may have millions of lines
    for split in excluded:
        for part in parts[split]:
            known.update(hash(bare(source)) for source, _ in corpora.tokens(part))
    kept, ends = bytearray(), []
    for part in parts["train"]:
        for source, target in corpora.tokens(part):
            good = fits(source, target, settings.max_tokens, settings.ratio)
            kept.append(good and not (known and hash(bare(source)) in known))
        ends.append(len(kept))
    return kept, ends


def _keep_first(kept: bytearray, ends: list[int], share: int) -> None:
    """Keeps only so many lines of every corpus: a sample has text of all of them."""
    start = 0
    for end in ends:
        used = 0
        for line in range(start, end):
            used += kept[line]
            if used > share:
                kept[line] = 0
        start = end


def _write(
    corpora: Corpora, parts: list[Part], wanted: Callable[[int], object], split: str, to: Path
) -> int:
    """Writes the wanted lines of corpora, raw and tokenised; returns their number."""
    for read, folder in ((corpora.raw, to), (corpora.tokens, to / "tokenised")):
        chosen = _chosen(read, parts, wanted, repeated=split == "train")
        paths = [folder / f"{split}.{language}" for language in corpora.recipe.pair]
        count = write_parallel(paths, chosen)
    return count


def _chosen(
    read: Callable[[Part], Iterator[Pair]],
    parts: list[Part],
    wanted: Callable[[int], object],
    repeated: bool,
) -> Iterator[Pair]:
    """Yields the wanted lines of corpora, one corpus after the other."""
    start = 0
    for part in parts:
        for _ in range(part.repeat if repeated else 1):
            end = start
            for end, pair in enumerate(read(part), start=start + 1):
                if wanted(end - 1):
                    yield pair
        start = end


def _add_tags(source: str, parts: list[Part], kept: bytearray, ends: list[int], to: Path) -> None:
    """Writes the tags of corpora before their source sentences.

    A tag comes last: a tokeniser would take it apart, and a truecaser would take it for the first
    word of the sentence.

    Args:
        source: language
        parts: of the training text
        kept: 1 for a used line of the training corpora
        ends: the line after each corpus's last
        to: folder of the text
    """
    counts = [sum(kept[start:end]) for start, end in pairwise([0, *ends])]
    for path in (to / f"train.{source}", to / f"tokenised/train.{source}"):
        tags = (
            part.tag
            for part, count in zip(parts, counts, strict=True)
            for _ in range(part.repeat * count)
        )
        lines = zip(tags, stream_lines(path), strict=True)
        write_lines(path, (f"{tag} {line}" if tag else line for tag, line in lines))


def _truecase(corpora: Corpora, to: Path) -> None:
    for language in corpora.recipe.pair:
        path = to / f"truecase.{language}"
        if path.name in corpora.recipe.task.files:  # of the run that is trained on
            shutil.copyfile(corpora.sources.path(path.name), path)
            truecase = load_truecaser(path)
        else:
            corpora.say(f"learning the truecaser of {language} (kept beside the text)")
            truecase = learn_truecaser(stream_lines(to / f"tokenised/train.{language}"), path)
        for split in corpora.recipe.splits:
            path = to / f"tokenised/{split}.{language}"
            write_lines(path, map(truecase, stream_lines(path)))


def _check_counts(corpora: Corpora, counts: dict[str, int]) -> None:
    """Prints the numbers of pairs beside the published ones, and compares them."""
    recipe, rows, problems = corpora.recipe, [], []
    for split, count in counts.items():
        if count == 0:
            raise UserError(f"{recipe.name}: no pair is left for {split}")
        published, exact = _published(recipe, split)
        if published is None:
            rows.append((split, f"{count:,}", ""))
            continue
        rows.append((split, f"{count:,}", f"{'' if exact else '~'}{published:,}"))
        if abs(count - published) > (0 if exact else TOLERANCE * published):
            problems.append(f"{split} has {counted(count, 'pair')}, published are {published:,}")
    corpora.say(format_table(("split", "pairs", "published"), rows))
    if problems:
        corpora.refuse_count(f"{recipe.name}: {'; '.join(problems)}")
