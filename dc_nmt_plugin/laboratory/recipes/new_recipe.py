"""Writes the recipe of a user's text: checks the files, holds sets out, and chooses settings."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from ...errors import UsageError, UserError, counted, notify, printable
from ...files import folder_problem, making, sha256, write_parallel, write_text
from ...flags import flag_name
from ...text.languages import is_spaceless, language
from ...text.lines import PACKED
from ...text.segmentation import (
    SEGMENTERS,
    SENTENCEPIECE,
    SUBWORD_NMT,
    Segmenter,
)
from ..evaluation.metrics import METRICS, default_bleu
from ..raw_text import TextSettings
from ..raw_text.checks import (
    NOTHING,
    RARE,
    Finding,
    Scan,
    refuse,
    scan_groups,
    shared_lines,
    unseen_characters,
)
from ..raw_text.tokenizers import detokenize, tokenize
from .downloaded import write_plain
from .existing import Binarised, Existing, StartRun
from .formats import read_pairs
from .held_out import SEED, lines_that_occur_once
from .recipe import OWN, SPLITS, TAG, Recipe, load, set_values, tasks
from .settings import settings_of, translation_family

LEAST = 200  # training pairs; fewer are too few for training and evaluation
SAMPLED = 1000  # pairs, spread over the text, from which the tokeniser and dictionary are chosen
SHARED_LETTERS = 0.5  # of the target's text: from there on one dictionary serves both languages
LOST = 0.05  # share of the words that Moses' tokeniser may lose
# endings of files that name no language
ENDINGS = ("txt", "tok", "raw", "bpe", "src", "trg", "tgt", "csv", "tsv")
# words that stand for something else: <2de>, __NUM_1__, ｟ent＃1：num｠, {name}, [[1]]
MARK = re.compile(r"(?<!\S)(?:<\S+>|__\S+__|｟\S+｠|\{\S+\}|\[\[\S+\]\])(?!\S)")
# option → options whose values it replaces
CONTRADICTIONS = {
    "data_bin": "train valid test add source_lang target_lang report dictionary bpe start",
    "start": "archs dictionary bpe like",
    "codes": "bpe",
}
FLAG_OF = {"archs": "ARCH", "start": "--from"}
# refused in addition to SPOILT; blank pairs are left out of the training text
REFUSED = ("tokenized", "entities", "shifted", "unseen", "symbol", "form")


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
class Added:
    """A further training corpus, ``--add``.

    Raises:
        UsageError: no word that can be a tag
    """

    files: Sequence[Path]  # of source and target, or one with both
    repeat: int = 1  # times that it stands in the training text
    tag: str = ""  # before each source sentence

    def __post_init__(self) -> None:
        if not re.fullmatch(TAG, self.tag):
            raise UsageError(f"--add: tag={self.tag}: is no single word without @ and ▁")

    @property
    def settings(self) -> dict[str, Any]:
        """Returns the keys that a recipe's part gets."""
        settings = {"repeat": self.repeat, "tag": self.tag}
        return {key: value for key, value in settings.items() if value not in (1, "")}


@dataclass(frozen=True)
class NewOptions:
    """Options of ``dc-nmt new``."""

    folder: Path  # of the new recipe
    train: Sequence[Path] = ()  # files of source and target, or one file with both
    valid: Sequence[Path] | None = None  # the same; None: taken from the training text
    test: Sequence[Path] | None = None
    source_lang: str | None = None  # codes; None: the endings of the files
    target_lang: str | None = None
    # architectures to train; none: transformer_standard, or that of `start`
    archs: Sequence[str] = ()
    tokenized: bool = False  # the words of the text are already separated
    bpe: int | None = None  # number of BPE operations, or pieces; None: by the size of the text
    segment: str = "subword-nmt"  # program that segments, of SEGMENTERS
    like: str | None = None  # task whose settings are taken
    codes: Sequence[Path] = ()  # one file for both languages, or those of source and target
    dictionary: Sequence[Path] = ()  # of fairseq; the same
    start: Path | None = None  # run whose model is trained on
    data_bin: Path | None = None  # folder of fairseq-preprocess, instead of `train`
    report: Path | None = None  # file to write: each line with a problem
    add: Sequence[Added] = ()  # further training text

    @property
    def added(self) -> dict[str, Added]:
        """Returns the further corpora by the names of their parts."""
        return {f"added{number}": corpus for number, corpus in enumerate(self.add, start=1)}


