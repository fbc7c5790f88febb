"""Scores one file for ``dc-nmt score``, and makes what it enters into the record of a run."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError, counted
from ..evaluation.generated import Generated, is_same_search, read_generated
from ..evaluation.metrics import METRICS, default_metrics, find_metrics
from ..evaluation.texts import TextFiles, Texts, load_texts
from ..files import write_lines
from ..runs.finding import path_from, text_file
from ..runs.record import (
    RECORD,
    SCHEMA,
    Data,
    Decoding,
    Kind,
    Record,
    Score,
    read_record,
    update_record,
    with_decoding,
)
from ..text.lines import read_lines


def score_file(args: argparse.Namespace, kind: Kind) -> tuple[Record, Decoding, list[str]]:
    """Returns the record with the scored translation, the translation, and warnings.

    Writes the record to ``--out``, and text to ``--detokenized``.
    """
    files = TextFiles(
        hypotheses=str(args.file),
        kind=kind,
        target_lang=args.target_lang,
        tokenizer=args.tokenizer or "none",
        reference=str(args.reference) if args.reference else None,
        tokenized_reference=args.tokenized_reference,
        truecased=args.truecased,
    )
    generated = read_generated(args.file, args.generate_log) if kind == "generated" else None
    translated = generated.subset if generated else None
    # a set with a name of its own, such as tst2013 or test2017, is test or test1 for fairseq
    if translated and args.subset in ("train", "valid", "test") and args.subset != translated:
        raise UsageError(f"--subset {args.subset}: {args.file} is of the set {translated}")
    texts = load_texts(files)
    sentences = len(texts.raw.hypotheses)
    lines = len(read_lines(args.source)) if args.source else sentences
    if lines != sentences:
        hypotheses = counted(sentences, "hypothesis")
        raise UsageError(f"--source {args.source}: {counted(lines, 'line')} for {hypotheses}")
    scores = _scores(args, texts)
    if args.detokenized:
        inputs = [args.file, args.source, args.tokenized_reference, args.reference, args.out]
        if args.detokenized.resolve() in [Path(path).resolve() for path in inputs if path]:
            raise UsageError(f"--detokenized {args.detokenized}: is a file that is read")
        write_lines(args.detokenized, texts.raw.hypotheses)
    decoding = _decoding(args, files, generated)
    before = read_record(args.out) if args.out and args.out.is_file() else None
    if before and before.data.target != args.target_lang:
        texts.warnings.append(
            f"--target-lang {args.target_lang}: {args.out} is of text in {before.data.target}, for "
            "which tables are made"
        )
    known = before and before.decoding(decoding.key)
    if known and generated and is_same_search(known.search, generated.search):
        # dc-nmt evaluate knows all flags of its search, its checkpoint and its device
        kept = ("search", "checkpoint", "averaged", "updates", "device")
        decoding = replace(decoding, **{name: getattr(known, name) for name in kept})
    decoding = replace(decoding, sentences=sentences, scores=tuple(scores))

    def scored(record: Record | None) -> Record:
        record = _named(args, record)
        updates = decoding.updates or record.training.updates
        return with_decoding(record, replace(decoding, updates=updates))

    record = update_record(args.out, scored) if args.out else scored(None)
    return record, decoding, texts.warnings


def _scores(args: argparse.Namespace, texts: Texts) -> list[Score]:
    flag, marked = ("--main", args.main) if args.main else ("--paper", args.paper)
    paper = find_metrics(flag, marked)[0] if marked else None
    tokenized, references = texts.tokenized is not None, texts.raw.references
    names = default_metrics(args.target_lang, tokenized, references)
    metrics = list(args.metrics or [METRICS[name] for name in names])
    if paper and paper not in metrics:
        metrics.append(paper)
    return [texts.score(metric, args.target_lang, metric is paper) for metric in metrics]


def _named(args: argparse.Namespace, record: Record | None) -> Record:
    """Returns the record of a run, or a new one, with the name of the command line."""
    name = args.name or _name(args.out)
    if record is None:
        data = Data(args.source_lang, args.target_lang)
        return Record(schema=SCHEMA, name=name, system=name, data=data)
    if not args.name:
        return record
    return replace(record, name=name, system=name.removesuffix(f"-s{record.seed}"))


def _name(path: Path | None) -> str:
    """Returns the name of a record: that of its folder, or of a file with another name."""
    if path is None:
        return "model"
    return path.resolve().parent.name if path.name == RECORD else path.stem


def _decoding(args: argparse.Namespace, files: TextFiles, generated: Generated | None) -> Decoding:
    folder = args.out.parent if args.out else Path()
    plain = args.detokenized or (files.hypotheses if files.kind == "raw" else None)
    tokenized = args.tokenized_reference
    return Decoding(
        args.decoding or "",
        args.subset or (generated and generated.subset) or "test",
        generated.search if generated else {},
        hypotheses=path_from(folder, files.hypotheses),
        kind=files.kind,
        tokenizer=files.tokenizer,
        truecased=files.truecased,
        references=(text_file(folder, args.reference),) if args.reference else (),
        tokenized_reference=text_file(folder, tokenized) if tokenized else None,
        source=text_file(folder, args.source) if args.source else None,
        plain=path_from(folder, plain) if plain else None,
        sentences_per_second=generated.sentences_per_second if generated else None,
        tokens_per_second=generated.tokens_per_second if generated else None,
    )
