"""Reads and tokenises each corpus of a recipe once; interrupted work can be continued."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from ..errors import UserError
from ..files import load_json, write_json, write_parallel, writing
from ..text.checks import as_table, refuse, scan_groups
from ..text.preparation import CHUNK, tokenise
from ..text.tokenizers import detokenize
from .archives import extract
from .formats import Pair, read_pairs
from .recipe import Recipe, written
from .schema import Part
from .sources import Say, Sources

T = TypeVar("T")
NAMED = ("mojibake", "tab")  # a published corpus is used with all its faults


class Corpora:
    """Manages the corpora of a recipe in ``folder``: ``PART.LANG`` and ``PART.tok.LANG``.

    Args:
        recipe: whose corpora
        sources: where its files come from
        folder: where the text is put
        sample: approximate number of training pairs; None for all
        any_counts: only warn when the number of lines differs from the known number
        say: called with lines of progress
    """

    def __init__(
        self,
        recipe: Recipe,
        sources: Sources,
        folder: Path,
        sample: int | None,
        any_counts: bool,
        say: Say = print,
    ) -> None:
        self.recipe, self.sources, self.folder = recipe, sources, folder
        # greatest number of pairs from each corpus, of which some are dropped later
        self.limit = None if sample is None else 4 * sample + 100
        self.any_counts, self.say = any_counts, say
        self.settings = recipe.task.text

    def ready(self, part: Part) -> bool:
        """Reads and tokenises a corpus unless done; returns False for a missing optional corpus.

        Raises:
            UserError: a file is missing or unusable, or the number of lines is wrong
        """
        if not self.here(part):
            names = {name for name, _ in self._members(part)}
            self.say(f"{part.name}: left out, {', '.join(sorted(names))} is not here")
            return False
        stamp = self._read_stamp(part)
        if not self._is_done(part, "read", stamp):
            self._finish(part, "read", stamp, self._read(part))
        stamp = {**stamp, "text": written(self.settings)}
        if not self._is_done(part, "tokenise", stamp):
            self._finish(part, "tokenise", stamp, self._tokenise(part))
        return True

    def here(self, part: Part) -> bool:
        """Returns True if a corpus is used; only an optional one may be missing.

        A corpus that was read before counts as present, even if its files are gone.
        """
        if not part.optional:
            return True
        members = self._members(part)
        return (
            all(member and self.sources.plain(member) for _, member in members)
            or all(self.sources.available(name) for name, _ in members)
            or self._record(part, "read").get("stamp") == self._read_stamp(part)
        )

    def raw(self, part: Part) -> Iterator[Pair]:
        """Yields the pairs of a corpus untokenised: as published, or detokenised."""
        pairs = self._pairs(part, "")
        if not part.tokenised or self.settings.undone == "none":
            yield from pairs
            return
        while chunk := list(islice(pairs, CHUNK)):
            sides = [
                detokenize(side, self.settings.undone, language)
                for side, language in zip(zip(*chunk, strict=True), self.recipe.pair, strict=True)
            ]
            yield from zip(*sides, strict=True)

    def tokens(self, part: Part) -> Iterator[Pair]:
        """Yields the pairs of a corpus tokenised."""
        return self._pairs(part, ".tok")

    def _pairs(self, part: Part, kind: str) -> Iterator[Pair]:
        paths = [self._path(part, kind, language) for language in self.recipe.pair]
        with ExitStack() as stack:
            sides = [stack.enter_context(open(p, encoding="utf-8", newline="\n")) for p in paths]
            for one, other in zip(*sides, strict=True):
                yield one.removesuffix("\n"), other.removesuffix("\n")

    def _path(self, part: Part, kind: str, language: str) -> Path:
        return self.folder / f"{part.name}{kind}.{language}"

    def _members(self, part: Part) -> list[tuple[str, str | None]]:
        """Returns (file, member of that archive or None) for both languages."""
        return [part.member(language) for language in self.recipe.pair]

    # -- what was done before: PART.read.json, PART.tokenise.json ------------------------------

    def _read_stamp(self, part: Part) -> dict[str, Any]:
        return {"part": written(part), "limit": self.limit}

    def _record(self, part: Part, what: str) -> dict[str, Any]:
        """Returns the record of a finished step; empty if it is not finished."""
        try:
            return dict(load_json(self.folder / f"{part.name}.{what}.json"))
        except UserError:
            return {}

    def _is_done(self, part: Part, what: str, stamp: dict[str, Any]) -> bool:
        before, files = self._record(part, what), self._identities(part)
        # the text stays valid when its source files are gone
        same = not any(files) or before.get("files") == files
        if before.get("stamp") != stamp or not same:
            return False
        self.say(f"{part.name}: {what}: done before, {before['pairs']:,} pairs")
        return True

    def _finish(self, part: Part, what: str, stamp: dict[str, Any], pairs: int) -> None:
        self.say(f"{part.name}: {what}: {pairs:,} pairs")
        # the files are known only after the work, which may have fetched them
        record = {"stamp": stamp, "files": self._identities(part), "pairs": pairs}
        write_json(self.folder / f"{part.name}.{what}.json", record)

    def _identities(self, part: Part) -> list[list[Any]]:
        return [self._identity(name, member) for name, member in self._members(part)]

    def _identity(self, name: str, member: str | None) -> list[Any]:
        """Returns values that show a changed file; empty if the file is missing."""
        local = self.recipe.local(self.recipe.task.files[name])
        places = [folder / name for folder in self.sources.folders]
        if local is not None:
            places.insert(0, local)
        for path in places:
            if path.is_file():
                return [name, path.stat().st_size, int(path.stat().st_mtime)]
        plain = self.sources.plain(member) if member else None
        return [str(plain), plain.stat().st_size, int(plain.stat().st_mtime)] if plain else []

    # -- the work ------------------------------------------------------------------------------

    def _read(self, part: Part) -> int:
        """Writes the corpus as plain text; returns the number of pairs."""
        unpacked = self.folder / f".{part.name}"
        try:
            paths = self._plain_files(part, unpacked)
            pairs = read_pairs(part.format, paths, self.recipe.pair, part.titles)
            if part.apostrophe:
                pairs = ((one.replace("’", "'"), other.replace("’", "'")) for one, other in pairs)
            if self.limit is not None:
                pairs = islice(pairs, self.limit)
            targets = [self._path(part, "", language) for language in self.recipe.pair]
            count = write_parallel(targets, self._progress(part, pairs, "read"))
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
        if not count:
            raise UserError(f"{paths[0]}: has no text")
        _, findings = scan_groups([targets])
        if findings:
            self.say(as_table(findings))
        refuse(findings, allowed=NAMED)
        if part.lines is not None and count != part.lines and self.limit is None:
            problem = (
                f"{part.name}: {count:,} pairs, and {part.lines:,} are known to be in "
                f"{' and '.join(sorted({name for name, _ in self._members(part)}))}"
            )
            if not self.any_counts:
                raise UserError(
                    f"{problem}: the files differ from the paper's; --any-counts continues anyway"
                )
            self.say(f"warning: {problem}")
        return count

    def _plain_files(self, part: Part, unpacked: Path) -> tuple[Path, Path]:
        """Returns the files of both languages, unpacked."""
        paths: dict[tuple[str, str | None], Path] = {}
        for name, member in self._members(part):
            if (name, member) in paths:
                continue
            plain = self.sources.plain(member) if member else None
            # the archive, which can be verified, takes precedence over unpacked files
            if plain is not None and not self._identity(name, None):
                paths[name, member] = plain
                continue
            path = self.sources.path(name)
            if member is not None:
                self.say(f"{part.name}: unpacking {member}")
                target = unpacked / str(len(paths)) / Path(member).name
                extract(path, member, target)
                path = target
            paths[name, member] = path
        first, second = (paths[member] for member in self._members(part))
        return first, second

    def _tokenise(self, part: Part) -> int:
        """Tokenises both sides; returns the number of lines."""
        settings = self.settings
        if part.tokenised:
            settings = replace(settings, tokenizer="none")
        count = 0
        for language in self.recipe.pair:
            source = self._path(part, "", language)
            with (
                open(source, encoding="utf-8", newline="\n") as lines,
                writing(self._path(part, ".tok", language)) as out,
            ):
                texts = (line.removesuffix("\n") for line in lines)
                shown = self._progress(part, texts, f"tokenise {language}")
                count = 0
                for line in tokenise(shown, language, settings):
                    out.write(line + "\n")
                    count += 1
        return count

    def _progress(self, part: Part, items: Iterable[T], what: str) -> Iterator[T]:
        """Yields the items, with a progress bar."""
        yield from tqdm(
            items, desc=f"{part.name}: {what}", total=part.lines, unit=" lines", disable=None
        )
