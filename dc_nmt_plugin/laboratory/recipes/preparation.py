"""Plans the steps from a task's files to binarised data: text, BPE, fairseq-preprocess."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace
from tqdm import tqdm

from ...errors import UserError, check_choices
from ...files import write_json, write_parallel
from ...machine import usable_cpus
from ...text.lines import stream_lines
from ...text.segmentation import SEGMENTERS, SENTENCEPIECE, SUBWORD_NMT, segmenter_of_codes
from ..raw_text.preparation import fits
from ..steps import EACH, Command, Line, Stage, Step, stamp_of
from .corpora import Corpora
from .planned import LENGTHS, PLUGIN, option_words, user_dir_words
from .recipe import SPLITS, Recipe, Segmentation, load, set_values
from .segmenting import dictionary_of, learning_line
from .settings import settings_of
from .sources import DOWNLOADS, Sources

SAMPLE_OPERATIONS = 2000  # of BPE at most


@dataclass(frozen=True)
class TextOptions:
    """Options of ``dc-nmt prepare``."""

    task: str  # name of a task
    archs: tuple[str, ...] = ()  # architectures to prepare for; none: all of the task's papers
    bpe: tuple[str, ...] = ()  # names of further segmentations to prepare
    out: Path | None = None  # output folder; default runs/TASK, or the folder of the user's recipe
    sample: int | None = None  # approximate number of training pairs; None for all
    raw: Path | None = None  # folder with files that the user has
    downloads: Path = DOWNLOADS  # folder of fetched files
    any_counts: bool = False  # continue when numbers of lines differ from the published ones


def plan_text(options: TextOptions) -> Command:
    """Returns the command ``dc-nmt prepare`` with its steps.

    ``DATA/raw`` gets train, valid and test in both languages, one sentence a line, and
    ``DATA/raw/tokenised`` the same tokenised. Each segmentation has its own ``bpe`` and ``bin``.

    Raises:
        UserError: an unknown task or architecture, or the text would be replaced
    """
    recipe = load(options.task)
    data = recipe.data_folder(options.out, options.sample)
    steps = [_text_step(recipe, options, data)]
    for segmentation in _segmentations(recipe, options):
        stamp = stamp_of({"text": steps[0].stamp, "segmentation": set_values(segmentation)})
        if recipe.is_binarised:
            steps += _taking(recipe, segmentation, data, stamp)
            continue
        steps.append(_segmenting(recipe, segmentation, data, stamp))
        steps.append(_binarising(recipe, segmentation, data, stamp))
    _check_inputs(recipe, options, [step.folder for step in steps])
    words = ["prepare", options.task, *options.archs, *user_dir_words()]
    words += option_words(options, {"task", "archs"})
    done = f"done; everything is in {data}"
    return Command(tuple(words), Stage(data, steps, {"DATA": data}, end_note=done))


def _check_inputs(recipe: Recipe, options: TextOptions, replaced: Sequence[Path]) -> None:
    """Refuses folders that would be replaced although the recipe reads a file there."""
    for path in (*recipe.local_files(), *([options.raw] if options.raw else [])):
        for folder in replaced:
            if path.resolve().is_relative_to(folder.resolve()):
                raise UserError(f"{path}: is read, and {folder} is made anew; give another --out")


def _segmentations(recipe: Recipe, options: TextOptions) -> list[Segmentation]:
    check_choices("--bpe", options.bpe, recipe.task.bpe)
    wanted = {settings_of(recipe, arch).bpe for arch in options.archs} | set(options.bpe)
    segmentations = [
        segmentation
        for name, segmentation in recipe.task.bpe.items()
        if name in wanted or not wanted
    ]
    if options.sample:
        segmentations = [
            replace(segmentation, operations=min(segmentation.operations, SAMPLE_OPERATIONS))
            for segmentation in segmentations
        ]
    return segmentations


def _text_step(recipe: Recipe, options: TextOptions, data: Path) -> Step:
    words = ["dc-nmt", "recipe", "text", recipe.cli_name, "--work", f"{data}/corpora"]
    words += option_words(options, {"task", "archs", "bpe", "out", "downloads"})
    words += ["--downloads", str(options.downloads)]
    sources = Sources(recipe, options.raw, options.downloads)
    corpora = Corpora(sources, data / "corpora", options.sample, options.any_counts)
    facts = {"sample": options.sample, "optional": corpora.optional(), **recipe.text_facts()}
    return Step(
        f"text of {recipe.folder}",
        data / "raw",
        lambda to: [Line((*words, "--out", str(to)), shown=True)],
        stamp=stamp_of(facts),
    )


def _segmenting(recipe: Recipe, segmentation: Segmentation, data: Path, stamp: str) -> Step:
    tokens = f"{data}/raw/tokenised"
    limits = [str(segmentation.max_tokens), f"{segmentation.ratio:g}"]
    limits += [str(segmentation.max_words)] if segmentation.max_words else []
    is_limited = any((segmentation.max_tokens, segmentation.ratio, segmentation.max_words))

    def lines(to: Path) -> list[Line]:
        clean = ("dc-nmt", "recipe", "clean", str(to), *recipe.pair, *limits)
        return [
            *_pieces(recipe, segmentation, tokens, str(to)),
            _same_counts(_texts(recipe, tokens), _texts(recipe, str(to))),
            Line(clean, shown=is_limited, is_check=not is_limited),
        ]

    segmenter = SEGMENTERS[segmentation.segment]
    name = f"learn and apply {segmenter.label} ({segmentation.operations} {segmenter.unit})"
    if segmentation.codes:
        name = f"apply {segmenter.label} by the recipe's codes"
    return Step(name, data / f"bpe{segmentation.suffix}", lines, stamp=stamp)


def _taking(recipe: Recipe, segmentation: Segmentation, data: Path, stamp: str) -> Iterator[Step]:
    """Yields the steps that copy codes and link binarised text, which may have gigabytes."""
    given = recipe.given(segmentation.codes)
    if given:
        codes = data / f"bpe{segmentation.suffix}"

        def copies(to: Path) -> list[Line]:
            named = _codes(recipe, segmentation, str(to))
            copied = {named[language]: str(path) for language, path in given.items()}
            return [Line(("cp", path, name)) for name, path in copied.items()]

        yield Step("copy the codes", codes, copies, stamp=stamp)
    files = [
        (recipe.path.parent / file.path).resolve()
        for name, file in recipe.task.files.items()
        if name not in segmentation.codes
    ]

    def links(to: Path) -> list[Line]:
        return [Line(("ln", "-s", *map(str, files), str(to)))]

    yield Step("link the binarised text", data / f"bin{segmentation.suffix}", links, stamp=stamp)


def _texts(recipe: Recipe, folder: str) -> list[str]:
    return [f"{folder}/{split}.{lang}" for split in recipe.splits for lang in recipe.pair]


def _codes(recipe: Recipe, segmentation: Segmentation, folder: str) -> dict[str, str]:
    """Returns language → file of its codes in a folder."""
    ending = SEGMENTERS[segmentation.segment].ending
    if segmentation.joint:
        return dict.fromkeys(recipe.pair, f"{folder}/codes{ending}")
    return {language: f"{folder}/codes.{language}{ending}" for language in recipe.pair}


def _pieces(recipe: Recipe, segmentation: Segmentation, tokens: str, to: str) -> Iterator[Line]:
    """Yields the lines that learn or copy codes, and segment all files by them."""
    segmenter, size = SEGMENTERS[segmentation.segment], segmentation.operations
    codes, given = _codes(recipe, segmentation, to), recipe.given(segmentation.codes)
    sides = [recipe.pair] if segmentation.joint else [(language,) for language in recipe.pair]
    for languages in sides:
        texts = [f"{tokens}/train.{language}" for language in languages]
        file = codes[languages[0]]
        if given:
            yield Line(("cp", str(given[languages[0]]), file))
        else:
            yield learning_line(segmenter, texts, file, size)
        names = [f"{split}.{language}" for language in languages for split in recipe.splits]
        apply = ("dc-nmt", "recipe", "apply-pieces", file, f"{tokens}/{EACH}", f"{to}/{EACH}")
        yield Line(apply, shown=True, files=tuple(names))


def _binarising(recipe: Recipe, segmentation: Segmentation, data: Path, stamp: str) -> Step:
    source, target = recipe.pair
    pieces = f"{data}/bpe{segmentation.suffix}"
    words = ["fairseq-preprocess", "--user-dir", PLUGIN]
    words += ["--source-lang", source, "--target-lang", target]
    if segmentation.dictionary == "joint":
        words += ["--joined-dictionary"]
    words += _dictionaries(recipe, segmentation, pieces)
    words += ["--trainpref", f"{pieces}/train", "--validpref", f"{pieces}/valid"]
    tests = [f"{pieces}/{split}" for split in recipe.splits[2:]]
    words += ["--testpref", ",".join(tests), "--workers", str(usable_cpus())]
    # fairseq-preprocess's names for further test sets are test1, test2, …
    further = [f"test{n}" for n in range(1, len(recipe.splits) - len(SPLITS) + 1)]
    indexes = [
        f"{split}.{source}-{target}.{lang}.idx"
        for split in (*SPLITS, *further)
        for lang in recipe.pair
    ]

    def lines(to: Path) -> list[Line]:
        written = [f"{to}/{index}" for index in indexes]
        binarise = Line((*words, "--destdir", str(to)))
        return [binarise, _same_counts(_texts(recipe, pieces), written)]

    return Step("fairseq-preprocess", data / f"bin{segmentation.suffix}", lines, stamp=stamp)


def _dictionaries(recipe: Recipe, segmentation: Segmentation, folder: str) -> Iterator[str]:
    """Yields the flags for dictionaries of the recipe, or those written with the codes.

    Without them, fairseq-preprocess counts the pieces.
    """
    files = {lang: str(path) for lang, path in recipe.given(segmentation.dictionaries).items()}
    are_written = segmentation.segment == SENTENCEPIECE.name and not segmentation.codes
    if are_written and (segmentation.joint or segmentation.dictionary == "separate"):
        codes = _codes(recipe, segmentation, folder)
        files = {language: dictionary_of(codes[language]) for language in recipe.pair}
    if files:
        yield from ("--srcdict", files[recipe.source])
        if segmentation.dictionary == "separate":
            yield from ("--tgtdict", files[recipe.target])


def _same_counts(before: Sequence[str], after: Sequence[str]) -> Line:
    """Checks that no tool lost or split a sentence."""
    files = [file for pair in zip(before, after, strict=True) for file in pair]
    return Line(("dc-nmt", "check-text", "--counts", *files), is_check=True)


def clean_pieces(
    folder: Path, languages: tuple[str, str], max_tokens: int, ratio: float, max_words: int = 0
) -> tuple[int, int]:
    """Cleans ``folder/train.LANG``; stores every split's longest sentence in ``lengths.json``.

    Args:
        folder: text after segmentation, with its codes
        languages: of the files
        max_tokens, ratio: as in ``clean-corpus-n.perl``; 0 for no limit
        max_words: the same before BPE

    Returns:
        training pairs before and after
    """
    before = 0
    segmenter = next(map(segmenter_of_codes, folder.glob("codes*")), SUBWORD_NMT)
    paths = [folder / f"train.{language}" for language in languages]

    def kept() -> Iterator[tuple[str, str]]:
        nonlocal before
        pairs = zip(*map(stream_lines, paths), strict=True)
        for first, second in tqdm(pairs, "clean", unit=" pairs", disable=None):
            before += 1
            good = fits(first, second, max_tokens, ratio)
            if good and max_words:
                good = fits(segmenter.join(first), segmenter.join(second), max_words, 0)
            if good:
                yield first, second

    after = write_parallel(paths, kept())
    if not after:
        raise UserError(f"{folder}: no training pair has at most {max_tokens} pieces")
    longest = {}
    for path in (folder / f"{split}.{language}" for split in SPLITS for language in languages):
        longest[path.name] = max(len(line.split()) for line in stream_lines(path))
    write_json(folder / LENGTHS, longest)
    return before, after