def make_recipe(options: NewOptions) -> tuple[Recipe, list[str]]:
    """Checks the text and writes ``folder``; leaves nothing after a failure.

    Returns:
        the recipe, and the lines that begin it: the sets and the settings

    Raises:
        UserError: unusable text, an unknown architecture, or an existing folder
    """
    name = options.folder.resolve().name
    if problem := folder_problem(options.folder):
        raise UsageError(f"FOLDER: {problem}")
    if name in tasks():
        raise UsageError(f"FOLDER: {name!r} is a published task's name; take another")
    for arch in options.archs:
        translation_family(arch)
    _check_contradictions(options)
    if options.data_bin:
        binarised = Binarised.read(options.data_bin)
        with making(options.folder) as folder:
            notes = _write_binarised(folder, options, binarised)
            Recipe(folder / OWN).check()
        return Recipe(options.folder / OWN), notes
    start = StartRun.read(options.start, options.codes) if options.start else None
    if start:
        options = _of_start(options, start)
    existing = start.existing if start else Existing.of(options.codes, options.dictionary)
    existing.check_dictionaries()
    if existing.codes:
        options = dataclasses.replace(options, segment=existing.segmenter.name)
    with making(options.folder) as folder:
        text = _plain_text(options, folder / "text")
        if start:
            start.check_languages(text.languages)
        try:
            scans = _check(text, options)
            notes = _write(folder, options, text, scans, existing, start)
        except UserError as error:
            raise type(error)(text.named(error)) from error
    return Recipe(options.folder / OWN), notes


def _check_contradictions(options: NewOptions) -> None:
    """Raises UsageError for an option whose value another one would replace."""
    for name, others in CONTRADICTIONS.items():
        for other in others.split():
            if getattr(options, name) and getattr(options, other):
                one, two = (FLAG_OF.get(each, flag_name(each)) for each in (name, other))
                raise UsageError(f"{two}: contradicts {one}, which decides it; leave out {two}")


def _of_start(options: NewOptions, start: StartRun) -> NewOptions:
    """Returns the options with the architecture of a run, and how its text was prepared."""
    tokenized = options.tokenized or bool(start.text and start.text.tokenizer == "none")
    archs = [arch] if (arch := start.record.architecture) else []
    return dataclasses.replace(options, archs=archs, tokenized=tokenized)


@dataclass
class PlainText:
    """The text of a recipe as plain files."""

    languages: tuple[str, str]
    files: dict[str, Sequence[Path]]  # set → its two files
    origins: dict[str, str]  # set → what the user gave
    names: dict[str, str]  # file that was written of a download → its name in messages

    def named(self, message: object) -> str:
        """Returns a message that names downloads in place of what was written of them."""
        text = str(message)
        for path, name in self.names.items():
            text = text.replace(path, name)
        return text


def _plain_text(options: NewOptions, to: Path) -> PlainText:
    """Returns the user's text, of which downloads are written into a folder.

    Raises:
        UserError: unusable downloads, or files in different languages
    """
    given = {split: getattr(options, split) for split in SPLITS if getattr(options, split)}
    given |= {name: corpus.files for name, corpus in options.added.items()}
    codes = options.source_lang, options.target_lang
    text = PlainText(("", ""), dict(given), {}, {})
    for name, paths in given.items():
        flag = _flag(name)
        if len(paths) == 1:
            known = codes if name == "train" else text.languages
            found, written, origin = write_plain(flag, paths[0], known, to, name)
            text.files[name] = written
            text.names |= {str(p): f"{paths[0]} ({c})" for p, c in zip(written, found, strict=True)}
        else:
            found = _languages(flag, paths, codes)
            origin = " and ".join(map(str, paths))
        text.origins[name] = origin
        if name == "train":
            text.languages = found
        elif None in codes and found != text.languages:
            raise UsageError(
                f"{flag}: {paths[0]} and {paths[1]} are {' and '.join(found)} by their "
                f"endings, and --train is {' and '.join(text.languages)}, in this order"
            )
    return text


def _flag(name: str) -> str:
    """Returns the flag that names the files of a set."""
    return f"--{name}" if name in SPLITS else "--add"


