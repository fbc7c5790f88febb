"""``dc-nmt mask-layers``: what each encoder layer is worth to a trained decoder (thesis 3.5.4).

Translates a subset as it is, and once for each encoder layer that the decoder reads with that
layer's output replaced by zeros; prints BLEU and the difference, as Table 3.5 does. The model is
loaded once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU

from ..corpus.checks import read_lines
from ..errors import UserError
from ..files import replacing
from ..report.tokenizers import TOKENIZERS, detokenize
from ..table import format_table
from ..tasks.architectures import TransformerMultiLayerTask
from .subset_translation import SubsetTranslation


@dataclass(frozen=True)
class MaskedLayer:
    """One row of the table.

    Attributes:
        layer: number of the masked encoder layer, 1 = lowest; None for the whole model
        bleu: 0 to 100
        difference: to the whole model's BLEU
    """

    layer: int | None
    bleu: float
    difference: float

    @property
    def name(self) -> str:
        return "none" if self.layer is None else f"layer {self.layer}"


def main(argv: Sequence[str]) -> int:
    """Translate, score and print."""
    args, flags = _parse(argv)
    translation = SubsetTranslation(["--task", "transformer_mlmha", *flags])
    layers = _source_layers(translation)
    score = _Score(translation, args)
    rows: list[MaskedLayer] = []
    for number, masked in enumerate([None, *layers], start=1):
        label = "nothing masked" if masked is None else f"layer {masked} masked"
        # the task's own hook, which build_generator applies; "" masks nothing again
        translation.task.cfg.mask_source_layers = "" if masked is None else str(masked)
        found = translation.translate(_progress(f"{label} ({number} of {len(layers) + 1})"))
        bleu = score(found)
        rows.append(MaskedLayer(masked, bleu, bleu - rows[0].bleu if rows else 0.0))
    report = {
        "subset": translation.subset,
        "sentences": len(found),
        "text": score.text,
        "signature": score.signature,
        "rows": [asdict(row) for row in rows],
    }
    if args.plot:
        _plot(rows, args.plot)
    print(json.dumps(report, indent=2) if args.json else _as_text(report, rows))
    return 0


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="dc-nmt mask-layers",
        usage="dc-nmt mask-layers DATA --path CHECKPOINT [options] [flags of fairseq-generate]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="All other flags are fairseq-generate's: --gen-subset, --beam, --lenpen …",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--reference",
        nargs="+",
        type=Path,
        metavar="RAW",
        help="raw text of the subset, one a line, one file a reference (default: the data's target "
        "side: tokenised BLEU)",
    )
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        help="what the text was tokenised with before BPE, to be undone; with --reference "
        "(default: none)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw the table: .pdf, .png, .svg"
    )
    args, flags = parser.parse_known_args(list(argv))
    if args.tokenizer and not args.reference:
        raise UserError("--tokenizer: detokenised text needs a raw --reference to compare with.")
    if any(flag.split("=")[0] == "--mask-source-layers" for flag in flags):
        raise UserError("--mask-source-layers: this command masks every layer by itself.")
    if args.plot and args.plot.suffix not in (".pdf", ".png", ".svg"):
        raise UserError(f"--plot: {str(args.plot)!r} does not end with .pdf, .png or .svg.")
    return args, flags


def _source_layers(translation: SubsetTranslation) -> list[int]:
    """The encoder layers that every model's decoder reads."""
    if not isinstance(translation.task, TransformerMultiLayerTask):
        raise UserError(
            f"--task: {translation.task.cfg._name!r} has no --mask-source-layers; use "
            "transformer_mlmha, which loads every Transformer of this plugin."
        )
    layers: list[Any] = [getattr(m.encoder, "source_layers", None) for m in translation.models]
    if None in layers:
        raise UserError("--path: this model's decoder does not read layers of a Transformer here.")
    if any(other != layers[0] for other in layers):
        raise UserError(
            "--path: the decoders read different encoder layers, "
            f"{' and '.join(map(str, layers))}: a single layer of all cannot be masked."
        )
    return list(layers[0])


class _Score:
    """BLEU of hypotheses, against raw references or the data's own target side.

    Attributes:
        text: what is scored, in words
        signature: sacreBLEU's; after the first score
    """

    def __init__(self, translation: SubsetTranslation, args: argparse.Namespace) -> None:
        self._lang: str = translation.task.cfg.target_lang
        self._tokenizer: str | None = None
        if args.reference:
            self._tokenizer = args.tokenizer or "none"
            self._references = [_read(path, translation) for path in args.reference]
            self._metric = BLEU(trg_lang=self._lang, force=True)
            undone = (
                "" if self._tokenizer == "none" else f", tokenisation by {self._tokenizer} undone"
            )
            self.text = f"without BPE{undone}, against {' '.join(map(str, args.reference))}"
        else:
            self._references = [translation.targets()]
            self._metric = BLEU(tokenize="none", force=True)
            self.text = (
                f"tokenised text without BPE, against the target side of {translation.subset} (no "
                "--reference): compare within this table only"
            )

    def __call__(self, hypotheses: dict[int, str]) -> float:
        numbers = sorted(hypotheses)
        lines = [hypotheses[number] for number in numbers]
        if self._tokenizer is not None:
            lines = detokenize(lines, self._tokenizer, self._lang)
        references = [[reference[number] for number in numbers] for reference in self._references]
        return float(self._metric.corpus_score(lines, references).score)

    @property
    def signature(self) -> str:
        return str(self._metric.get_signature())


def _read(path: Path, translation: SubsetTranslation) -> dict[int, str]:
    lines = read_lines(path)
    if len(lines) != translation.size:
        raise UserError(
            f"--reference {path}: {len(lines)} lines for {translation.size} sentences of "
            f"{translation.subset}."
        )
    return dict(enumerate(lines))


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


def _plot(rows: Sequence[MaskedLayer], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.5 + 0.6 * len(rows), 3), layout="constrained")
    axes = figure.add_subplot()
    axes.bar([str(row.layer) for row in rows[1:]], [row.bleu for row in rows[1:]])
    axes.axhline(rows[0].bleu, linestyle="--", color="black", label="nothing masked")
    axes.set_xlabel("masked encoder layer")
    axes.set_ylabel("BLEU")
    axes.legend()
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:])
