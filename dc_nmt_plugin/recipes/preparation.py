"""Plans the steps from a task's files to binarised data: text, BPE, fairseq-preprocess."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..errors import UserError, check_choices
from ..files import sha256, write_json, write_parallel
from ..machine import usable_cpus
from ..steps import Command, ShellWord, Step, stamp_of
from ..text.lines import check_same_count, remove_bpe, stream_lines
from ..text.preparation import fits
from .corpora import Corpora
from .recipe import SPLITS, Recipe, Segmentation, load
from .settings import settings_of
from .sources import DOWNLOADS, Say, Sources
from .splits import make_text
from .training import LENGTHS

SAMPLE_OPERATIONS = 2000  # of BPE at most
WORKERS = ShellWord(usable_cpus(), '"$(nproc)"')  # processes of BPE and binarisation


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


def plan_text(options: TextOptions) -> Preparation:
    """Plans the steps of ``dc-nmt prepare``.

    Raises:
        UserError: an unknown task or architecture
    """
    recipe = load(options.task)
    work = recipe.data_folder(options.out, options.sample)
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
    corpora = _corpora(recipe, options)
    text = Step(
        f"text of {recipe.folder}",
        work / "raw",
        lambda: stamp_of([options.sample, *recipe.text_words(), *corpora.optional()]),
        lambda to: [_text_command(recipe, options, to)],
    )
    return Preparation(recipe, work, text, segmentations)


def _corpora(recipe: Recipe, options: TextOptions, say: Say = print) -> Corpora:
    folder = recipe.data_folder(options.out, options.sample) / "corpora"
    sources = Sources(recipe, options.raw, options.downloads, say)
    return Corpora(sources, folder, options.sample, options.any_counts)


def _text_command(recipe: Recipe, options: TextOptions, to: Path) -> Command:
    words = ["dc-nmt", "recipe", "text", recipe.cli_name]
    words += ["--work", str(_corpora(recipe, options).folder)]
    if options.raw is not None:
        words += ["--raw", str(options.raw)]
    words += ["--downloads", str(options.downloads)]
    if options.sample is not None:
        words += ["--sample", str(options.sample)]
    if options.any_counts:
        words += ["--any-counts"]

    def call(log: Path) -> None:
        """Makes the text in this process; shows the progress and stores it as the step's log."""

        def say(text: str) -> None:
            print(text, flush=True)
            with open(log, "a", encoding="utf-8") as out:
                out.write(f"{text}\n")

        make_text(_corpora(recipe, options, say), to)

    return Command([*words, "--out", str(to)], call=call)