def _languages(flag: str, paths: Sequence[Path], codes: Sequence[str | None]) -> tuple[str, str]:
    """Returns the language codes of two files, such as ``a.de`` and ``a.en.gz``.

    Raises:
        UserError: the codes are unknown
    """
    known = []
    for path, code, side in zip(paths, codes, ("--source-lang", "--target-lang"), strict=True):
        suffix = (path.stem if path.suffix in PACKED else path.name).rpartition(".")[2]
        named = re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?", suffix) and suffix not in ENDINGS
        if code is None and not named:
            raise UsageError(f"{flag}: {path} does not end in a language such as .de: give {side}")
        known.append(code or language(suffix))
    return known[0], known[1]


def _check(text: PlainText, options: NewOptions) -> dict[str, list[Scan]]:
    """Returns the scans of both sides of every set.

    Raises:
        UserError: unreadable or empty files, sides of different lengths, the same text twice, too
            few pairs, or a problem that makes training or scores meaningless; all problems
            are printed before
    """
    groups, findings = scan_groups(list(text.files.values()), options.report)
    if options.report and text.names:
        write_text(options.report, text.named(options.report.read_text("utf-8")))
    if options.tokenized:  # the user knows it
        findings = [f for f in findings if f.kind not in ("tokenized", "entities")]
    scans = dict(zip(text.files, groups, strict=True))
    if findings:
        notify(*map(text.named, findings), "", out=True)
    for split, (source, target) in scans.items():
        _check_set(split, source, target, findings)
    return scans


def _check_set(split: str, source: Scan, target: Scan, findings: Sequence[Finding]) -> None:
    """Refuses a set, as :func:`_check` says."""
    in_set = [finding for finding in findings if finding.file in (source.name, target.name)]
    try:
        refuse(in_set, (*REFUSED, "blank") if split in ("valid", "test") else REFUSED)
    except UserError as error:
        raise UserError(f"{_flag(split)}: {error}") from None
    good = (source.texts != NOTHING) & (target.texts != NOTHING)
    same = int(((source.texts == target.texts) & good).sum())
    if same > source.lines // 2:
        raise UserError(
            f"{_flag(split)}: {same:,} of {source.lines:,} lines are the same in {source.name} and "
            f"{target.name}: these are not two languages"
        )
    if split == "train" and good.sum() < LEAST:
        raise UserError(
            f"--train: {counted(good.sum(), 'pair')}, too few to learn from and to measure; "
            f"{LEAST} are the least"
        )


def _write(
    folder: Path,
    options: NewOptions,
    text: PlainText,
    scans: dict[str, list[Scan]],
    existing: Existing,
    start: StartRun | None,
) -> list[str]:
    """Writes the held-out text and the recipe; returns the recipe's first lines."""
    step = scans["train"][0].lines // SAMPLED + 1
    languages = text.languages
    sample = list(islice(read_pairs("plain", text.files["train"]), 0, None, step))
    pairs, notes = _write_sets(folder, text, scans, options.added)
    total = pairs["train"] + sum(
        corpus.repeat * pairs[name] for name, corpus in options.added.items()
    )
    choices = _choices(options, languages, sample, total)
    choices = dataclasses.replace(choices, given=existing.segmentation(languages))
    prepared = msgspec.convert({"tokenizer": choices.tokenizer}, TextSettings)
    if start and start.text:
        prepared = start.text
        choices = dataclasses.replace(choices, tokenizer=prepared.tokenizer)
    notes += choices.text_notes(languages)
    notes += _mark_notes(sample, languages, choices.tokenizer)
    settings = None
    if existing.codes:
        lines, pieces = existing.check(sample, languages, prepared)
        notes += lines
        settings = start.settings(total, pieces) if start else None
    content = _files(folder, text, pairs, options.added)
    copied = existing.copied(folder, languages)
    content["files"] |= {name: _file(folder, path) for name, path in copied.items()}
    content["text"] = {"tokenizer": prepared.tokenizer, **set_values(prepared)}
    return _write_recipe(folder, options, languages, choices, content, notes, settings)


