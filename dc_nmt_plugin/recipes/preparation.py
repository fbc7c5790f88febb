"""Plans the steps from text to binarised data: tokenisation, BPE, fairseq."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..steps import Command, Step, digest, file_digest
from ..text.lines import check_same_count
from ..text.pieces import MODEL
from .recipe import SPLITS
from .schema import Segmentation


@dataclass(frozen=True)
class Preparation:
    """The text of a language pair, and the folders of its prepared forms.

    Attributes:
        languages: in the order of the task's name
        work: output folder
        raw: folder of train, valid and test in both languages, one sentence a line
        tokenizer: name or short description of the tokeniser
        tokenised: folder of the same files tokenised
        segmentations: BPE segmentations; each has its own folders
        cleaned: whether training pairs are cleaned after BPE and lengths noted
        workers: processes of BPE and binarisation; None: one
        splits: train, valid, test, and further test sets
    """

    languages: tuple[str, str]
    work: Path
    raw: Path
    tokenizer: str
    tokenised: Path
    segmentations: tuple[Segmentation, ...]
    cleaned: bool
    workers: int | None
    splits: tuple[str, ...] = SPLITS

    def steps(self) -> Iterator[Step]:
        """Yields the steps after ``raw`` exists."""
        for segmentation in self.segmentations:
            yield from self._cut_and_binarise(segmentation)

    def binarised(self, segmentation: Segmentation) -> Path:
        """Returns the data folder for fairseq-train."""
        return self.work / f"bin{segmentation.suffix}"

    def dictionary_sizes(self, segmentation: Segmentation) -> dict[str, int]:
        """Returns the number of types in the dictionary of each language."""
        sizes = {}
        for language in self.languages:
            path = self.binarised(segmentation) / f"dict.{language}.txt"
            with open(path, encoding="utf-8", newline="\n") as lines:
                sizes[language] = sum(1 for _ in lines)
        return sizes

    def _cut_and_binarise(self, segmentation: Segmentation) -> Iterator[Step]:
        pieces = self.work / f"bpe{segmentation.suffix}"

        def stamp() -> str:
            return self._stamp(segmentation)

        yield Step(
            _title(segmentation),
            pieces,
            stamp,
            lambda to: self._pieces(segmentation, to),
        )
        yield Step(
            "fairseq-preprocess",
            self.binarised(segmentation),
            stamp,
            lambda to: [
                self._binarise(segmentation, pieces, to),
                _same_counts(self._texts(pieces), self._indexes(to)),
            ],
        )

    def _texts(self, folder: Path) -> list[Path]:
        return [folder / f"{split}.{lang}" for split in self.splits for lang in self.languages]

    def _indexes(self, folder: Path) -> list[Path]:
        """Returns the files with fairseq-preprocess's names: test, test1, test2 … for test sets."""
        pair = "-".join(self.languages)
        further = [f"{SPLITS[2]}{n}" for n in range(1, len(self.splits) - len(SPLITS) + 1)]
        names = [*SPLITS, *further]
        return [folder / f"{name}.{pair}.{lang}.idx" for name in names for lang in self.languages]

    @cached_property
    def _text_digest(self) -> str:
        return file_digest(self._texts(self.raw))

    def _stamp(self, segmentation: Segmentation) -> str:
        """Returns the stamp of the text and its segmentation; its words must never change."""
        words = str(segmentation.operations)
        words += "" if segmentation.kind == "bpe" else f" {segmentation.kind}"
        words += "" if segmentation.joint else " codes-apart"
        words += "" if segmentation.dictionary == "joint" else " dictionaries-apart"
        limit = f"{segmentation.max_tokens} {segmentation.ratio:g}"
        limit += f" {segmentation.max_words}" if segmentation.max_words else ""
        words += "" if limit == "0 0" else f" {limit}"
        return digest([self._text_digest, *self.languages, self.tokenizer, words])

    def _pieces(self, segmentation: Segmentation, to: Path) -> Iterator[Command]:
        source, target = self.languages
        if segmentation.kind == "sentencepiece":
            yield from self._sentencepieces(segmentation, to)
        else:
            yield from self._byte_pairs(segmentation, to)
        yield _same_counts(self._texts(self.tokenised), self._texts(to))
        if self.cleaned:
            limits = [str(segmentation.max_tokens), f"{segmentation.ratio:g}"]
            limits += [str(segmentation.max_words)] if segmentation.max_words else []
            yield Command(["dc-nmt", "recipe", "clean", str(to), source, target, *limits])

    def _sentencepieces(self, segmentation: Segmentation, to: Path) -> Iterator[Command]:
        """Learns a model of both languages, or one for each, and segments every set."""
        groups = [self.languages] if segmentation.joint else [(lang,) for lang in self.languages]
        for languages in groups:
            model = to / (MODEL if segmentation.joint else f"{languages[0]}.{MODEL}")
            texts = [str(self.tokenised / f"train.{language}") for language in languages]
            words = ["dc-nmt", "recipe", "learn-pieces", str(segmentation.operations), str(model)]
            yield Command([*words, *texts])
            for name in (f"{split}.{lang}" for lang in languages for split in self.splits):
                words = ["dc-nmt", "recipe", "apply-pieces", str(model)]
                yield Command([*words, str(self.tokenised / name), str(to / name)])

    def _byte_pairs(self, segmentation: Segmentation, to: Path) -> Iterator[Command]:
        codes = dict.fromkeys(self.languages, to / "codes")
        if segmentation.joint:
            both = to / "both"
            sides = [str(self.tokenised / f"train.{lang}") for lang in self.languages]
            yield Command(["cat", *sides], output=both)
            yield self._learn(segmentation, both, to / "codes")
            yield Command(["rm", str(both)])
        for language in self.languages:
            if not segmentation.joint:
                codes[language] = to / f"codes.{language}"
                text = self.tokenised / f"train.{language}"
                yield self._learn(segmentation, text, codes[language])
            for split in self.splits:
                name = f"{split}.{language}"
                yield Command(
                    ["subword-nmt", "apply-bpe", "-c", str(codes[language])]
                    # several processes only save time on large files
                    + (["--num-workers", str(self.workers)] if self.workers else [])
                    + ["-i", str(self.tokenised / name), "-o", str(to / name)]
                )

    @staticmethod
    def _learn(segmentation: Segmentation, text: Path, codes: Path) -> Command:
        operations = ["-s", str(segmentation.operations)]
        return Command(["subword-nmt", "learn-bpe", *operations, "-i", str(text), "-o", str(codes)])

    def _binarise(self, segmentation: Segmentation, pieces: Path, to: Path) -> Command:
        source, target = self.languages
        words = ["fairseq-preprocess", "--source-lang", source, "--target-lang", target]
        words += ["--joined-dictionary"] if segmentation.dictionary == "joint" else []
        for split in SPLITS[:2]:
            words += [f"--{split}pref", str(pieces / split)]
        tests = [str(pieces / split) for split in self.splits[2:]]
        words += ["--testpref", ",".join(tests)]
        words += ["--workers", str(self.workers)] if self.workers else []
        return Command([*words, "--destdir", str(to)])


def _title(segmentation: Segmentation) -> str:
    if segmentation.kind == "sentencepiece":
        return f"learn and apply sentencepiece ({segmentation.operations} pieces)"
    return f"learn and apply BPE ({segmentation.operations} operations)"


def _same_counts(before: Sequence[Path], after: Sequence[Path]) -> Command:
    """Checks that no tool lost or split a sentence."""
    pairs = [str(path) for pair in zip(before, after, strict=True) for path in pair]

    def check(log: Path) -> None:
        for one, other in zip(before, after, strict=True):
            check_same_count(one, other)

    return Command(["dc-nmt", "check-text", "--counts", *pairs], call=check)