@dataclass(frozen=True)
class Preparation:
    """The steps that prepare a task's text in folders of ``work``.

    ``raw`` has train, valid and test in both languages, one sentence a line, and ``raw/tokenised``
    the same tokenised. Each segmentation has its own ``bpe`` and ``bin``.
    """

    recipe: Recipe
    work: Path
    text: Step  # makes raw
    segmentations: list[Segmentation]

    def steps(self) -> Iterator[Step]:
        yield self.text
        for segmentation in self.segmentations:
            yield self._segmenting(segmentation)
            yield self._binarising(segmentation)

    def _texts(self, folder: Path) -> list[Path]:
        return [
            folder / f"{split}.{lang}" for split in self.recipe.splits for lang in self.recipe.pair
        ]

    @property
    def _tokens(self) -> Path:
        return self.work / "raw/tokenised"

    @cached_property
    def _text_digest(self) -> str:
        return stamp_of(map(sha256, self._texts(self.work / "raw")))

    def _stamp(self, segmentation: Segmentation) -> str:
        """Returns the stamp of the text and its segmentation; its words must never change."""
        words = str(segmentation.operations)
        words += "" if segmentation.joint else " codes-apart"
        words += "" if segmentation.dictionary == "joint" else " dictionaries-apart"
        limit = f"{segmentation.max_tokens} {segmentation.ratio:g}"
        limit += f" {segmentation.max_words}" if segmentation.max_words else ""
        words += "" if limit == "0 0" else f" {limit}"
        return stamp_of([self._text_digest, *self.recipe.pair, self.recipe.task.text.stamp, words])

    def _segmenting(self, segmentation: Segmentation) -> Step:
        def commands(to: Path) -> Iterator[Command]:
            yield from self._byte_pairs(segmentation, to)
            yield _same_counts(self._texts(self._tokens), self._texts(to))
            limits = [str(segmentation.max_tokens), f"{segmentation.ratio:g}"]
            limits += [str(segmentation.max_words)] if segmentation.max_words else []
            yield Command(["dc-nmt", "recipe", "clean", str(to), *self.recipe.pair, *limits])

        name = f"learn and apply BPE ({segmentation.operations} operations)"
        folder = self.work / f"bpe{segmentation.suffix}"
        return Step(name, folder, lambda: self._stamp(segmentation), commands)

    def _byte_pairs(self, segmentation: Segmentation, to: Path) -> Iterator[Command]:
        learn = ["subword-nmt", "learn-bpe", "-s", str(segmentation.operations), "-i"]
        codes = dict.fromkeys(self.recipe.pair, str(to / "codes"))
        if segmentation.joint:
            both = to / "both"
            sides = [str(self._tokens / f"train.{lang}") for lang in self.recipe.pair]
            yield Command(["cat", *sides], output=both)
            yield Command([*learn, str(both), "-o", str(to / "codes")])
            yield Command(["rm", str(both)])
        for language in self.recipe.pair:
            if not segmentation.joint:
                codes[language] = str(to / f"codes.{language}")
                text = str(self._tokens / f"train.{language}")
                yield Command([*learn, text, "-o", codes[language]])
            for split in self.recipe.splits:
                words = ["subword-nmt", "apply-bpe", "-c", codes[language]]
                words += ["--num-workers", WORKERS]
                name = f"{split}.{language}"
                yield Command([*words, "-i", str(self._tokens / name), "-o", str(to / name)])

    def _binarising(self, segmentation: Segmentation) -> Step:
        source, target = self.recipe.pair
        pieces = self.work / f"bpe{segmentation.suffix}"

        def commands(to: Path) -> Iterator[Command]:
            words = ["fairseq-preprocess", "--source-lang", source, "--target-lang", target]
            if segmentation.dictionary == "joint":
                words += ["--joined-dictionary"]
            words += ["--trainpref", str(pieces / "train"), "--validpref", str(pieces / "valid")]
            tests = [str(pieces / split) for split in self.recipe.splits[2:]]
            words += ["--testpref", ",".join(tests), "--workers", WORKERS]
            # fairseq-preprocess refuses dictionaries of an interrupted call, as of a script
            yield Command(
                ["rm", "-f", *(str(to / f"dict.{lang}.txt") for lang in (source, target))]
            )
            yield Command([*words, "--destdir", str(to)])
            # fairseq-preprocess's names for further test sets are test1, test2, …
            further = [f"test{n}" for n in range(1, len(self.recipe.splits) - len(SPLITS) + 1)]
            indexes = [
                to / f"{split}.{source}-{target}.{lang}.idx"
                for split in (*SPLITS, *further)
                for lang in self.recipe.pair
            ]
            yield _same_counts(self._texts(pieces), indexes)

        folder = self.work / f"bin{segmentation.suffix}"
        return Step("fairseq-preprocess", folder, lambda: self._stamp(segmentation), commands)


def _same_counts(before: Sequence[Path], after: Sequence[Path]) -> Command:
    """Checks that no tool lost or split a sentence."""
    pairs = list(zip(before, after, strict=True))

    def check(log: Path) -> None:
        for one, other in pairs:
            check_same_count(one, other)

    files = [str(path) for pair in pairs for path in pair]
    return Command(["dc-nmt", "check-text", "--counts", *files], call=check)


def clean_pieces(
    folder: Path, languages: tuple[str, str], max_tokens: int, ratio: float, max_words: int = 0
) -> tuple[int, int]:
    """Cleans ``folder/train.LANG``; stores every split's longest sentence in ``lengths.json``.

    Args:
        folder: text after BPE
        languages: of the files
        max_tokens, ratio: as in ``clean-corpus-n.perl``; 0 for no limit
        max_words: the same before BPE

    Returns:
        training pairs before and after
    """
    before = 0
    paths = [folder / f"train.{language}" for language in languages]

    def kept() -> Iterator[tuple[str, str]]:
        nonlocal before
        for first, second in zip(*map(stream_lines, paths), strict=True):
            before += 1
            good = fits(first, second, max_tokens, ratio)
            if good and max_words:
                good = fits(remove_bpe(first), remove_bpe(second), max_words, 0)
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
