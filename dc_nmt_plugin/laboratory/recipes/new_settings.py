"""Chooses what a recipe of a user's text has: tokeniser, metric, segmentation, size, updates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from msgspec.structs import replace

from ...errors import UserError
from ...text.languages import is_spaceless
from ...text.segmentation import SEGMENTERS, SENTENCEPIECE, SUBWORD_NMT, Segmenter
from ..evaluation.metrics import METRICS, default_bleu
from ..raw_text.checks import RARE
from ..raw_text.tokenizers import detokenize, tokenize
from .new_text import NewOptions
from .recipe import Recipe, set_values
from .settings import settings_of

SHARED_LETTERS = 0.5  # of the target's text: from there on one dictionary serves both languages
LOST = 0.05  # share of the words that Moses' tokeniser may lose
# words that stand for something else: <2de>, __NUM_1__, ｟ent＃1：num｠, {name}, [[1]]
MARK = re.compile(r"(?<!\S)(?:<\S+>|__\S+__|｟\S+｠|\{\S+\}|\[\[\S+\]\])(?!\S)")


@dataclass(frozen=True)
class Size:
    """Settings for texts of fewer than ``below`` pairs."""

    below: float
    operations: int  # of BPE
    layers: int  # of a Transformer, on both sides, as width, inner and heads
    width: int
    inner: int
    heads: int
    dropout: float
    tokens: int  # of an update
    rate: str  # learning rate
    updates: int
    source: str  # of the values


SIZES = (
    Size(10_000, 4000, 4, 128, 256, 4, 0.1, 2048, "2e-3", 600, "the size of Multi30k's recipe"),
    Size(50_000, 4000, 4, 128, 256, 4, 0.1, 2048, "2e-3", 2700, "the size of Multi30k's recipe"),
    Size(1e6, 10_000, 4, 256, 1024, 4, 0.3, 4096, "1e-3", 20_000, "the thesis's size on IWSLT"),
    Size(1e99, 32_000, 6, 512, 2048, 8, 0.1, 24_576, "7e-4", 100_000, "Vaswani et al.'s base"),
)


@dataclass(frozen=True)
class Choices:
    """What the text decides."""

    size: Size
    segmenter: Segmenter
    operations: int  # of BPE, or sentencepiece's pieces
    share: float  # of the target's letters that the source has too
    tokenizer: str
    metric: str
    given: dict[str, Any] = field(default_factory=dict)  # segmentation by files that are there

    @property
    def joint(self) -> bool:
        """Returns True for one dictionary of both languages, and one BPE unless that is given."""
        if self.given:
            return bool(self.given["dictionary"] == "joint")
        return self.share >= SHARED_LETTERS

    @property
    def segmentation(self) -> dict[str, Any]:
        """Returns the segmentation of the recipe."""
        learnt = {
            **_segment(self.segmenter.name),
            "operations": self.operations,
            "joint": self.joint,
            "dictionary": "joint" if self.joint else "separate",
        }
        return {**(self.given or learnt), "max_tokens": 250, "ratio": 9}

    def text_notes(self, languages: tuple[str, str]) -> list[str]:
        """Returns lines about the tokeniser, and about a metric that is not that of most text."""
        about = {
            "split": "; Moses' tokeniser does not give the words back",
            "raw": "; sentencepiece reads the text as it is, and no tokeniser runs",
        }
        notes = [f"tokenizer: {self.tokenizer}{about.get(self.tokenizer, '')}"]
        if self.metric not in ("mteval-v13a", "multi-bleu"):
            notes.append(f"metric: {self.metric}, {METRICS[self.metric].about}")
            if languages[1] == "ja" and self.metric == "char":
                notes[-1] += "; for BLEU of words pip install 'sacrebleu[ja]', and paper: sacrebleu"
        return notes

    def notes(self, languages: tuple[str, str]) -> list[str]:
        """Returns lines about the segmentation, the size of the model and the updates."""
        size = self.size
        label, unit = self.segmenter.label.lower(), self.segmenter.unit
        dictionaries = "one dictionary"
        if not self.joint:
            dictionaries = (
                "two dictionaries, whose embeddings cannot be shared (Transformers are trained as "
                "ARCH_unshared)"
            )
        segmentation = f"{label}: {dictionaries}"
        if not self.given:
            segmentation = (
                f"{label}: {self.operations:,} {unit} (--bpe); {dictionaries}, {self.share:.0%} of "
                f"the letters in {languages[1]} occur in {languages[0]} too"
            )
        return [
            segmentation,
            f"size: {size.layers}+{size.layers} layers of width {size.width} and {size.inner}, "
            f"dropout {size.dropout}, {size.tokens:,} tokens an update, by the number of pairs: "
            f"{size.source}",
            f"updates: {size.updates:,}; dc-nmt run --max-update N trains longer or shorter",
        ]


def choose(
    options: NewOptions, languages: tuple[str, str], sample: list[tuple[str, str]], pairs: int
) -> Choices:
    size = next(size for size in SIZES if pairs < size.below)
    return Choices(
        size,
        SEGMENTERS[options.segment or SUBWORD_NMT.name],
        options.bpe or size.operations,
        _shared_letters(sample),
        _tokenizer(options, languages, sample),
        _metric(options, languages[1], [target for _, target in sample]),
    )


def _metric(options: NewOptions, language: str, targets: Sequence[str]) -> str:
    """Returns the name of the BLEU that suits the target text."""
    if options.tokenized:
        return "multi-bleu"
    if language == "ja" and find_spec("MeCab") and find_spec("ipadic"):
        return "sacrebleu"  # of words by MeCab
    return default_bleu(language, targets)


def _shared_letters(sample: Sequence[tuple[str, str]]) -> float:
    """Returns the share of the target's letters that the source has too."""
    source, target = (
        Counter(char for line in side for char in line if char.isalpha())
        for side in zip(*sample, strict=True)
    )
    rare = source.total() / 10_000  # letters of a few loan words do not count
    shared = sum(n for letter, n in target.items() if source[letter] > rare)
    return shared / max(1, target.total())


