"""Reads the systems of a comparison: runs, result files, or plain text, on one test set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import UserError
from ..text.lines import read_lines
from .generated import check_free_log, is_generated
from .metrics import METRICS, Metric, default_bleu
from .results import RESULT, UNNAMED, Result, read_result
from .texts import Sides, TextFiles, Texts, load_texts

_PREPARED = re.compile(r"\bruns/([^/]+)/data/raw/")  # where recipes put a task's text


@dataclass(frozen=True)
class PlainTextOptions:
    """Options for plain text files; None or the default means as in the runs.

    ``source`` counts for runs too: its lengths may be asked for in pieces.
    """

    reference: str | None = None
    tokenized_reference: str | None = None
    source: str | None = None
    target_lang: str | None = None
    tokenizer: str | None = None
    tokenized: bool = False
    truecased: bool = False


@dataclass(frozen=True)
class System:
    """One system's text.

    Attributes:
        label: unique among the systems compared
        texts: both sides, checked
        target_lang: two letters
        source: raw source lines, where known
        result: of a run
    """

    label: str
    texts: Texts
    target_lang: str
    source: list[str] | None
    result: Result | None


def run_folder(path: Path) -> Path:
    """Returns FOLDER for FOLDER/score…/result.json; any other path unchanged."""
    if path.is_dir() or path.name != RESULT.name:
        return path
    folder = path.resolve().parent
    return folder.parent if folder.name.startswith(str(RESULT.parent)) else folder


def decoding_of(path: Path) -> str:
    """Returns the name of ``dc-nmt evaluate --as`` for a ``result.json``; "" without a name."""
    name = path.resolve().parent.name if path.name == RESULT.name else ""
    return name.partition("-")[2] if name.startswith(f"{RESULT.parent}-") else ""


def is_result(path: Path) -> bool:
    """Returns True for a run's folder or a JSON file, False for plain text."""
    return path.is_dir() or path.suffix == ".json"


def labels(paths: Sequence[Path]) -> list[str]:
    """Returns names of folders and files, with as many parent folders as make them different.

    Several results of one run are distinguished by the evaluation's name.
    """
    of = [run_folder(path).resolve() for path in paths]
    names = {folder: folder.name for folder in of}
    depth = 2
    while len(set(names.values())) < len(names) and depth < 20:
        counts = Counter(names.values())
        names = {
            folder: "/".join(folder.parts[-depth:]) if counts[name] > 1 else name
            for folder, name in names.items()
        }
        depth += 1
    found = [names[folder] for folder in of]
    return [
        ", ".join(filter(None, (name, decoding_of(path)))) if found.count(name) > 1 else name
        for name, path in zip(found, paths, strict=True)
    ]


def named_labels(paths: Sequence[Path], results: Sequence[Result | None]) -> list[str]:
    """Returns the names of ``dc-nmt score --name`` if all differ, else the folders."""
    names = [
        result.name if result and result.name != UNNAMED else folder
        for result, folder in zip(results, labels(paths), strict=True)
    ]
    return names if len(set(names)) == len(names) else labels(paths)


def load_systems(
    paths: Sequence[Path], given: PlainTextOptions, names: Sequence[str] | None = None
) -> list[System]:
    """Reads every system.

    Args:
        paths: run folders, ``result.json`` files or plain text
        given: for plain text; values of runs take precedence
        names: labels, default :func:`named_labels`

    Raises:
        UserError: something is missing or contradicts, or the test sets differ.
    """
    results = [read_result(path) if is_result(path) else None for path in paths]
    found = names or named_labels(paths, results)
    if len(set(found)) < len(found):
        twice = next(name for name, count in Counter(found).items() if count > 1)
        raise UserError(f"{twice}: given twice; every system needs a name of its own")
    run = next((path for path, result in zip(paths, results, strict=True) if result), None)
    known = next((result for result in results if result), None)
    of_run = _files_of_run(run, known) if run and known else None
    systems = []
    for label, path, result in zip(found, paths, results, strict=True):
        files = _files_of_run(path, result) if result else _files_of_text(path, given, of_run)
        source = given.source or (result.source if result else None)
        source = source or (known.source if known else None)
        if result:
            _check_free(path)
            _check_test_set(path, files.reference, files.tokenized_reference, source)
        lines = read_lines(source) if source else None
        systems.append(System(label, load_texts(files), files.target_lang, lines, result))
        if systems[-1].texts.raw.more:
            raise UserError(
                f"{path}: was scored against {1 + len(files.more_references)} references, and "
                "systems are compared on one; score it again with one --reference"
            )
        if lines is not None and len(lines) != len(systems[-1].texts.raw.hypotheses):
            raise UserError(
                f"{source}: {len(lines)} source lines for "
                f"{len(systems[-1].texts.raw.hypotheses)} hypotheses of {label}"
            )
    _same_test(systems)
    return systems


