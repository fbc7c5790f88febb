"""BLEU of a model's own translations of a text."""

from __future__ import annotations

import argparse

from sacrebleu.metrics import BLEU

from ..errors import UsageError
from ..evaluation.metrics import METRICS, Metric
from ..inference.subject import Subject
from ..text.languages import language
from ..text.lines import read_lines
from ..text.tokenizers import detokenize


class TextScore:
    """Computes BLEU of hypotheses, against a raw reference or the text's own target side.

    Args:
        subject: model and text
        args: ``reference``, a file of raw text, or None for the text's target side; with it
            ``tokenizer`` and ``truecased``, to be undone in the hypotheses

    Attributes:
        lang: target language
        text: description of the scored text
        metric: of the score; splits at white space unless the text is detokenised
    """

    def __init__(self, subject: Subject, args: argparse.Namespace) -> None:
        self.lang = subject.target_lang
        self._raw = bool(args.reference)
        self._tokenizer, self._truecased = args.tokenizer or "none", args.truecased
        if not self._raw:
            if args.tokenizer:
                raise UsageError("--tokenizer: detokenised text needs a raw --reference.")
            self._reference = subject.targets()
            # force: otherwise sacreBLEU warns that the text looks tokenised, which it is
            self.metric = Metric(
                "bleu", "BLEU of words", True, lambda _: BLEU(tokenize="none", force=True)
            )
            self.text = (
                f"tokenised text without BPE, against the target side of {subject.subset} (no "
                "--reference): compare within this table only"
            )
            return
        try:
            self.lang = language(self.lang)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"--reference: the data's target language {error}") from error
        lines = read_lines(args.reference)
        subject.check_lines("--reference", args.reference, lines)
        self._reference = dict(enumerate(lines))
        self.metric = METRICS["sacrebleu"]
        undone = "" if self._tokenizer == "none" else f", tokenisation by {self._tokenizer} undone"
        self.text = f"without BPE{undone}, against {args.reference}"

    def __call__(self, hypotheses: dict[int, str]) -> tuple[float, str]:
        """Returns BLEU of the hypotheses, by number of the sentence, and sacreBLEU's signature."""
        return self.metric.score(self.lines(hypotheses), self.references(hypotheses), self.lang)

    def lines(self, hypotheses: dict[int, str]) -> list[str]:
        """Returns hypotheses as they are scored, by number of the sentence."""
        lines = [hypotheses[number] for number in sorted(hypotheses)]
        if not self._raw:
            return lines
        return detokenize(lines, self._tokenizer, self.lang, self._truecased)

    def references(self, hypotheses: dict[int, str]) -> list[str]:
        """Returns the reference's lines of the same sentences."""
        return [self._reference[number] for number in sorted(hypotheses)]