def _tokenizer(
    options: NewOptions, languages: tuple[str, str], sample: Sequence[tuple[str, str]]
) -> str:
    """Returns the tokeniser for the text.

    Raises:
        UserError: a language has no spaces between words, and no tokeniser here
    """
    if options.tokenized:
        return "none"
    if options.segment == SENTENCEPIECE.name:
        return "raw"
    for code, lines in zip(languages, zip(*sample, strict=True), strict=True):
        if code != "zh" and is_spaceless(None, lines):
            raise UserError(
                f"--train: the text in {code} has no spaces between its words, and Moses' "
                "tokeniser does not add them; give --segment sentencepiece, or segment it into "
                "words first and give --tokenized"
            )
    if languages[1] == "zh":
        return "moses"  # jieba segments Chinese, and characters are scored
    # Moses' tokeniser separates signs of some scripts for good: a perfect translation would lose
    targets = [target for _, target in sample]
    again = detokenize(tokenize(targets, "moses", languages[1]), "moses", languages[1])
    words = [Counter(line.split()) for line in targets]
    lost = sum((one - Counter(two.split())).total() for one, two in zip(words, again, strict=True))
    return "split" if lost > LOST * sum(each.total() for each in words) else "moses"


def mark_notes(
    sample: Sequence[tuple[str, str]], languages: tuple[str, str], tokenizer: str
) -> list[str]:
    """Returns a line about tags and placeholders, if the tokeniser takes them apart."""
    for code, lines in zip(languages, zip(*sample, strict=True), strict=True):
        marks = Counter(match[0] for match in map(MARK.search, lines) if match)
        if marks.total() * RARE <= len(lines):
            continue
        ((mark, _),) = marks.most_common(1)
        (tokens,) = [mark] if tokenizer == "raw" else tokenize([mark], tokenizer, code)
        if tokens != mark:
            return [
                f"tags: {mark!r} and the like, in {marks.total() / len(lines):.0%} of the lines in "
                f"{code}, become {tokens!r}; to keep them, separate the words and give --tokenized"
            ]
    return []


