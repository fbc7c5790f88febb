"""Scores one translation, and enters the scores into the record of its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import UsageError
from ...files import is_same_file, write_lines
from ...runs.call import this_call
from ...runs.data import path_from, text_file
from ...runs.record import (
    RECORD,
    SCHEMA,
    Data,
    Decoding,
    Record,
    Score,
    TextFile,
    read_record,
    update_record,
    with_decoding,
)
from .generated import Generated, is_same_search, read_generated
from .metrics import METRICS, Metric, default_metrics, find_metrics
from .table_text import repeated_note
from .texts import TextFiles, Texts, lines_digest, load_texts

# what dc-nmt evaluate knows of a translation: all flags of its search, its models, its device
OF_TRANSLATION = (
    "search", "checkpoint", "averaged", "updates", "ensemble", "sources", "device", "translated",
)  # fmt: skip


@dataclass(frozen=True)
class ScoreOptions:
    """Options of ``dc-nmt score``."""

    files: TextFiles
    source_lang: str | None = None
    generate_log: Path | None = None  # of fairseq-generate, where the speed is only there
    source: str | None = None  # raw text
    metrics: Sequence[Metric] | None = None  # None: all that papers use for the language
    paper: str | None = None  # metric that is marked as the paper's
    main: str | None = None  # the same, of one's own text
    name: str | None = None  # of the record; None: that it has, or of its folder
    detokenized: Path | None = None  # file for the detokenised hypotheses
    out: Path | None = None  # record
    decoding: str | None = None  # name of the translation in the record
    subset: str | None = None  # translated set; None: as the output says
    stamp: str | None = None  # of the command line


def score_translation(options: ScoreOptions) -> tuple[Record, Decoding, list[str]]:
    """Returns the record with the scored translation, the translation, and warnings.

    Writes the record to ``out``, and text to ``detokenized``.

    Raises:
        UserError: files that do not belong together, or are no translation
    """
    files = options.files
    generated = None
    if files.kind == "generated":
        generated = read_generated(files.hypotheses, options.generate_log)
        # a set with a name of its own, such as tst2013 or test2017, is test or test1 for fairseq
        of_fairseq = options.subset in ("train", "valid", "test")
        if of_fairseq and generated.subset not in (None, options.subset):
            raise UsageError(
                f"--subset {options.subset}: {files.hypotheses} is of the set {generated.subset}"
            )
        files = replace(files, joined_by=generated.joined_by)
    texts = load_texts(files)
    sentences = len(texts.raw.hypotheses)
    scores = _scores(options, texts)
    if options.detokenized:
        if _is_read(options.detokenized, options):
            raise UsageError(f"--detokenized {options.detokenized}: is a file that is read")
        write_lines(options.detokenized, texts.raw.hypotheses)
    before = read_record(options.out) if options.out and options.out.is_file() else None
    decoding = _as_translated(_decoding(options, files, generated), before, generated)
    decoding = replace(
        decoding,
        hypotheses_sha256=lines_digest(texts.translated(files.kind)),
        sentences=sentences,
        scores=tuple(scores),
        scored=this_call(),
    )

    def scored(record: Record | None) -> Record:
        record = _named(options, record)
        updates = decoding.updates or record.training.updates
        return with_decoding(record, replace(decoding, updates=updates))

    record = update_record(options.out, scored) if options.out else scored(None)
    return record, decoding, texts.warnings + repeated_note(files.hypotheses, texts.repeated)


def _is_read(path: Path, options: ScoreOptions) -> bool:
    files = options.files
    read = [files.hypotheses, files.reference, files.tokenized_reference, options.source]
    return any(is_same_file(path, Path(file)) for file in (*read, options.out) if file)


# -- what enters the record --------------------------------------------------------------------


def _scores(options: ScoreOptions, texts: Texts) -> list[Score]:
    marked = options.main or options.paper
    paper = find_metrics("--main" if options.main else "--paper", marked)[0] if marked else None
    tokenized, references = texts.tokenized is not None, texts.raw.references
    target_lang = options.files.target_lang
    names = default_metrics(target_lang, tokenized, references)
    metrics = list(options.metrics or [METRICS[name] for name in names])
    if paper and paper not in metrics:
        metrics.append(paper)
    return [texts.score(metric, target_lang, metric is paper) for metric in metrics]


def _decoding(options: ScoreOptions, files: TextFiles, generated: Generated | None) -> Decoding:
    folder = options.out.parent if options.out else Path()

    def text(path: Path | str | None) -> TextFile | None:
        return text_file(folder, path) if path else None

    reference = text(files.reference)
    plain = options.detokenized or (files.hypotheses if files.kind == "raw" else None)
    decoding = Decoding(
        options.decoding or "",
        options.subset or "test",
        hypotheses=path_from(folder, files.hypotheses),
        kind=files.kind,
        tokenizer=files.tokenizer,
        truecased=files.truecased,
        references=(reference,) if reference else (),
        tokenized_reference=text(files.tokenized_reference),
        source=text(options.source),
        plain=path_from(folder, plain) if plain else None,
        stamp=options.stamp,
    )
    if generated is None:
        return decoding
    return replace(
        decoding,
        subset=options.subset or generated.subset or "test",
        search=generated.search,
        sentences_per_second=generated.sentences_per_second,
        tokens_per_second=generated.tokens_per_second,
    )


def _as_translated(
    decoding: Decoding, record: Record | None, generated: Generated | None
) -> Decoding:
    """Returns the decoding with what the record knows of the same translation."""
    known = record and record.decoding(decoding.key)
    if not known or not generated or not is_same_search(known.search, generated.search):
        return decoding
    return replace(decoding, **{name: getattr(known, name) for name in OF_TRANSLATION})


def _named(options: ScoreOptions, record: Record | None) -> Record:
    """Returns the record of a run, or a new one, with the name of the command line."""
    name = options.name or "model"
    if not options.name and options.out:  # of its folder, or of a file with another name
        of_run = options.out.name == RECORD
        name = options.out.resolve().parent.name if of_run else options.out.stem
    if record is None:
        data = Data(options.source_lang, options.files.target_lang)
        return Record(schema=SCHEMA, name=name, system=name, data=data)
    if not options.name:
        return record
    return replace(record, name=name, system=name.removesuffix(f"-s{record.seed}"))
