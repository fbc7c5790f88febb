"""BLEU of a trained model with encoder layers masked (thesis 3.5.4)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU

from ..errors import UserError
from ..evaluation.buckets import group_score
from ..evaluation.metrics import METRICS, Metric
from ..files import write_figure
from ..tasks.decoding import MAIN
from ..tasks.translation import JointTranslationTask
from ..text.languages import language
from ..text.lines import read_lines
from ..text.tokenizers import detokenize
from .subset_translation import SubsetTranslation


@dataclass(frozen=True)
class MaskedLayer:
    """Holds one row of the table.

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


def read_layers(translation: SubsetTranslation) -> list[int]:
    """Returns the encoder layers that the decoder of every model reads."""
    if not isinstance(translation.task, JointTranslationTask):
        raise UserError(
            f"--task: {translation.task.cfg._name!r} has no --mask-source-layers; use "
            "translation_dc_nmt, or leave the flag out."
        )
    if translation.task.cfg.decode_with != MAIN:
        raise UserError(
            f"--decode-with {translation.task.cfg.decode_with}: an auxiliary decoder reads its own "
            "encoder layer; layers are masked for the main decoder alone."
        )
    layers: list[Any] = [getattr(m.encoder, "read_layers", None) for m in translation.models]
    if None in layers:
        raise UserError("--path: this model's decoder does not read layers of a Transformer here.")
    if any(other != layers[0] for other in layers):
        raise UserError(
            "--path: the decoders read different encoder layers, "
            f"{' and '.join(map(str, layers))}: a single layer of all cannot be masked."
        )
    return list(layers[0])


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
        signature: sacreBLEU's; after the first score
    """

    def __init__(
        self, translation: SubsetTranslation, references: Sequence[Path], tokenizer: str | None
    ) -> None:
        if tokenizer and not references:
            raise UserError(
                "--tokenizer: detokenised text needs a raw --reference to compare with."
            )
        self.lang = str(translation.task.cfg.target_lang)
        self._tokenizer: str | None = None
        if references:
            try:
                self.lang = language(self.lang)
            except argparse.ArgumentTypeError as error:
                raise UserError(f"--reference: the data's target language {error}") from error
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

        self._bleu = self.metric.make(self.lang)

    def __call__(self, hypotheses: dict[int, str]) -> float:
        found = self._bleu.corpus_score(self.lines(hypotheses), self.references(hypotheses))
        return float(found.score)

    def of_group(self, hypotheses: dict[int, str]) -> float | None:
        """Returns BLEU of some sentences; None if it is meaningless (`group_score`)."""
        lines, references = self.lines(hypotheses), self.references(hypotheses)
        if any(group_score(self.metric, lines, each, self.lang) is None for each in references):
            return None
        return self(hypotheses)

    def lines(self, hypotheses: dict[int, str]) -> list[str]:
        """Returns hypotheses as they are scored, by number of the sentence."""
        lines = [hypotheses[number] for number in sorted(hypotheses)]
        return lines if self._tokenizer is None else detokenize(lines, self._tokenizer, self.lang)

    def references(self, hypotheses: Iterable[int]) -> list[list[str]]:
        """Returns the lines of the same sentences for each reference."""
        numbers = sorted(hypotheses)
        return [[reference[number] for number in numbers] for reference in self._references]

    @property
    def signature(self) -> str:
        return str(self._bleu.get_signature())


@contextmanager
def masked(translation: SubsetTranslation, layers: Sequence[int]) -> Iterator[None]:
    """Context in which these encoder layers are zeros.

    Uses the task's setting, which every new generator applies to the models.
    """
    cfg = translation.task.cfg
    before = cfg.mask_source_layers
    cfg.mask_source_layers = ",".join(map(str, layers))
    try:
        yield
    finally:
        # "" masks nothing again, where None would leave the models as they are
        cfg.mask_source_layers = before or ""


def masked_translations(
    translation: SubsetTranslation,
    layers: Sequence[int],
    progress: Callable[[int | None], Callable[[int, int], None] | None] = lambda layer: None,
) -> Iterator[tuple[int | None, dict[int, str]]]:
    """Yields translations of the whole model (None), then with each layer masked (its number).

    Args:
        translation: of the subset
        layers: encoder layers that the decoder reads
        progress: makes the `progress` argument of ``translate`` for each translation
    """
    yield None, translation.translate(progress(None))
    for layer in layers:
        with masked(translation, [layer]):
            found = translation.translate(progress(layer))
        yield layer, found


def _words_bleu(lang: str) -> BLEU:
    return BLEU(tokenize="none", force=True)


def _read(path: Path, translation: SubsetTranslation) -> dict[int, str]:
    lines = read_lines(path)
    if len(lines) != translation.size:
        raise UserError(
            f"--reference {path}: {len(lines)} lines for {translation.size} sentences of "
            f"{translation.subset}."
        )
    return dict(enumerate(lines))


def plot(rows: Sequence[MaskedLayer], path: Path) -> None:
    """Draws the table.

    Args:
        rows: of the whole model, then of the masked ones
        path: a ``.pdf``, ``.png`` or ``.svg``
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.5 + 0.6 * len(rows), 3), layout="constrained")
    axes = figure.add_subplot()
    axes.bar([str(row.layer) for row in rows[1:]], [row.bleu for row in rows[1:]])
    axes.axhline(rows[0].bleu, linestyle="--", color="black", label="nothing masked")
    axes.set_xlabel("masked encoder layer")
    axes.set_ylabel("BLEU")
    axes.legend()
    write_figure(figure, path)
