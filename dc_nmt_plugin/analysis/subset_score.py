"""BLEU of a model's own translations of a subset."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from sacrebleu.metrics import BLEU

from ..errors import UsageError
from ..evaluation.metrics import METRICS, Metric
from ..text.languages import language
from ..text.lines import read_lines
from ..text.tokenizers import TOKENIZERS, detokenize
from .subset_translation import SubsetTranslation
from .words import check_lines


def add_reference_options(parser: argparse.ArgumentParser) -> None:
    """Adds --reference and --tokenizer."""
    parser.add_argument(
        "--reference",
        nargs="+",
        type=Path,
        help="raw reference text, one file for each reference, to score detokenised translations",
    )
    parser.add_argument("--tokenizer", choices=TOKENIZERS, help="tokenizer of the text before BPE")


class SubsetScore:
    """Computes BLEU of hypotheses, against raw references or the data's own target side.

    Args:
        translation: of the subset
        references: files of raw text, one for each reference; none: the data's target side
        tokenizer: tokeniser of the text before BPE, to be undone; with references

    Attributes:
        lang: target language
        text: description of the scored text
        metric: of the score; splits at white space unless the text is detokenised
    """

    def __init__(
        self, translation: SubsetTranslation, references: Sequence[Path], tokenizer: str | None
    ) -> None:
        if tokenizer and not references:
            raise UsageError(
                "--tokenizer: detokenised text needs a raw --reference to compare with."
            )
        self.lang = str(translation.task.cfg.target_lang)
        self._tokenizer: str | None = None
        if references:
            try:
                self.lang = language(self.lang)
            except argparse.ArgumentTypeError as error:
                raise UsageError(f"--reference: the data's target language {error}") from error
            self._tokenizer = tokenizer or "none"
            self._references = [_read(path, translation) for path in references]
            self.metric = METRICS["sacrebleu"]
            undone = (
                "" if self._tokenizer == "none" else f", tokenisation by {self._tokenizer} undone"
            )
            self.text = f"without BPE{undone}, against {' '.join(map(str, references))}"
        else:
            self._references = [translation.targets()]
            self.metric = Metric("bleu", "BLEU of words", True, _words_bleu)
            self.text = (
                f"tokenised text without BPE, against the target side of {translation.subset} (no "
                "--reference): compare within this table only"
            )

    def __call__(self, hypotheses: dict[int, str]) -> tuple[float, str]:
        """Returns BLEU of the hypotheses, by number of the sentence, and sacreBLEU's signature."""
        references, *more = self.references(hypotheses)
        return self.metric.score(self.lines(hypotheses), references, self.lang, more)

    def lines(self, hypotheses: dict[int, str]) -> list[str]:
        """Returns hypotheses as they are scored, by number of the sentence."""
        lines = [hypotheses[number] for number in sorted(hypotheses)]
        return lines if self._tokenizer is None else detokenize(lines, self._tokenizer, self.lang)

    def references(self, hypotheses: Iterable[int]) -> list[list[str]]:
        """Returns the lines of the same sentences for each reference."""
        numbers = sorted(hypotheses)
        return [[reference[number] for number in numbers] for reference in self._references]


def _words_bleu(lang: str) -> BLEU:
    return BLEU(tokenize="none", force=True)


def _read(path: Path, translation: SubsetTranslation) -> dict[int, str]:
    lines = read_lines(path)
    check_lines("--reference", path, lines, translation.size, translation.subset)
    return dict(enumerate(lines))
