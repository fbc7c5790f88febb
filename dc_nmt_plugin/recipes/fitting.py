"""Chooses segmentation and training for a user's corpus, by its size and the machine.

The model sizes are those of this project's recipes: Multi30k's, the thesis's for IWSLT, and Vaswani
et al.'s base model.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..errors import UserError
from ..evaluation.metrics import default_bleu
from ..text.tokenizers import detokenize, tokenize
from .own_text import SAMPLED, Corpus, Side

# (pairs, BPE operations, source): fewer pairs than this get so many operations
OPERATIONS = (
    (50_000, 4000, "as in Multi30k's recipe, for 29,000 pairs"),
    (500_000, 10_000, "as in fairseq's recipe for IWSLT'14, 160,000 pairs"),
    (2_000_000, 16_000, "between the recipes of IWSLT'14 (10,000) and WMT (32,000)"),
)
MOST_OPERATIONS = 32_000, "as in the recipes of WMT, for 4.5 million pairs or more"
TOKENS_PER_WORD = 1.5  # pieces, the end of the sentence and padding: measured on Multi30k
SHARED_LETTERS = 0.5  # of the target's text: from there on one dictionary serves both languages
TOKENS_PER_SECOND = 2400  # of a CPU core and the small size: Multi30k on a 2.5 GHz Xeon
LONGEST = 250  # pieces of a training sentence
LOST = 0.05  # of the words: more of them Moses' tokeniser must not lose for good


@dataclass(frozen=True)
class Size:
    """A model size and its schedule.

    Attributes:
        layers, width, inner, heads: of a Transformer, on both sides
        embedding, state: of a recurrent model
        tokens, max_tokens: of an update, and of one process at a time
        rate, dropout: learning rate and dropout
        epochs: intended number
        least, most: limits of the updates
        about: source of the values
    """

    layers: int
    width: int
    inner: int
    heads: int
    embedding: int
    state: int
    tokens: int
    max_tokens: int
    rate: str
    dropout: float
    epochs: int
    least: int
    most: int
    about: str


SMALL = Size(4, 128, 256, 4, 128, 256, 2048, 2048, "2e-3", 0.1, 10, 600, 20_000,
             "the size of Multi30k's recipe")  # fmt: skip
MEDIUM = Size(4, 256, 1024, 4, 256, 512, 4096, 4096, "1e-3", 0.3, 40, 4000, 100_000,
              "the thesis's on IWSLT, with fairseq's dropout for it")  # fmt: skip
BASE = Size(6, 512, 2048, 8, 500, 1024, 24_576, 4096, "7e-4", 0.1, 15, 20_000, 100_000,
            "Vaswani et al.'s base")  # fmt: skip
SIZES = {"small": SMALL, "medium": MEDIUM, "base": BASE}  # by the value of --size
BASE_FROM = 1_000_000  # pairs


@dataclass(frozen=True)
class Wishes:
    """Holds what the user decides; None and False: chosen here.

    Attributes:
        operations: of BPE, or pieces of sentencepiece
        size: a name of :data:`SIZES`
        updates: of a training run
        tokenised: the words of the text are already separated
        sentencepiece: segments raw text, without a tokeniser
    """

    operations: int | None = None
    size: str | None = None
    updates: int | None = None
    tokenised: bool = False
    sentencepiece: bool = False


@dataclass(frozen=True)
class Fit:
    """Holds the choices for a corpus.

    Attributes:
        size: of models
        operations: of BPE, or pieces of sentencepiece
        kind: of segmentation, ``bpe`` or ``sentencepiece``
        joint: one code and one dictionary for both languages
        tokenizer: ``moses``, ``split`` or ``none``
        updates: of a training run
        metric: the main metric of the score table
        why: a sentence for each choice
    """

    size: Size
    operations: int
    kind: str
    joint: bool
    tokenizer: str
    updates: int
    metric: str
    why: tuple[str, ...]


def fit(corpus: Corpus, pairs: int, gpus: int, cpus: int, wishes: Wishes = Wishes()) -> Fit:
    """Chooses the settings for a corpus.

    Args:
        corpus: the training text
        pairs: number of training pairs
        gpus, cpus: of this machine
        wishes: decisions of the user

    Raises:
        UserError: a language has no spaces between words, and no tokeniser here
    """
    for side, code in zip(corpus.sides, corpus.languages, strict=True):
        if side.has_no_spaces() and code != "zh" and not wishes.sentencepiece:
            raise UserError(
                f"{corpus.flag}: the text in {code} has no spaces between its words, and Moses' "
                "tokeniser does not add them; give --sentencepiece, or segment it into words first "
                "and give --tokenized"
            )
    size, size_why = _size(pairs, gpus, wishes.size)
    operations, operations_why = _operations(pairs, wishes)
    share = _shared_letters(*corpus.sides)
    joint = share >= SHARED_LETTERS
    tokens = _tokens(corpus) * pairs / corpus.pairs
    updates, updates_why = _updates(size, tokens, wishes.updates)
    why = [
        operations_why,
        f"{'one dictionary' if joint else 'two dictionaries'}: {share:.0%} of the letters in "
        f"{corpus.languages[1]} occur in {corpus.languages[0]} too",
        size_why,
        updates_why,
    ]
    tokenizer = "none" if wishes.tokenised or wishes.sentencepiece else "moses"
    if wishes.sentencepiece:
        why.append("no tokeniser: sentencepiece reads raw text, and its pieces join to raw text")
    elif wishes.tokenised:
        why.append("no tokeniser: --tokenized; the scores are of tokens too")
    elif (lost := _lost_by_moses(corpus)) > LOST:
        tokenizer = "split"
        why.append(
            f"tokenizer split, at punctuation and digits: Moses' tokeniser and detokeniser do not "
            f"give {lost:.0%} of the words in {corpus.languages[1]} back"
        )
    if not gpus:
        rate = TOKENS_PER_SECOND * _cost(SMALL) / _cost(size)
        seconds = updates * size.tokens / rate / min(cpus, 8)
        why.append(
            f"about {_duration(seconds)} a model on {cpus} CPU core{'s' * (cpus > 1)}, estimated "
            f"from {rate:,.0f} tokens a second and core; --max-update N trains less"
        )
    targets = [target for _, target in corpus.first(SAMPLED)]
    kept_apart = wishes.tokenised and not wishes.sentencepiece
    metric = "multi-bleu" if kept_apart else default_bleu(corpus.languages[1], targets)
    kind = "sentencepiece" if wishes.sentencepiece else "bpe"
    return Fit(size, operations, kind, joint, tokenizer, updates, metric, tuple(why))


def _operations(pairs: int, wishes: Wishes) -> tuple[int, str]:
    """Returns the number of BPE operations or of sentencepiece's pieces, and the reason."""
    known = ((n, source) for below, n, source in OPERATIONS if pairs < below)
    number, source = next(known, MOST_OPERATIONS)
    what = "pieces of sentencepiece" if wishes.sentencepiece else "BPE operations"
    if wishes.operations is not None:
        return wishes.operations, f"{wishes.operations:,} {what}: --bpe"
    return number, f"{number:,} {what}: {source}; --bpe N for another number"


