"""Writes the recipe of a user's text: chooses sets, segmentation, model size and training."""

from __future__ import annotations

import os
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ..errors import UsageError, UserError
from ..evaluation.metrics import default_bleu
from ..files import making, sha256, write_text
from ..text.checks import as_table, mixed_forms, refuse, shared_lines
from ..text.tokenizers import detokenize, tokenize
from .own_text import SEED, Corpus, languages_of
from .plan import visible_gpus
from .recipe import OWN, SPLITS, Recipe, tasks
from .settings import translation_family

LEAST = 200  # training pairs; fewer are too few for training and evaluation
TEXT = "text"  # folder of held-out text and the remaining training text
# (pairs, BPE operations, source): fewer pairs than this get so many operations
OPERATIONS = (
    (50_000, 4000, "as in Multi30k's recipe, for 29,000 pairs"),
    (500_000, 10_000, "as in fairseq's recipe for IWSLT'14, 160,000 pairs"),
    (2_000_000, 16_000, "between the recipes of IWSLT'14 (10,000) and WMT (32,000)"),
    (10**12, 32_000, "as in the recipes of WMT, for 4.5 million pairs or more"),
)
TOKENS_PER_WORD = 1.5  # pieces, the end of the sentence and padding: measured on Multi30k
SHARED_LETTERS = 0.5  # of the target's text: from there on one dictionary serves both languages
LOST = 0.05  # of the words: more of them Moses' tokeniser must not lose for good


@dataclass(frozen=True)
class Size:
    """A model size and its schedule."""

    layers: int  # of a Transformer, on both sides, as width, inner and heads
    width: int
    inner: int
    heads: int
    recurrent: str  # flags of a recurrent model
    tokens: int  # of an update
    max_tokens: int  # of one process at a time
    rate: str  # learning rate
    dropout: float
    epochs: int  # intended number
    least: int  # limits of the updates
    most: int
    about: str  # source of the values


SMALL = Size(4, 128, 256, 4, "--embed-dim 128 --hidden-dim 256", 2048, 2048, "2e-3", 0.1,
             10, 600, 20_000, "the size of Multi30k's recipe")  # fmt: skip
MEDIUM = Size(4, 256, 1024, 4, "--embed-dim 256 --hidden-dim 512", 4096, 4096, "1e-3", 0.3,
              40, 4000, 100_000, "the thesis's on IWSLT, with fairseq's dropout")  # fmt: skip
BASE = Size(6, 512, 2048, 8, "--embed-dim 500 --hidden-dim 1024", 24_576, 4096, "7e-4", 0.1,
            15, 20_000, 100_000, "Vaswani et al.'s base")  # fmt: skip
BASE_FROM = 1_000_000  # pairs


@dataclass(frozen=True)
class NewOptions:
    """Options of ``dc-nmt new``."""

    folder: Path  # of the new recipe
    train: Sequence[Path]  # files of source and target
    valid: Sequence[Path] | None = None  # the same; None: taken from the training text
    test: Sequence[Path] | None = None
    source_lang: str | None = None  # codes; None: the endings of the files
    target_lang: str | None = None
    archs: Sequence[str] = ("transformer_standard",)  # architectures to train
    tokenized: bool = False  # the words of the text are already separated
    bpe: int | None = None  # number of BPE operations; None: by the size of the text


def make_recipe(options: NewOptions) -> tuple[Recipe, list[str]]:
    """Reads the text, chooses settings, and writes ``folder``; leaves nothing after a failure.

    Returns:
        the recipe, and a sentence for each choice

    Raises:
        UserError: unusable text, an unknown architecture, or an existing folder
    """
    folder = options.folder
    _check_folder(folder)
    for arch in options.archs:
        translation_family("ARCH", arch)
    files = {split: getattr(options, split) for split in SPLITS if getattr(options, split)}
    codes = options.source_lang, options.target_lang
    pair = languages_of("--train", options.train, codes)
    for split, paths in files.items():
        if None in codes and languages_of(f"--{split}", paths, codes) != pair:
            raise UsageError(
                f"--{split}: {paths[0]} and {paths[1]} are not {' and '.join(pair)}, in this "
                "order, as --train is"
            )
        for path in paths:
            if not path.is_file():
                raise UsageError(f"--{split}: {path} is not a file")
    corpora = {
        split: Corpus(split, paths, pair, options.tokenized) for split, paths in files.items()
    }
    scans = [corpus.scans for corpus in corpora.values()]
    forms = mixed_forms(scans)
    if forms:
        print(as_table(forms), end="\n\n")
    refuse(forms, ("form",))
    train = corpora["train"]
    if train.pairs - train.blank < LEAST:
        raise UserError(
            f"--train: {train.pairs - train.blank} pairs are too few to learn from and to measure "
            f"with; {LEAST} are the least"
        )
    with making(folder) as part:
        why = _write(part, options, files, corpora)
    return Recipe(folder / OWN), why


