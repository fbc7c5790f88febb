"""Generates files in the format of every campaign, from the toy text.

With them and :func:`unchecked_recipes` a whole recipe runs small and without a network.
"""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from xml.sax.saxutils import escape

import yaml
from helpers import toy_text

from dc_nmt_plugin.laboratory.raw_text.tokenizers import tokenize
from dc_nmt_plugin.laboratory.recipes.recipe import TASKS, Part, Recipe

Pairs = Sequence[tuple[str, str]]
XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n'
TALK = (
    "<url>http://example.org/{n}</url>\n<keywords>talk, {lang}</keywords>\n<talkid>{n}</talkid>\n"
)


def unchecked_recipes(folder: Path) -> Path:
    """Writes a copy of the recipes without checksums."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in TASKS.glob("*.yaml"):
        task = yaml.safe_load(path.read_text("utf-8"))
        for file in task["files"].values():
            for kind in ("md5", "sha256"):
                file.pop(kind, None)
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True)
        (folder / path.name).write_text(text, encoding="utf-8")
    return folder


generated_pairs = cache(toy_text)


def write_files(
    recipe: Recipe, folder: Path, pairs: int = 60, held_out: int = 12, different: int = 600
) -> dict[str, int]:
    """Writes the files of all corpora that a recipe's splits use.

    Args:
        pairs: of each training corpus
        held_out: of each validation or test corpus
        different: number of different pairs; more pairs repeat them

    Returns:
        corpus → number of its pairs
    """
    folder.mkdir(parents=True, exist_ok=True)
    content: dict[str, dict[str | None, bytes]] = {}
    counts = {}
    wanted = [(part, split) for split in recipe.splits for part in recipe.split_parts(split)]
    text = iter(cycle(generated_pairs(*recipe.pair, different)))
    for part, split in wanted:
        number = pairs if split == "train" else held_out
        counts[part.name] = number
        chosen = list(islice(text, number))
        if part.tokenised:
            sides = zip(zip(*chosen, strict=True), recipe.pair, strict=True)
            tokens = [tokenize(side, "moses", language) for side, language in sides]
            chosen = list(zip(*tokens, strict=True))
        for name, member, data in in_format(part, recipe.pair, chosen):
            content.setdefault(name, {})[member] = data
    for name in list(content):
        _write(recipe, folder, name, content[name], content)
    return counts


def in_format(
    part: Part, languages: tuple[str, str], pairs: Pairs
) -> Iterator[tuple[str, str | None, bytes]]:
    """Yields (file, member, bytes) of a corpus."""
    for side, language in enumerate(languages):
        lines = [pair[side] for pair in pairs]
        name, member = part.member(language)
        text = {
            "plain": "".join(f"{line}\n" for line in lines),
            "iwslt-tags": tags(lines, language),
            "iwslt-xml": xml(lines, language),
            "sgm": sgm(lines, language),
        }[part.format]
        data = text.encode()
        yield name, member and member.replace("*", "made-up"), data


def tags(lines: Sequence[str], language: str) -> str:
    """Returns the lines with tags, every ten lines as a talk."""
    text = ""
    for number, line in enumerate(lines):
        if number % 10 == 0:
            text += TALK.format(n=number, lang=language)
        if number % 10 in (0, 1):
            name = ("title", "description")[number % 10]
            text += f"<{name}>{line}</{name}>\n"
        else:
            text += f" {line} \n"
    return text


def xml(lines: Sequence[str], language: str) -> str:
    segments = "".join(f'<seg id="{n}"> {escape(x)} </seg>\n' for n, x in enumerate(lines, start=1))
    return (
        f'{XML_HEAD}<refset setid="made-up" srclang="x" trglang="{language}">\n'
        f'<doc docid="1" genre="lectures">\n<title>A talk</title>\n{segments}</doc>\n</refset>\n'
        "</mteval>\n"
    )


def sgm(lines: Sequence[str], language: str) -> str:
    segments = "".join(
        f'<seg id="{n}">{line.replace("&", "&amp;")}</seg>\n'
        for n, line in enumerate(lines, start=1)
    )
    return (
        f'<srcset setid="made-up" srclang="any">\n<doc docid="1" origlang="{language}">\n<p>\n'
        f"{segments}</p>\n</doc>\n</srcset>\n"
    )


def pack(name: str, members: dict[str | None, bytes]) -> bytes:
    """Returns an archive of the type in its name."""
    out = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(out, "w") as zipped:
            for member, data in members.items():
                zipped.writestr(str(member), data)
    elif name.endswith(".tgz"):
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            for member, data in members.items():
                entry = tarfile.TarInfo(str(member))
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    else:
        (data,) = members.values()
        if name.endswith(".xz"):
            return lzma.compress(data)
        return gzip.compress(data) if name.endswith(".gz") else data
    return out.getvalue()


def _write(
    recipe: Recipe,
    folder: Path,
    name: str,
    members: dict[str | None, bytes],
    content: dict[str, dict[str | None, bytes]],
) -> None:
    data, inside = pack(name, members), recipe.task.files[name].inside
    if not inside:
        (folder / name).write_bytes(data)
        return
    outer, member = inside  # writes the outer archive with its members so far
    content.setdefault(outer, {})[member] = data
    _write(recipe, folder, outer, content[outer], content)