def _write_binarised(folder: Path, options: NewOptions, binarised: Binarised) -> list[str]:
    """Writes the recipe of a folder of fairseq-preprocess; returns its first lines."""
    languages, pairs = binarised.languages, binarised.pairs
    existing = Existing.of(options.codes, binarised.dictionaries if options.codes else ())
    existing.check_dictionaries()
    existing = dataclasses.replace(existing, dictionaries=())  # they stay where they are
    given = {**existing.segmentation(languages), **binarised.segmentation}
    size = next(size for size in SIZES if pairs["train"] < size.below)
    segmenter = SEGMENTERS[given["segment"]]
    tokenizer, metric = "none", "multi-bleu"
    if segmenter is SENTENCEPIECE:
        tokenizer, metric = "raw", default_bleu(languages[1])
    choices = Choices(size, segmenter, 0, 0, tokenizer, metric, given)
    copied = existing.copied(folder, languages)
    files = {path.name: path for path in binarised.files} | copied
    content = {
        "files": {name: _file(folder, path) for name, path in files.items()},
        "parts": {name: {"format": "binarised", "lines": lines} for name, lines in pairs.items()},
        "splits": {split: [split] for split in SPLITS},
        "text": {"tokenizer": tokenizer},
    }
    notes = [
        f"{split}: {counted(lines, 'pair')}, binarised in {options.data_bin}"
        for split, lines in pairs.items()
    ]
    notes.append("scores are of the text as it was segmented, with joined pieces")
    return _write_recipe(folder, options, languages, choices, content, notes)


def _write_recipe(
    folder: Path,
    options: NewOptions,
    languages: tuple[str, str],
    choices: Choices,
    content: Mapping[str, Any],
    notes: list[str],
    of_start: dict[str, Any] | None = None,
) -> list[str]:
    """Writes the recipe with files and text in `content`; returns its first lines."""
    archs = list(options.archs) or ["transformer_standard"]
    bpe = {"default": choices.segmentation}
    if of_start is not None:
        settings = _settings(choices.size, choices.joint, choices.metric)
        settings = {"all": settings["all"] | of_start}
        notes.append(f"updates: {of_start['updates']:,}; {of_start['source']}")
    elif options.like is None:
        notes += choices.notes(languages)
        settings = _settings(choices.size, choices.joint, choices.metric)
    else:
        like = load(options.like)
        notes += _notes_of_like(like, archs)
        bpe = _bpe_of_like(like, options, choices.given)
        settings = _settings_of_like(like, "-".join(languages), choices.metric)
    recipe = {
        "title": f"{options.folder.resolve().name}, your own text",
        "pair": "-".join(languages),
        "archs": archs,
        **content,
        "bpe": bpe,
        "settings": settings,
    }
    head = ["Made by dc-nmt new; yours to change.", *notes]
    body = yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True, width=96)
    write_text(folder / OWN, "".join(f"# {printable(line)}\n" for line in head) + body)
    return notes


def _write_sets(
    folder: Path, text: PlainText, scans: dict[str, list[Scan]], added: Mapping[str, Added]
) -> tuple[dict[str, int], list[str]]:
    """Writes the sets that are held out, and adds their files to those of `text`.

    Returns:
        set → pairs, and lines about the sets
    """
    pairs = {split: sides[0].lines for split, sides in scans.items()}
    missing = [split for split in SPLITS if split not in text.files]
    if missing:
        set_of = lines_that_occur_once(missing, scans)
        pairs |= _write_held_out(set_of, folder / "text", text.files["train"], text.languages)
        for split in ("train", *missing):
            text.files[split] = [folder / "text" / f"{split}.{code}" for code in text.languages]
        for split in missing:
            text.origins[split] = f"held out of --train (seed {SEED}): translations that occur once"
    notes = [f"{name}: {counted(pairs[name], 'pair')}, {text.origins[name]}" for name in SPLITS]
    for name, corpus in added.items():
        settings = "".join(f", {key}={value}" for key, value in corpus.settings.items())
        notes.append(f"{name}: {counted(pairs[name], 'pair')}{settings}, {text.origins[name]}")
    train, *scored = [scans[split] for split in SPLITS if split in scans]
    for name in added:
        notes += shared_lines([scans[name], *scored])
        for side, further in zip(train, scans[name], strict=True):
            side.characters |= further.characters
    notes += _notes_about_scores([train, *scored])
    return pairs, list(dict.fromkeys(map(text.named, notes)))