def _cost(size: Size) -> float:
    """Returns the multiplications of a Transformer for one token, without the output layer.

    A layer of the encoder has four projections of attention, one of the decoder eight, and both
    have a feed-forward network.
    """
    return size.layers * (12 * size.width**2 + 4 * size.width * size.inner)


def _lost_by_moses(corpus: Corpus) -> float:
    """Returns the share of target words that change by tokenising and detokenising."""
    language = corpus.languages[1]
    if language == "zh":
        return 0.0  # scored by characters, spaces or not
    lines = [target for _, target in corpus.first(SAMPLED)]
    again = detokenize(tokenize(lines, "moses", language), "moses", language)
    words = [Counter(line.split()) for line in lines]
    lost = sum((one - Counter(two.split())).total() for one, two in zip(words, again, strict=True))
    return lost / max(1, sum(one.total() for one in words))


def _size(pairs: int, gpus: int, wished: str | None) -> tuple[Size, str]:
    if wished is not None:
        size, reason = SIZES[wished], f"--size {wished}"
    elif not gpus:
        size, reason = SMALL, "there is no GPU"
    elif pairs < BASE_FROM:
        size, reason = MEDIUM, f"a GPU, and fewer than {BASE_FROM:,} pairs"
    else:
        size, reason = BASE, f"a GPU, and {BASE_FROM:,} pairs or more"
    return size, (
        f"{size.layers}+{size.layers} layers of width {size.width} and {size.inner}, "
        f"{size.tokens:,} tokens an update: {size.about}; {reason}"
    )


def _updates(size: Size, tokens: float, wished: int | None) -> tuple[int, str]:
    """Returns the number of updates, in hundreds unless it is the user's, and the reason."""
    if wished is not None:
        epochs = wished * size.tokens / max(1.0, tokens)
        return wished, f"{wished:,} updates: --max-update; about {epochs:.1f} times the text"
    wanted = max(100, round(size.epochs * tokens / size.tokens / 100) * 100)
    updates = min(max(wanted, size.least), size.most)
    epochs = updates * size.tokens / max(1.0, tokens)
    passes = f"{epochs:.0f}" if epochs >= 3 else f"{epochs:.1f}"
    text = f"{updates:,} updates: about {passes} times the text"
    if updates < wanted:
        text += f", reduced from {wanted:,}, {size.epochs} times, to save time on this machine"
    elif updates > wanted:
        text += f", raised from {wanted:,}, because fewer are not enough for a model of this size"
    return updates, text


def _tokens(corpus: Corpus) -> float:
    """Estimates the pieces of the longer side; without spaces, two letters count as one."""
    counts = [
        side.letters.total() / 2 if side.has_no_spaces() else side.words for side in corpus.sides
    ]
    return TOKENS_PER_WORD * max(counts)


def _shared_letters(source: Side, target: Side) -> float:
    """Returns the share of target letters that also occur in the source."""
    # letters of a few loan words do not count
    common = {letter for letter, n in source.letters.items() if n > source.letters.total() / 10_000}
    shared = sum(n for letter, n in target.letters.items() if letter in common)
    return shared / max(1, target.letters.total())


def _duration(seconds: float) -> str:
    if seconds < 60:
        return "a minute"
    return f"{seconds / 3600:.0f} hours" if seconds > 2 * 3600 else f"{seconds / 60:.0f} minutes"
