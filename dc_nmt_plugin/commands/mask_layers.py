"""``dc-nmt mask-layers``: measures BLEU with each encoder layer masked (thesis 3.5.4).

Translates a subset unchanged, and once for each encoder layer that the decoder reads, with the
output of that layer replaced by zeros. Prints BLEU and the difference, as in Table 3.5.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..table import format_table
from ..text.tokenizers import TOKENIZERS
from .parser import Parser, RawWithDefaults

if TYPE_CHECKING:
    from ..analysis.mask_layers import MaskedLayer


def main(argv: Sequence[str]) -> int:
    """Translates, scores and prints."""
    args, flags = _parse(argv)

    from ..analysis.mask_layers import (
        MaskedLayer,
        SubsetScore,
        masked_translations,
        plot,
        read_layers,
    )
    from ..analysis.subset_translation import SubsetTranslation

    translation = SubsetTranslation(["--task", "translation_dc_nmt", *flags])
    layers = read_layers(translation)
    score = SubsetScore(translation, args.reference or [], args.tokenizer)
    order = [None, *layers]

    def progress(layer: int | None) -> Callable[[int, int], None]:
        label = "nothing masked" if layer is None else f"layer {layer} masked"
        return _progress(f"{label} ({order.index(layer) + 1} of {len(order)})")

    rows: list[MaskedLayer] = []
    for layer, found in masked_translations(translation, layers, progress):
        bleu = score(found)
        rows.append(MaskedLayer(layer, bleu, bleu - rows[0].bleu if rows else 0.0))
    report = {
        "subset": translation.subset,
        "sentences": len(found),
        "text": score.text,
        "signature": score.signature,
        "rows": [asdict(row) for row in rows],
    }
    print(json.dumps(report, indent=2) if args.json else _as_text(report, rows), flush=True)
    if args.plot:  # after the table: writing a figure may fail
        plot(rows, args.plot)
    return 0


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = Parser(
        prog="dc-nmt mask-layers",
        usage="dc-nmt mask-layers DATA --path CHECKPOINT [options] [flags of fairseq-generate]",
        description=__doc__,
        formatter_class=RawWithDefaults,
        epilog=("All other flags go to fairseq-generate: --gen-subset, --beam, --lenpen …"),
        allow_abbrev=False,
    )
    parser.add_argument(
        "--reference",
        nargs="+",
        type=Path,
        metavar="RAW",
        help=(
            "raw text of the subset, one file for each reference (default: the target side "
            "of the data, for tokenised BLEU)"
        ),
    )
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        help=(
            "tokenizer of the text before BPE, undone before scoring; with --reference "
            "(default: none)"
        ),
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the table: .pdf, .png, .svg"
    )
    args, flags = parser.parse_known_args(list(argv))
    if any(flag.split("=")[0] == "--mask-source-layers" for flag in flags):
        raise UserError("--mask-source-layers: this command masks every layer by itself.")
    if args.plot and args.plot.suffix not in (".pdf", ".png", ".svg"):
        raise UserError(f"--plot: {str(args.plot)!r} does not end with .pdf, .png or .svg.")
    return args, flags


def _progress(label: str) -> Callable[[int, int], None]:
    terminal = sys.stderr.isatty()

    def show(done: int, total: int) -> None:
        if terminal:
            end = "\n" if done == total else ""
            print(f"\r{label}: {done}/{total} sentences", end=end, file=sys.stderr, flush=True)
        elif done == total:
            print(f"{label}: {total} sentences", file=sys.stderr, flush=True)

    return show


def _as_text(report: dict[str, Any], rows: Sequence[MaskedLayer]) -> str:
    cells = [
        (row.name, f"{row.bleu:.2f}", "" if row.layer is None else f"{row.difference:+.2f}")
        for row in rows
    ]
    table = format_table(("masked", "BLEU", "difference"), cells)
    head = f"{report['subset']}: {report['sentences']:,} sentences; {report['text']}"
    return f"{head}\n\n{table}\n\nBLEU  {report['signature']}"
