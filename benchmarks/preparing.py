#!/usr/bin/env python3
"""Measures the preparation of a text by this package, beside the programs whose files it writes.

Both do each step in turn, in processes of their own; all files are compared byte by byte.

    python benchmarks/preparing.py DATA.en DATA.fr --operations 32000 --out FOLDER
"""

from __future__ import annotations

import argparse
import filecmp
import os
import subprocess
import sys
import time
from pathlib import Path

from dc_nmt_plugin import __path__ as plugin
from dc_nmt_plugin.laboratory.table import format_table

# arguments: language, text, file to write
TOKENISE = """import sys
language, text, to = sys.argv[1:]
{}
with open(text, encoding="utf-8") as lines, open(to, "w", encoding="utf-8") as out:
    for line in lines:
        print(tokenize(line), file=out)"""
SACREMOSES = TOKENISE.format("""from functools import partial
from sacremoses import MosesTokenizer
tokenize = partial(MosesTokenizer(language).tokenize, return_str=True)""")
OURS = TOKENISE.format("""from dc_nmt_plugin.laboratory.raw_text.moses import FastMoses
tokenize = FastMoses(language)""")


def measure(words: list[str], log: Path) -> tuple[float, float, float]:
    """Runs a program; returns seconds of CPUs, seconds, and MB of its greatest process."""
    started = time.monotonic()
    with open(log, "ab") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{words[0]} failed; see {log}")
    seconds = time.monotonic() - started
    return usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024


def main() -> None:
    """Runs every step by both, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs=2, type=Path, help="raw text; the ending is the language")
    parser.add_argument("--operations", type=int, default=32000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="empty folder")
    args = parser.parse_args()
    languages = [text.suffix[1:] for text in args.texts]
    stock, ours = args.out / "stock", args.out / "ours"
    both = [stock, ours]
    for folder in both:
        folder.mkdir(parents=True)
    workers = ["--num-workers", str(args.workers)]
    tool = ["dc-nmt", "recipe"]
    steps = []  # name, and the two command lines
    for language, text in zip(languages, args.texts, strict=True):
        run = [
            [sys.executable, "-c", code, language, str(text), f"{folder}/tok.{language}"]
            for code, folder in zip((SACREMOSES, OURS), both, strict=True)
        ]
        steps.append((f"tokenise {language}", *run))
    tokens = [f"{stock}/tok.{language}" for language in languages]
    learn = f"cat {' '.join(tokens)} | subword-nmt learn-bpe -s {args.operations} -o {stock}/codes"
    learn_ours = ["learn-pieces", "subword-nmt", str(args.operations), f"{ours}/codes", *tokens]
    steps.append(("learn BPE", ["bash", "-c", learn], [*tool, *learn_ours]))
    for language, text in zip(languages, tokens, strict=True):
        codes, name = f"{stock}/codes", f"bpe.{language}"
        apply = ["subword-nmt", "apply-bpe", "-c", codes, *workers, "-i", text, "-o"]
        apply_ours = [*tool, "apply-pieces", codes, text, f"{ours}/{name}"]
        steps.append((f"apply BPE {language}", [*apply, f"{stock}/{name}"], apply_ours))
    binarise = ["fairseq-preprocess", "-s", languages[0], "-t", languages[1], "--trainpref"]
    binarise += [f"{stock}/bpe", "--joined-dictionary", "--workers", str(args.workers)]
    binarised = [[*binarise, "--destdir", f"{folder}/bin"] for folder in both]
    steps.append(("binarise", binarised[0], [*binarised[1], "--user-dir", plugin[0]]))

    rows = []
    for name, *programs in steps:
        of_both = [
            measure(words, folder / "log") for words, folder in zip(programs, both, strict=True)
        ]
        times = [f"{value:.1f}" for of_one in of_both for value in of_one[:2]]
        memory = [f"{of_one[2]:.0f}" for of_one in of_both]
        rows.append((name, *times, f"{of_both[0][0] / of_both[1][0]:.1f}", *memory))
        print(*rows[-1], file=sys.stderr)
    heads = ("CPU s", "s", "ours: CPU s", "s", "times as fast", "MB", "ours: MB")
    print(format_table(("step", *heads), rows))
    logs = {"log", "preprocess.log"}
    files = sorted(path for path in stock.rglob("*") if path.is_file() and path.name not in logs)
    unequal = [
        path for path in files if not filecmp.cmp(path, ours / path.relative_to(stock), False)
    ]
    sys.exit(f"not equal: {unequal}" if unequal else f"all {len(files)} files are equal")


if __name__ == "__main__":
    main()
