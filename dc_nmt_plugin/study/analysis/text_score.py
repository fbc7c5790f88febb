"""BLEU of a model's own translations of a text."""

from __future__ import annotations

from sacrebleu.metrics import BLEU

from ...laboratory.evaluation.metrics import METRICS, Metric, default_bleu
from ...laboratory.raw_text.tokenizers import detokenize
from ...text.languages import language
from ...text.segmentation import SENTENCEPIECE
from .subject import Subject


class TextScore:
    """Computes BLEU of hypotheses, against a raw reference or the text's own target side.

    Attributes:
        lang: target language
        text: description of the scored text
        metric: of the score; splits at white space unless the text is detokenised

    Raises:
        UserError: no target side
    """

    def __init__(self, subject: Subject) -> None:
        self.lang = subject.target_lang
        self._raw = subject.reference
        if self._raw is None:
            self._reference = subject.targets()
            # force: otherwise sacreBLEU warns that the text looks tokenised, which it is
            self.metric = Metric(
                "bleu", "BLEU of words", True, lambda _: BLEU(tokenize="none", force=True)
            )
            text = "tokenised text without BPE"
            if subject.segmenter is SENTENCEPIECE:  # it may have no spaces between words
                self.metric = METRICS[default_bleu(self.lang, list(self._reference.values()))]
                text = "joined pieces"
            self.text = (
                f"{text}, against the target side of {subject.subset} (no --reference): compare "
                "within this table only"
            )
            return
        self.lang = language(self.lang)
        self._reference = dict(enumerate(self._raw.lines))
        self.metric = METRICS["sacrebleu"]
        tokenizer = self._raw.tokenizer
        undone = "" if tokenizer == "none" else f", tokenisation by {tokenizer} undone"
        self.text = f"without BPE{undone}, against {self._raw.name}"

    def __call__(self, hypotheses: dict[int, str]) -> tuple[float, str]:
        """Returns BLEU of the hypotheses, by number of the sentence, and sacreBLEU's signature."""
        return self.metric.score(self.lines(hypotheses), self.references(hypotheses), self.lang)

    def lines(self, hypotheses: dict[int, str]) -> list[str]:
        """Returns hypotheses as they are scored, by number of the sentence."""
        lines = [hypotheses[number] for number in sorted(hypotheses)]
        if self._raw is None:
            return lines
        return detokenize(lines, self._raw.tokenizer, self.lang, self._raw.truecased)

    def references(self, hypotheses: dict[int, str]) -> list[str]:
        """Returns the reference's lines of the same sentences."""
        return [self._reference[number] for number in sorted(hypotheses)]