def _notes_about_scores(sets: Sequence[Sequence[Scan]]) -> list[str]:
    """Returns lines about what makes scores of these sets, the training text first, misleading."""
    notes = []
    for sides in sets[1:]:
        for train, side in zip(sets[0], sides, strict=True):
            notes += unseen_characters(train, side)
    return notes + shared_lines(sets)


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


def _mark_notes(
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


def _choices(
    options: NewOptions, languages: tuple[str, str], sample: list[tuple[str, str]], pairs: int
) -> Choices:
    size = next(size for size in SIZES if pairs < size.below)
    return Choices(
        size,
        SEGMENTERS[options.segment],
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


def _write_held_out(
    set_of: dict[int, str], folder: Path, paths: Sequence[Path], languages: tuple[str, str]
) -> dict[str, int]:
    """Writes ``folder/SET.LANG`` for each held-out set, and for the rest of the training text.

    Args:
        set_of: line of the training text → held-out set
        folder: to write
        paths: of the training text
        languages: codes

    Returns:
        set → pairs
    """
    pairs = {}
    for name in (*dict.fromkeys(set_of.values()), "train"):  # whose files may be `paths`
        rows = enumerate(read_pairs("plain", paths))
        pairs[name] = write_parallel(
            [folder / f"{name}.{code}" for code in languages],
            (row for place, row in rows if set_of.get(place, "train") == name),
        )
    return pairs


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


# -- recipe.yaml -------------------------------------------------------------------------------


def _files(
    folder: Path, text: PlainText, pairs: dict[str, int], added: Mapping[str, Added]
) -> dict[str, Any]:
    """Returns files, parts and splits of the recipe."""
    sources: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for split in (*SPLITS, *added):
        parts[split] = {"format": "plain", "files": {}, "lines": pairs[split]}
        if split in added:
            parts[split] |= added[split].settings
        for code, path in zip(text.languages, text.files[split], strict=True):
            name = f"{split}.{code}{path.suffix if path.suffix in PACKED else ''}"
            sources[name] = _file(folder, path)
            parts[split]["files"][code] = name
    splits: dict[str, Any] = {split: [split] for split in SPLITS}
    splits["train"] += added
    splits |= {"exclude_test": True, "exclude_valid": True}
    return {"files": sources, "parts": parts, "splits": splits}


def _file(folder: Path, path: Path) -> dict[str, Any]:
    """Returns the recipe's entry of a file."""
    state, absolute = path.stat(), path.resolve()
    # files beside the folder can move together with it
    near = absolute.is_relative_to(folder.resolve().parent)
    return {
        "path": os.path.relpath(absolute, folder.resolve()) if near else str(absolute),
        "sha256": sha256(path),
        "bytes": state.st_size,
        "modified": int(state.st_mtime),
    }


def _segment(segmenter: str) -> dict[str, str]:
    return {} if segmenter == SUBWORD_NMT.name else {"segment": segmenter}


def _settings(size: Size, joint: bool, metric: str) -> dict[str, Any]:
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


# -- the settings of another task --------------------------------------------------------------


def _bpe_of_like(like: Recipe, options: NewOptions, given: dict[str, Any]) -> dict[str, Any]:
    """Returns its segmentations, by the program, number and files that the user wants."""
    changes = {"operations": options.bpe} if options.bpe else {}
    return {
        name: {**set_values(replace(each, segment="subword-nmt")), **changes}
        | _segment(options.segment)
        | given
        for name, each in like.task.bpe.items()
    }


def _settings_of_like(like: Recipe, pair: str, metric: str) -> dict[str, Any]:
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


def _notes_of_like(like: Recipe, archs: Sequence[str]) -> list[str]:
    """Returns lines about what is taken of it, and what is not."""
    notes = [
        f"like {like.name} ({like.task.title}): its segmentation, sizes, updates, batches, dropout "
        "and decoding are taken; its text, how that was prepared and cleaned, its test sets and "
        "its metric are not"
    ]
    for arch in archs:
        settings = settings_of(like, arch)
        bpe = like.task.bpe[settings.bpe]
        notes.append(
            f"{arch}: trained as {settings.arch}, {settings.updates:,} updates of "
            f"{settings.tokens:,} tokens, {bpe.dictionary} dictionary; {settings.source}"
        )
    return notes
