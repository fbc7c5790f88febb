"""Reads and tokenises each corpus of a recipe once; interrupted work can be continued."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace
from tqdm import tqdm

from ...errors import UserError, counted
from ...files import write_lines, write_parallel
from ...text.lines import stream_lines
from ..raw_text.checks import refuse, scan_groups
from ..raw_text.preparation import CHUNK, tokenise
from ..raw_text.tokenizers import detokenize
from ..steps import is_made, making_once, stamp_of
from .formats import Pair, read_pairs
from .recipe import Part
from .sources import Sources, extract

T = TypeVar("T")
ALLOWED = ("mojibake", "tab")  # a published corpus is used with all its faults


class Corpora:
    """Manages the corpora of a recipe: ``folder/PART`` has ``raw.LANG`` and ``tok.LANG``.

    An interrupted preparation continues with them. They go when the sets are written.

    Args:
        sources: files of the recipe
        folder: where the text is put
        sample: approximate number of training pairs; None for all
        any_counts: only warn when numbers of pairs differ from the known ones
    """

    def __init__(
        self, sources: Sources, folder: Path, sample: int | None, any_counts: bool
    ) -> None:
        self.sources, self.recipe, self.say = sources, sources.recipe, sources.say
        self.folder, self.sample, self.any_counts = folder, sample, any_counts
        # greatest number of pairs from each corpus, of which some are dropped later
        self.limit = None if sample is None else 4 * sample + 100
        self.settings = self.recipe.task.text

    def prepare(self, part: Part) -> bool:
        """Reads and tokenises a corpus unless done; returns False for a missing optional corpus.

        Raises:
            UserError: a file is missing or unusable, or the number of lines is wrong
        """
        if not self.is_used(part):
            self.say(f"{part.name}: left out, {', '.join(self._files(part))} is not here")
            return False
        folder = self.folder / part.name
        stamp = stamp_of({"limit": self.limit, **self.recipe.text_facts()})
        if is_made(folder, stamp) and all(path.is_file() for path in self._texts(part)):
            self.say(f"{part.name}: done before")
            return True
        with making_once(folder, stamp) as to:
            self._make(part, to)
        return True

    def is_used(self, part: Part) -> bool:
        """Returns True if a corpus is used; only an optional one may be missing.

        A corpus that was read before counts as present, even if its files are gone.
        """
        return (
            not part.optional
            or all(map(self.sources.available, self._files(part)))
            or (self.folder / part.name).is_dir()
        )

    def optional(self) -> list[str]:
        """Returns the names of the optional corpora that are used."""
        parts = self.recipe.task.parts.values()
        return sorted(part.name for part in parts if part.optional and self.is_used(part))

    def raw(self, part: Part) -> Iterator[Pair]:
        """Yields the pairs of a corpus untokenised: as published, or detokenised."""
        pairs = self._pairs(part, "raw")
        if not part.tokenised or self.settings.scored_as == "none":
            yield from pairs
            return
        while chunk := list(islice(pairs, CHUNK)):
            sides = [
                detokenize(side, self.settings.scored_as, language)
                for side, language in zip(zip(*chunk, strict=True), self.recipe.pair, strict=True)
            ]
            yield from zip(*sides, strict=True)

    def tokens(self, part: Part) -> Iterator[Pair]:
        """Yields the pairs of a corpus tokenised."""
        return self._pairs(part, "tok")

    def _pairs(self, part: Part, kind: str) -> Iterator[Pair]:
        folder = self.folder / part.name
        first, second = (stream_lines(folder / f"{kind}.{code}") for code in self.recipe.pair)
        return zip(first, second, strict=True)

    def _texts(self, part: Part) -> list[Path]:
        names = [f"{kind}.{language}" for kind in ("raw", "tok") for language in self.recipe.pair]
        return [self.folder / part.name / name for name in names]

    def remove_texts(self) -> None:
        """Removes the text of all corpora; their folders stay and say which ones were read."""
        for part in self.recipe.task.parts.values():
            for path in self._texts(part):
                path.unlink(missing_ok=True)

    def _files(self, part: Part) -> list[str]:
        return sorted({part.member(language)[0] for language in self.recipe.pair})

    def _make(self, part: Part, to: Path) -> None:
        """Writes a corpus, raw and tokenised."""
        paths = [self._unpacked(part, language, to) for language in self.recipe.pair]
        pairs = read_pairs(part.format, paths)
        if part.apostrophe:
            pairs = ((one.replace("’", "'"), other.replace("’", "'")) for one, other in pairs)
        pairs = islice(pairs, self.limit)
        raw = [to / f"raw.{language}" for language in self.recipe.pair]
        count = write_parallel(raw, self._progress(part, pairs, "read"))
        for path in to.glob("unpacked.*"):
            path.unlink()
        self.say(f"{part.name}: {counted(count, 'pair')}")
        self._check(part, raw, count)
        settings = replace(self.settings, tokenizer="none") if part.tokenised else self.settings
        for language in self.recipe.pair:
            lines = stream_lines(to / f"raw.{language}")
            shown = self._progress(part, lines, f"tokenise {language}")
            write_lines(to / f"tok.{language}", tokenise(shown, language, settings))

    def _unpacked(self, part: Part, language: str, to: Path) -> Path:
        """Returns the file of a side, taken out of its archive."""
        name, member = part.member(language)
        path = self.sources.path(name)
        if member is None:
            return path
        self.say(f"{part.name}: unpacking {member}")
        extract(path, member, to / f"unpacked.{language}")
        return to / f"unpacked.{language}"

    def _check(self, part: Part, raw: Sequence[Path], count: int) -> None:
        """Prints what is odd in the text; refuses it, or another number of pairs."""
        _, findings = scan_groups([raw])
        if part.tokenised or self.settings.tokenizer == "none":  # the recipe knows it
            findings = [finding for finding in findings if finding.kind != "tokenized"]
        if findings:
            self.say("\n".join(map(str, findings)))
        refuse(findings, allowed=ALLOWED)
        if part.lines is not None and part.lines != count:
            files = " and ".join(self._files(part))
            self.refuse_count(
                f"{part.name}: {counted(count, 'pair')}, not the {part.lines:,} known in {files}"
            )

    def refuse_count(self, problem: str) -> None:
        """Raises a UserError for another number of pairs than published.

        A sample need not have that number, and ``any_counts`` makes the error a warning.
        """
        if self.sample is not None:
            return
        if not self.any_counts:
            raise UserError(
                f"{problem}: the files differ from the paper's; --any-counts continues anyway"
            )
        self.say(f"warning: {problem}")

    def _progress(self, part: Part, items: Iterable[T], what: str) -> Iterator[T]:
        yield from tqdm(
            items, desc=f"{part.name}: {what}", total=part.lines, unit=" lines", disable=None
        )
