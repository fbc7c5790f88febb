"""Converts the folder of a run from the form before ``run.json``; nothing else knows that form.

The facts were in ``command.txt``, ``data.stamp``, ``generate*.log`` and ``score*/result.json``, and
in the names of these folders.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import load_json
from ..flags import flag_name, flag_value, typed_flags
from ..papers.described_run import tokens_of
from .places import described, path_from, text_file
from .records import is_of_before, write_record
from .schema import (
    RECORD,
    SCHEMA,
    Data,
    Decoding,
    Flags,
    Record,
    Score,
    TextFile,
    Training,
)

_SETTINGS = (
    *("beam", "lenpen", "length_penalty", "mask_source_layers", "no_aux_fusion", "decode_with"),
    *("prefix_size", "score_reference", "constraints", "sampling", "diverse_beam_groups"),
    *("diversity_rate", "match_source_len", "gen_subset"),
)
_TOKENS = re.compile(r"Translated .* sentences .* ([\d.]+) tokens/s")
# of the first version, which had three scores by name
_NAMED = {"bleu": "mteval-v13a", "bleu_lc": "mteval-v13a-lc", "chrf": "chrf"}


def convert(folder: Path) -> Path:
    """Writes the record of a run and removes the files that it replaces.

    Returns:
        the record

    Raises:
        UserError: the folder has a record, is no run, or a file of it is damaged
    """
    if (folder / RECORD).is_file():
        raise UserError(f"{folder}: has a {RECORD} already; there is nothing to convert")
    if not is_of_before(folder):
        raise UserError(f"{folder}: is no run of an earlier version (no command.txt, no score)")
    words = _command(folder)
    results = {path: _result(path) for path in sorted(folder.glob("score*/result.json"))}
    first: Mapping[str, Any] = next(iter(results.values()), {})
    kept = first.get("task") is not None
    settings = typed_flags(words[words.index("--user-dir") :] if "--user-dir" in words else words)
    settings = {k: value for k, value in settings.items() if k not in ("user-dir", "save-dir")}
    seed, name = settings.get("seed"), folder.resolve().name
    parent = folder.resolve().parent
    task = parent.parent.name if parent.name == "runs" else parent.name
    record = Record(
        schema=SCHEMA,
        name=name,
        system=name.removesuffix(f"-s{seed}"),
        data=_data(folder, words, first),
        task=first.get("task") or task,
        architecture=first.get("arch") or flag_value(words, "--arch"),
        seed=seed if isinstance(seed, int) else None,
        settings=settings,
        training=Training(
            updates=first.get("updates"),
            tokens=tokens_of(words),
            parameters=first.get("parameters"),
            tokens_per_second=first.get("train_tokens_per_second"),
            seconds=first.get("train_seconds"),
            log="train.log" if (folder / "train.log").is_file() else None,
        ),
        checkpoints=tuple(
            path.relative_to(folder).as_posix()
            for path in sorted(folder.glob("checkpoints/checkpoint*.pt"))
        ),
        decodings=tuple(_decoding(folder, path, values) for path, values in results.items()),
        written_in=None if kept else str(folder.resolve()),
    )
    write_record(folder / RECORD, record)
    _remove(folder, [*results], kept)
    return folder / RECORD


def _command(folder: Path) -> list[str]:
    path = folder / "command.txt"
    try:
        return shlex.split(path.read_text("utf-8")) if path.is_file() else []
    except ValueError as error:  # not UTF-8, or an open quotation mark
        raise UserError(f"{path}: is damaged: {error}") from error


def _result(path: Path) -> dict[str, Any]:
    values = load_json(path)
    if not isinstance(values, dict) or "target_lang" not in values:
        raise UserError(f"{path}: not a result of dc-nmt score, 'target_lang' is missing")
    return values


def _data(folder: Path, words: Sequence[str], result: Mapping[str, Any]) -> Data:
    source = result.get("source_lang") or flag_value(words, "--source-lang")
    target = result.get("target_lang") or flag_value(words, "--target-lang") or ""
    programs = ("fairseq-train", "fairseq_cli.train")
    starts = [number for number, word in enumerate(words) if word.endswith(programs)]
    if not starts or starts[-1] + 1 == len(words):
        return Data(source, target)
    given = Path(words[starts[-1] + 1])
    above = folder.resolve().parents
    near = (above[0] / given.name, above[0] / "data" / given.name)
    for place in (*(parent / given for parent in above), *near, given):
        if any(place.glob("dict.*.txt")) and _stamp(folder / "data.stamp") in (
            None, _stamp(place / ".stamp"),
        ):  # fmt: skip
            return described(folder, place, source, target)
    return Data(source, target, given.as_posix())


def _stamp(path: Path) -> str | None:
    return (path.read_text("utf-8").strip() or None) if path.is_file() else None


def _decoding(folder: Path, path: Path, result: Mapping[str, Any]) -> Decoding:
    way = path.parent.name.partition("-")[2]
    log = folder / f"generate{f'-{way}' if way else ''}.log"
    text = log.read_text("utf-8", errors="replace") if log.is_file() else ""
    printed = _printed(text)
    subset = str(printed.pop("gen-subset", "test"))
    if re.fullmatch(r"test\d+", subset):
        subset = way.partition(".")[0]
    name = way.removeprefix(subset).removeprefix(".") if subset != "test" else way
    texts = result.get("texts") or {
        "hypotheses": result.get("hypotheses"), "kind": "raw", "reference": result.get("reference"),
    }  # fmt: skip
    references = (texts.get("reference"), *texts.get("more_references", ()))
    found = [_text(folder, path, each) for each in references]
    speed = _TOKENS.search(text)
    average = folder / "average" / "checkpoint.pt"
    return Decoding(
        name,
        subset,
        _given(text) or _decoder(result, printed),
        _place(folder, path, texts.get("hypotheses")),
        texts.get("kind", "raw"),
        texts.get("tokenizer", "none"),
        texts.get("truecased", False),
        tuple(filter(None, found)),
        _text(folder, path, texts.get("tokenized_reference")),
        _text(folder, path, result.get("source")),
        _place(folder, path, result.get("hypotheses")),
        path_from(folder, average) if average.is_file() else None,
        updates=result.get("updates"),
        sentences=result.get("sentences"),
        sentences_per_second=result.get("decode_sentences_per_second"),
        tokens_per_second=float(speed[1]) if speed else None,
        scores=_scores(path, result),
    )


def _given(log: str) -> Flags:
    """Returns the flags of the search from the command in the first line of a log."""
    first = log.partition("\n")[0]
    if not first.startswith("$ fairseq-generate") or " --results-path " not in first:
        return {}
    words = shlex.split(first)
    return typed_flags(words[words.index("--results-path") + 2 :])


def _printed(log: str) -> Flags:
    """Returns the flags of the search that fairseq-generate printed."""
    words: list[str] = []
    for name in _SETTINGS:
        match = re.search(rf"'{name}': (?:'([^']*)'|([\w.+-]+))", log)
        value = (match[1] or match[2]) if match else None
        if value not in (None, "", "None", "False"):
            flag = flag_name(name)
            words += [flag] if value == "True" else [flag, str(value)]
    return typed_flags(words)


def _decoder(result: Mapping[str, Any], printed: Flags) -> Flags:
    decoder = str(result.get("decode_with") or "")
    given = "" if "decode-with" in printed else decoder.removesuffix("without fusion").strip()
    found: Flags = {**printed, **({"decode-with": given} if given else {})}
    return {**found, "no-aux-fusion": True} if decoder.endswith("without fusion") else found


def _scores(path: Path, result: Mapping[str, Any]) -> tuple[Score, ...]:
    found = [
        Score(each["metric"], each["score"], each["signature"], each["text"], each["paper"])
        for each in result.get("scores", ())
    ]
    listed = {score.metric for score in found}
    names = _NAMED | ({"bleu": "zh", "bleu_lc": "zh-lc"} if result["target_lang"] == "zh" else {})
    for name, metric in names.items():
        if name in result and metric not in listed:
            signature = str(result[f"{name}_signature"])
            found.append(Score(metric, result[name], signature, "detokenised"))
    if not found:
        raise UserError(f"{path}: not a result of dc-nmt score, it has no scores")
    return tuple(found)


def _place(folder: Path, result: Path, given: str | None) -> str | None:
    """Returns a path of a result for the record: such paths were as given, from some root."""
    if given is None:
        return None
    above = (parent / given for parent in result.resolve().parents)
    found = next((place for place in above if place.is_file()), Path(given))
    return path_from(folder, found) if found.is_file() else given


def _text(folder: Path, result: Path, given: str | None) -> TextFile | None:
    path = _place(folder, result, given)
    return None if path is None else replace(text_file(folder, folder / path), path=path)


def _remove(folder: Path, results: Sequence[Path], kept: bool) -> None:
    """Removes what the record replaces."""
    gone = [*results, *(path.parent / ".stamp" for path in results), folder / "data.stamp"]
    if kept:  # its logs and its command were made up from the run's
        gone += [folder / "command.txt", *folder.glob("generate*.log")]
    for path in gone:
        path.unlink(missing_ok=True)
    for path in results:
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
