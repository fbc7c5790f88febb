"""The forms in which publishers give both sides of a corpus."""

from __future__ import annotations

import bz2
import gzip
import html
import json
import lzma
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dc_nmt_plugin.text import lines

TMX = (
    '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">'
    '<header srclang="en"><prop type="x">none</prop></header><body>{}</body></tmx>\n'
)


def tmx(units: Sequence[Sequence[tuple[str, str]]]) -> str:
    """TMX of units, which are attributes and texts."""
    return TMX.format(
        "".join(
            "<tu>"
            + "".join(f"<tuv {code}><seg>{text}</seg></tuv>" for code, text in unit)
            + "</tu>\n"
            for unit in units
        )
    )


def zipped(path: Path, files: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"README": "x", "LICENSE": "x", **files}.items():
            archive.writestr(name, text)


def packed(form: str, data: bytes) -> bytes:
    if form == "zst":
        zstd = lines._zstd("")
        return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
    return {"xz": lzma, "bz2": bz2, "gz": gzip}[form].compress(data)


def write_forms(folder: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Write pairs of English and German in every form."""

    def write(name: str, text: str) -> None:
        (folder / name).write_text(text, "utf-8")

    sides = dict(zip(("en", "de"), zip(*pairs, strict=True), strict=True))
    text = {code: "".join(f"{line}\n" for line in side) for code, side in sides.items()}
    for code in text:
        write(f"a.{code}", text[code])
    write("WikiMatrix.en-de.tsv", "".join(f"1.0{len(a)}\t{a}\t{b}\tx\n" for a, b in pairs))
    rows = enumerate(pairs)
    write("ids.tsv", "\ufeff" + "".join(f"{n}\t{a}\t{n + 7}\t{b}\r\n" for n, (a, b) in rows))
    write("two.tsv", "".join(f"{b}\t{a}\n" for a, b in pairs))
    units = [
        [
            ('xml:lang="fr"', "autre"),
            ('lang="DE-de"', html.escape(b)),
            ('xml:lang="en-US"', f'<bpt i="1">&lt;b&gt;</bpt><hi>{html.escape(a)}</hi>'),
            ('xml:lang="en-GB"', "another"),
        ]
        for a, b in pairs
    ]
    units[9:9] = [[('xml:lang="en"', ""), ('xml:lang="de"', "leer")], [('xml:lang="en"', "alone")]]
    write("three.tmx", tmx(units))
    objects = [{"id": 1, "translation": {"en": a, "de": b}} for a, b in pairs]
    write("set.jsonl", "\n\n".join(map(json.dumps, objects)))
    names = {f"Corpus.de-en.{code}": text[code] for code in text}
    zipped(folder / "de-en.txt.zip", {**names, "Corpus.de-en.ids": "1\n"})