def _segment(segmenter: str) -> dict[str, str]:
    return {} if segmenter == SUBWORD_NMT.name else {"segment": segmenter}


def settings_by_size(size: Size, joint: bool, metric: str) -> dict[str, Any]:
    transformer = " ".join(
        f"--{side}-layers {size.layers} --{side}-embed-dim {size.width} "
        f"--{side}-ffn-embed-dim {size.inner} --{side}-attention-heads {size.heads}"
        for side in ("encoder", "decoder")
    )
    transformer += " --share-all-embeddings" if joint else " --share-decoder-input-output-embed"
    # with the published initial weights Adam, unlike Adadelta, saturates the states
    recurrent = (
        f"--embed-dim {size.width} --hidden-dim {2 * size.width} --weight-init xavier "
        "--output-bias-init unigram"
    )

    def schedule(flags: str, updates: int) -> dict[str, Any]:
        return {
            "updates": updates,
            "save_every": updates // 20,
            "flags": f"{flags} --dropout {size.dropout} --label-smoothing 0.1 --clip-norm 1.0 "
            f'--optimizer adam --adam-betas "(0.9, 0.98)" --lr {size.rate} --lr-scheduler cosine '
            f"--warmup-updates {min(4000, updates // 7)}",
        }

    source = f"chosen by dc-nmt new: {size.updates:,} updates, {size.source}"
    if not joint:
        source += "; _unshared, because two dictionaries cannot share their embeddings"
    return {
        "all": {
            "source": source,
            # the unnamed size shares all embeddings, which two dictionaries do not allow
            "size": "" if joint else "unshared",
            "tokens": size.tokens,
            "max_tokens": min(4096, size.tokens),
            **schedule(transformer, size.updates),
            "average": 5,
            "decode": "--beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20",
            "paper": metric,
        },
        "transformer": {"size": ""},  # fairseq's own, whose sizes are flags
        "gru_selfattn_residual": {"size": "", **schedule(recurrent, size.updates // 2)},
    }


def bpe_of_like(like: Recipe, options: NewOptions, given: dict[str, Any]) -> dict[str, Any]:
    """Returns its segmentations, by the program, number and files that the user wants."""
    changes = {"operations": options.bpe} if options.bpe else {}
    return {
        name: {**set_values(replace(each, segment="subword-nmt")), **changes}
        | _segment(options.segment or SUBWORD_NMT.name)
        | given
        for name, each in like.task.bpe.items()
    }


def settings_of_like(like: Recipe, pair: str, metric: str) -> dict[str, Any]:
    """Returns its settings of this direction, with the metric of the user's text."""
    entries: dict[str, Any] = {"all": {}}
    for name, entry in like.task.settings.items():
        values = set_values(replace(entry, paper=None, metrics=None))
        if name == like.direction:
            entries[pair] = values
        elif name not in ("-".join(like.pair), "-".join(reversed(like.pair))):
            entries[name] = values
    entries["all"]["paper"] = metric
    return entries


def notes_of_like(like: Recipe, archs: Sequence[str], bpe: dict[str, Any]) -> list[str]:
    """Returns lines about the settings taken of a task; `bpe` is of :func:`bpe_of_like`."""
    notes = [
        f"like {like.name} ({like.task.title}): its segmentation, sizes, updates, batches, dropout "
        "and decoding are taken; its text, how that was prepared and cleaned, its test sets and "
        "its metric are not"
    ]
    for arch in archs:
        settings = settings_of(like, arch)
        dictionary = bpe[settings.bpe].get("dictionary", "joint")
        notes.append(
            f"{arch}: trained as {settings.arch}, {settings.updates:,} updates of "
            f"{settings.tokens:,} tokens, {dictionary} dictionary; {settings.source}"
        )
    return notes