def sides_of(systems: Sequence[System], metric: Metric) -> dict[str, Sides]:
    """Returns the two sides that a metric scores, by system; all have the same reference.

    Raises:
        UserError: a metric of tokenised text, of which a system has none, or of systems whose
            reference was tokenised differently
    """
    sides = {system.label: system.texts.sides(metric) for system in systems}
    first, reference = next((label, side.references) for label, side in sides.items())
    for label, side in sides.items():
        if side.references != reference:
            raise UserError(
                f"{metric.name} counts the words of tokenised text, and {first} and {label} were "
                "tokenised or cased differently: compare them by --metric mteval-v13a or another "
                "of detokenised text"
            )
    return sides


def default_metric(baseline: System) -> Metric:
    """Returns the paper's metric if the run names it; else the BLEU for the target language.

    Tokenised plain text without a tokenizer has multi-bleu alone.
    """
    paper = baseline.result.paper_metric if baseline.result else None
    fallback = default_bleu(baseline.target_lang, baseline.texts.raw.references)
    if "tokenised" in baseline.texts.raw.origin and baseline.texts.tokenized:
        fallback = "zh-words" if baseline.target_lang == "zh" else "multi-bleu"
    return METRICS[paper or fallback]


def _files_of_run(path: Path, result: Result) -> TextFiles:
    origin = path / RESULT if path.is_dir() else path
    files = result.text_files(origin)
    if files is None:
        raise UserError(f"{path}: has no hypotheses: score it with --detokenized FILE")
    return files


def _check_free(path: Path) -> None:
    """
    Raises:
        UserError: the run's log says that its output is no free translation
    """
    result = path / RESULT if path.is_dir() else path
    decoding = decoding_of(result)
    log = run_folder(result) / f"generate{f'-{decoding}' if decoding else ''}.log"
    if log.is_file():
        check_free_log(log)


def _check_test_set(run: Path, *files: str | None) -> None:
    """
    Raises:
        UserError: a text that a recipe prepares is not here, as with runs that were kept alone.
    """
    for name in files:
        made = _PREPARED.search(name or "")
        if name and made and not Path(name).exists():
            raise UserError(
                f"{name}: what {run} is compared with is not here; 'dc-nmt prepare {made[1]}', "
                "called where this command is, makes it"
            )


def _files_of_text(path: Path, given: PlainTextOptions, like: TextFiles | None) -> TextFiles:
    """Returns the files of plain text, with the given options, else those of the first run."""
    language = given.target_lang or (like.target_lang if like else None)
    if language is None:
        raise UserError(f"{path}: plain text needs --target-lang")
    kind = "generated" if is_generated(path) else "tokenized" if given.tokenized else "raw"
    files = TextFiles(
        str(path),
        kind,
        language,
        tokenizer=given.tokenizer or (like.tokenizer if like else "none"),
        reference=given.reference,
        tokenized_reference=given.tokenized_reference,
        truecased=given.truecased and kind != "raw",
    )
    if files.reference is None and files.tokenized_reference is None:
        if like is None:
            raise UserError(f"{path}: plain text needs --reference or --tokenized-reference")
        files = replace(
            files, reference=like.reference, tokenized_reference=like.tokenized_reference
        )
    return files


def _same_test(systems: Sequence[System]) -> None:
    first = systems[0]
    for other in systems[1:]:
        if other.target_lang != first.target_lang:
            raise UserError(
                f"{first.label} is {first.target_lang}, {other.label} is {other.target_lang}"
            )
        ours, theirs = first.texts.raw.references, other.texts.raw.references
        if ours != theirs:
            if len(ours) != len(theirs):
                what = f"{len(ours)} and {len(theirs)} references"
            else:
                pairs = enumerate(zip(ours, theirs, strict=True), start=1)
                line = next(number for number, (a, b) in pairs if a != b)
                what = f"their references differ in line {line}"
            raise UserError(f"results on different tests: {first.label} and {other.label}: {what}")
