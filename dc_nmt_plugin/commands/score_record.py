"""Makes what ``dc-nmt score`` enters into the record of a run."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..evaluation.generated import Generated, is_same_search
from ..evaluation.logs import measured, read_training_log
from ..evaluation.texts import TextFiles
from ..runs.places import path_from, text_file
from ..runs.records import read_record
from ..runs.schema import RECORD, SCHEMA, Data, Decoding, Record


def record_of_score(args: argparse.Namespace) -> Record:
    """Returns the record that --out has, or a new one, with what --train-log says."""
    there = args.out is not None and args.out.is_file() and args.out.name == RECORD
    if there:
        record = read_record(args.out)
    else:
        data = Data(args.source_lang, args.target_lang)
        name = args.name or _name(args.out)
        record = Record(schema=SCHEMA, name=name, system=name, data=data)
    if args.name:
        record = replace(record, name=args.name, system=args.name)
    if args.train_log:
        log = read_training_log(args.train_log)
        place = path_from(args.out.parent, args.train_log) if args.out else str(args.train_log)
        training = replace(measured(record.training, args.train_log), log=place)
        arch = record.architecture or log.arch
        record = replace(record, training=training, architecture=arch)
    return record


def _name(path: Path | None) -> str:
    """Returns the name of a record: that of its folder, or of a file with another name."""
    if path is None:
        return "model"
    return path.resolve().parent.name if path.name == RECORD else path.stem


def decoding_of_score(
    args: argparse.Namespace, record: Record, files: TextFiles, generated: Generated | None
) -> Decoding:
    """Returns the translation with the files that were scored."""
    found = Decoding(
        args.decoding,
        args.subset or (generated and generated.subset) or "test",
        generated.search if generated else {},
    )
    known = record.decoding(found.way)
    if known and generated and is_same_search(known.search, generated.search):
        found = replace(known, stamp=None)  # dc-nmt evaluate knows all flags of its search
    folder = args.out.parent if args.out else Path()
    tokenized = args.tokenized_reference
    given = args.hypothesis if files.kind == "raw" and not args.piped else None
    plain = args.detokenized or given
    return replace(
        found,
        hypotheses=None if args.piped else path_from(folder, files.hypotheses),
        kind=files.kind,
        tokenizer=files.tokenizer,
        truecased=files.truecased,
        references=tuple(text_file(folder, path) for path in args.reference),
        tokenized_reference=text_file(folder, tokenized) if tokenized else None,
        source=text_file(folder, args.source) if args.source else None,
        plain=path_from(folder, plain) if plain else None,
        updates=record.training.updates,
        sentences_per_second=generated.sentences_per_second if generated else None,
        tokens_per_second=generated.tokens_per_second if generated else None,
    )