def _check_folder(folder: Path) -> None:
    name = folder.resolve().name
    if not re.fullmatch(r"[\w.+][\w.+-]*", name):
        raise UsageError(
            f"FOLDER: {name!r} begins with -, or has something else than letters, digits, _ . + -"
        )
    if name in tasks():
        raise UsageError(f"FOLDER: {name!r} is a published task's name; take another")


def _write(
    folder: Path,
    options: NewOptions,
    files: dict[str, Sequence[Path]],
    corpora: dict[str, Corpus],
) -> list[str]:
    """Writes the held-out text and the recipe; returns a sentence for each choice."""
    train = corpora["train"]
    pairs = {split: corpus.pairs for split, corpus in corpora.items()}
    origins = {split: " and ".join(map(str, paths)) for split, paths in files.items()}
    missing = [split for split in SPLITS if split not in files]
    if missing:
        known = [corpora[split].sources for split in corpora if split != "train"]
        others = np.concatenate(known) if known else ()
        pairs |= train.divide(missing, folder / TEXT, others)
        for split in ("train", *missing):
            files[split] = [folder / TEXT / f"{split}.{code}" for code in train.languages]
        for split in missing:
            origins[split] = f"held out of --train (seed {SEED}), among pairs that occur once"
    why = [f"{pairs[split]:,} pairs for {split}: {origins[split]}" for split in SPLITS]
    why += shared_lines([corpora[split].scans for split in SPLITS if split in corpora])
    if train.blank:
        why.append(f"{train.blank:,} training pairs with a blank side are left out")
    chosen = choose(train, pairs["train"], visible_gpus(), options)
    why += chosen.why
    content = {
        "title": f"{options.folder.resolve().name}, your own text",
        "pair": "-".join(train.languages),
        "archs": list(options.archs),
        **_files(folder, train.languages, files, pairs),
        "text": {"tokenizer": chosen.tokenizer},
        "bpe": {"default": {"operations": chosen.operations, "joint": chosen.joint,
                            "dictionary": "joint" if chosen.joint else "separate",
                            "max_tokens": 250, "ratio": 9}},
        "settings": _settings(chosen),
    }  # fmt: skip
    wrap = textwrap.TextWrapper(96, subsequent_indent="  ", break_on_hyphens=False).wrap
    head = ["Made by dc-nmt new; yours to change. Why it is as it is:"]
    head += [line for sentence in why for line in wrap(f"- {sentence}")]
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=96)
    write_text(folder / OWN, "".join(f"# {line}\n" for line in head) + body)
    return why


# -- choices -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choices:
    """Holds the choices for a corpus."""

    size: Size  # of models
    operations: int  # of BPE
    joint: bool  # one code and one dictionary for both languages
    tokenizer: str  # moses, split or none
    updates: int  # of a training run
    metric: str  # the main metric of the score table
    why: list[str]  # a sentence for each choice


def choose(corpus: Corpus, pairs: int, gpus: int, options: NewOptions) -> Choices:
    """Chooses the settings for a corpus.

    Args:
        corpus: the training text
        pairs: number of training pairs
        gpus: of this machine
        options: decisions of the user

    Raises:
        UserError: a language has no spaces between words, and no tokeniser here
    """
    for code, spaceless in zip(corpus.languages, corpus.spaceless, strict=True):
        if spaceless and code != "zh" and not options.tokenized:
            raise UserError(
                f"--train: the text in {code} has no spaces between its words, and Moses' "
                "tokeniser does not add them; segment it into words first and give --tokenized"
            )
    source, target = corpus.languages
    operations, reason = next((n, about) for below, n, about in OPERATIONS if pairs < below)
    reason += "; --bpe N for another number"
    if options.bpe is not None:
        operations, reason = options.bpe, "--bpe"
    why = [f"{operations:,} BPE operations: {reason}"]

    # letters of a few loan words do not count
    rare = corpus.letters[0].total() / 10_000
    common = {letter for letter, n in corpus.letters[0].items() if n > rare}
    shared = sum(n for letter, n in corpus.letters[1].items() if letter in common)
    share = shared / max(1, corpus.letters[1].total())
    joint = share >= SHARED_LETTERS
    dictionaries = "one dictionary" if joint else "two dictionaries"
    why.append(f"{dictionaries}: {share:.0%} of the letters in {target} occur in {source} too")

    if not gpus:
        size, reason = SMALL, "there is no GPU"
    elif pairs < BASE_FROM:
        size, reason = MEDIUM, f"a GPU, and fewer than {BASE_FROM:,} pairs"
    else:
        size, reason = BASE, f"a GPU, and {BASE_FROM:,} pairs or more"
    why.append(
        f"{size.layers}+{size.layers} layers of width {size.width} and {size.inner}, "
        f"{size.tokens:,} tokens an update: {size.about}; {reason}"
    )
    updates = _updates(corpus, pairs, size)
    why.append(f"{updates:,} updates: dc-nmt run --max-update N trains longer or shorter")

    tokenizer, metric = "moses", default_bleu(target, corpus.first_targets())
    if options.tokenized:
        tokenizer, metric = "none", "multi-bleu"
        why.append("no tokeniser: --tokenized; the scores are of tokens too")
    elif (lost := _lost_by_moses(corpus)) > LOST:
        tokenizer = "split"
        why.append(
            f"tokenizer split, at punctuation and digits: Moses' tokeniser and detokeniser do not "
            f"give {lost:.0%} of the words in {target} back"
        )
    return Choices(size, operations, joint, tokenizer, updates, metric, why)


