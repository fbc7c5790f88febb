"""Writes the recipe of a user's corpus: a folder with ``recipe.yaml`` and held-out text."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..errors import UserError
from ..evaluation.text_checks import (
    UNSPACED,
    check_decoding,
    check_raw,
    check_references,
    check_whole_words,
)
from ..files import replacing
from ..machine import usable_cpus
from ..text.lines import read_lines
from .fitting import LONGEST, Fit, fit
from .launch import visible_gpus
from .own_text import LEAST, Corpus, LocalFile, languages_of
from .recipe import OWN, SPLITS, Recipe, tasks
from .settings import translation_family

HEAD = "Made by dc-nmt new; yours to change. Why it is as it is:"
TEXT = "text"  # folder of held-out text and what is left of the training text


@dataclass(frozen=True)
class NewOptions:
    """Options of ``dc-nmt new``.

    Attributes:
        folder: to be made
        train, valid, test: files of source and target; none: held out of the training text
        source_lang, target_lang: codes; None: the files' endings
        archs: to be trained
        tokenized: the text's words are separated already
        seed: of the choice of held-out text
    """

    folder: Path
    train: Sequence[Path]
    valid: Sequence[Path] | None = None
    test: Sequence[Path] | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    archs: Sequence[str] = ("transformer_standard",)
    tokenized: bool = False
    seed: int = 1


@dataclass(frozen=True)
class NewRecipe:
    """Describes the new recipe.

    Attributes:
        recipe: as it was written
        pairs: split → pairs
        origins: split → where it is from
        why: a sentence for each choice
    """

    recipe: Recipe
    pairs: dict[str, int]
    origins: dict[str, str]
    why: tuple[str, ...]


def make_recipe(options: NewOptions) -> NewRecipe:
    """Reads the text, chooses settings, and writes ``folder``; leaves nothing after a failure.

    Raises:
        UserError: text that cannot be trained on, an unknown architecture, or a folder that exists
    """
    folder = options.folder
    _check_folder(folder)
    for arch in options.archs:
        translation_family("--arch", arch)
    given = options.source_lang, options.target_lang
    pair = languages_of("--train", options.train, given)
    files: dict[str, Sequence[Path]] = {"train": options.train}
    for split, paths in (("valid", options.valid), ("test", options.test)):
        if paths is None:
            continue
        files[split] = paths
        if None in given and languages_of(f"--{split}", paths, given) != pair:
            raise UserError(
                f"--{split}: {paths[0]} and {paths[1]} are not {' and '.join(pair)}, in this "
                "order, as --train is"
            )
    corpora = {split: Corpus(f"--{split}", paths, pair) for split, paths in files.items()}
    train = corpora["train"]
    if train.pairs - train.blank < LEAST:
        raise UserError(
            f"--train: {train.pairs - train.blank} pairs are too few to learn from and to measure "
            f"with; {LEAST} are the least"
        )
    for split in files.keys() - {"train"}:
        corpora[split].without_blanks()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return _write(options, pair, files, corpora)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _check_folder(folder: Path) -> None:
    name = folder.resolve().name
    if not re.fullmatch(r"[\w.+-]+", name):
        raise UserError(f"FOLDER: {name!r} has something else than letters, digits, _ . + and -")
    if name in tasks():
        raise UserError(f"FOLDER: {name!r} is a published task's name; take another")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"FOLDER: {folder} exists already; take another name, or remove it")


def _write(
    options: NewOptions,
    pair: tuple[str, str],
    files: dict[str, Sequence[Path]],
    corpora: dict[str, Corpus],
) -> NewRecipe:
    folder, train = options.folder, corpora["train"]
    pairs = {split: corpus.pairs for split, corpus in corpora.items()}
    origins = {split: f"{paths[0]}, {paths[1]}" for split, paths in files.items()}
    missing = [split for split in SPLITS if split not in files]
    why = []
    if missing:
        given = {text for split in corpora.keys() - {"train"} for text in corpora[split].known()}
        counts = train.divide(missing, options.seed, folder / TEXT, given)
        pairs |= counts
        for split in ("train", *missing):
            files[split] = [folder / TEXT / f"{split}.{code}" for code in pair]
        origins |= dict.fromkeys(missing, f"held out of --train (seed {options.seed})")
        sizes = " and ".join(f"{counts[split]:,} pairs for {split}" for split in missing)
        why.append(f"{sizes} held out at random, among those that occur once")
    for split in ("valid", "test"):
        _check_target(
            f"--{split if split in corpora else 'train'}", files[split][1], pair[1], options
        )
    if train.blank:
        why.append(f"{train.blank:,} training pairs with a blank side are left out")
    chosen = fit(train, pairs["train"], visible_gpus(), usable_cpus(), tokenised=options.tokenized)
    for split, what in (("valid", "validation"), ("test", "test")):
        if split in corpora and (repeated := train.shared(corpora[split].known())):
            why.append(
                f"{repeated:,} training pairs whose source is in the {what} set are left out"
            )
    chosen_why = (*why, *chosen.why)
    content = _content(options, pair, files, pairs, chosen, train)
    path = folder / OWN
    with replacing(path) as temporary:
        temporary.write_text(_as_text(content, chosen_why), encoding="utf-8")
    return NewRecipe(Recipe(path), {split: pairs[split] for split in SPLITS}, origins, chosen_why)


def _check_target(flag: str, path: Path, language: str, options: NewOptions) -> None:
    """Refuses references that could not be scored, before training instead of after it.

    Raises:
        UserError: text that ``dc-nmt score`` would refuse
    """
    lines, place = read_lines(path), f"{flag}: {path}"
    check_references(place, lines)
    check_whole_words(place, lines, "none", options.tokenized)
    check_decoding(place, lines)
    if not options.tokenized and language not in UNSPACED:
        check_raw(place, lines, "give --tokenized, or turn entities such as &amp; into characters")


def _content(
    options: NewOptions,
    pair: tuple[str, str],
    files: dict[str, Sequence[Path]],
    pairs: dict[str, int],
    chosen: Fit,
    train: Corpus,
) -> dict[str, Any]:
    """Returns the recipe with the keys of ``recipes/schema.py``."""
    named: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for split in SPLITS:
        for code, path in zip(pair, files[split], strict=True):
            local = LocalFile.of(path)
            named[f"{split}.{code}{'.gz' if path.suffix == '.gz' else ''}"] = {
                "path": _seen_from(options.folder, path),
                "sha256": local.sha256,
                "bytes": local.bytes,
                "modified": local.modified,
            }
        names = [name for name in named if name.startswith(f"{split}.")]
        parts[split] = {"format": "plain", "files": dict(zip(pair, names, strict=True))}
        parts[split]["lines"] = pairs[split]
    return {
        "title": f"{options.folder.resolve().name}, text of one's own",
        "pair": "-".join(pair),
        "archs": list(options.archs),
        "pair_bytes": max(1, sum(side.bytes for side in train.sides) // train.pairs),
        "files": named,
        "parts": parts,
        "splits": {
            **{split: [split] for split in SPLITS},
            "exclude_test": True,
            "exclude_valid": True,
        },
        "text": {"tokenizer": chosen.tokenizer},
        "bpe": {
            "default": {
                "operations": chosen.operations,
                "joint": chosen.joint,
                "dictionary": "joint" if chosen.joint else "separate",
                "max_tokens": LONGEST,
                "ratio": 9,
            }
        },
        "settings": _settings(chosen),
    }


def _settings(chosen: Fit) -> dict[str, Any]:
    size = chosen.size
    sides = [
        f"--{side}-layers {size.layers} --{side}-embed-dim {size.width} "
        f"--{side}-ffn-embed-dim {size.inner} --{side}-attention-heads {size.heads}"
        for side in ("encoder", "decoder")
    ]
    sharing = "--share-all-embeddings" if chosen.joint else "--share-decoder-input-output-embed"
    source = f"fitted by dc-nmt new: {chosen.updates:,} updates, {size.about}"
    return {
        "all": {
            "source": source,
            # the unnamed size shares all embeddings, which two dictionaries do not allow
            **({} if chosen.joint else {"size": "unshared"}),
            "tokens": size.tokens,
            "max_tokens": size.max_tokens,
            "save_every": max(1, chosen.updates // 20),
            "updates": chosen.updates,
            "average": 5,
            "flags": " ".join([*sides, sharing, _training(chosen, chosen.updates)]),
            "decode": "--beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20",
            "paper": chosen.metric,
        },
        "transformer": {"size": ""},  # fairseq's own, whose sizes are flags
        # With the published initial weights Adam, unlike Adadelta, saturates the states.
        "gru_selfattn_residual": {
            "source": source,
            "size": "",
            "updates": chosen.updates // 2,
            "save_every": max(1, chosen.updates // 40),
            "flags": f"--embed-dim {size.embedding} --hidden-dim {size.state} --weight-init xavier "
            f"--output-bias-init unigram {_training(chosen, chosen.updates // 2)}",
        },
    }


def _training(chosen: Fit, updates: int) -> str:
    size = chosen.size
    return (
        f"--dropout {size.dropout} --label-smoothing 0.1 --clip-norm 1.0 --optimizer adam "
        f'--adam-betas "(0.9, 0.98)" --lr {size.rate} --lr-scheduler cosine '
        f"--warmup-updates {min(4000, max(1, updates // 7))}"
    )


def _seen_from(folder: Path, path: Path) -> str:
    """Returns a relative path if both are in one folder, else an absolute path."""
    near = folder.resolve().parent
    if path.resolve().is_relative_to(near):
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    return str(path.resolve())


def _as_text(content: dict[str, Any], why: Sequence[str]) -> str:
    wrap = textwrap.TextWrapper(96, subsequent_indent="  ", break_on_hyphens=False).wrap
    lines = [HEAD, *(line for sentence in why for line in wrap(f"- {sentence}"))]
    head = "".join(f"# {line}\n" for line in lines)
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=96)
    return f"{head}{body}"