def _updates(corpus: Corpus, pairs: int, size: Size) -> int:
    """Returns the number of updates for the size's epochs, in hundreds and within its limits."""
    # the longer side; without spaces, two letters count as one word
    words = [
        letters.total() / 2 if spaceless else words
        for letters, spaceless, words in zip(
            corpus.letters, corpus.spaceless, corpus.words, strict=True
        )
    ]
    tokens = TOKENS_PER_WORD * max(words) * pairs / corpus.pairs
    updates = round(size.epochs * tokens / size.tokens / 100) * 100
    return min(max(updates, size.least), size.most)


def _lost_by_moses(corpus: Corpus) -> float:
    """Returns the share of target words that change by tokenising and detokenising."""
    language = corpus.languages[1]
    if language == "zh":
        return 0.0  # scored by characters, spaces or not
    lines = corpus.first_targets()
    again = detokenize(tokenize(lines, "moses", language), "moses", language)
    words = [Counter(line.split()) for line in lines]
    lost = sum((one - Counter(two.split())).total() for one, two in zip(words, again, strict=True))
    return lost / max(1, sum(one.total() for one in words))


# -- recipe.yaml -------------------------------------------------------------------------------


def _files(
    folder: Path,
    languages: tuple[str, str],
    files: dict[str, Sequence[Path]],
    pairs: dict[str, int],
) -> dict[str, Any]:
    """Returns files, parts and splits of the recipe."""
    sources: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for split in SPLITS:
        parts[split] = {"format": "plain", "files": {}, "lines": pairs[split]}
        for code, path in zip(languages, files[split], strict=True):
            name = f"{split}.{code}{'.gz' if path.suffix == '.gz' else ''}"
            state = path.stat()
            sources[name] = {
                "path": _seen_from(folder, path),
                "sha256": sha256(path),
                "bytes": state.st_size,
                "modified": int(state.st_mtime),
            }
            parts[split]["files"][code] = name
    splits: dict[str, Any] = {split: [split] for split in SPLITS}
    splits |= {"exclude_test": True, "exclude_valid": True}
    return {"files": sources, "parts": parts, "splits": splits}


def _settings(chosen: Choices) -> dict[str, Any]:
    size, updates = chosen.size, chosen.updates
    source = f"fitted by dc-nmt new: {updates:,} updates, {size.about}"
    sharing = "--share-all-embeddings" if chosen.joint else "--share-decoder-input-output-embed"
    transformer = " ".join(
        f"--{side}-layers {size.layers} --{side}-embed-dim {size.width} "
        f"--{side}-ffn-embed-dim {size.inner} --{side}-attention-heads {size.heads}"
        for side in ("encoder", "decoder")
    )
    # with the published initial weights Adam, unlike Adadelta, saturates the states
    recurrent = f"{size.recurrent} --weight-init xavier --output-bias-init unigram"

    def schedule(flags: str, updates: int) -> dict[str, Any]:
        return {
            "updates": updates,
            "save_every": updates // 20,
            "flags": f"{flags} --dropout {size.dropout} --label-smoothing 0.1 --clip-norm 1.0 "
            f'--optimizer adam --adam-betas "(0.9, 0.98)" --lr {size.rate} --lr-scheduler cosine '
            f"--warmup-updates {min(4000, updates // 7)}",
        }

    return {
        "all": {
            "source": source,
            # the unnamed size shares all embeddings, which two dictionaries do not allow
            "size": "" if chosen.joint else "unshared",
            "tokens": size.tokens,
            "max_tokens": size.max_tokens,
            **schedule(f"{transformer} {sharing}", updates),
            "average": 5,
            "decode": "--beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20",
            "paper": chosen.metric,
        },
        "transformer": {"size": ""},  # fairseq's own, whose sizes are flags
        "gru_selfattn_residual": {"size": "", **schedule(recurrent, updates // 2)},
    }


def _seen_from(folder: Path, path: Path) -> str:
    """Returns a relative path if both are in one folder and can move together, else absolute."""
    near = folder.resolve().parent
    if path.resolve().is_relative_to(near):
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    return str(path.resolve())
