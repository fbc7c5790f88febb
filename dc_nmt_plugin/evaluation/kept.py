"""Keeps finished runs without model and text, small enough for a repository."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..files import replacing, write_lines
from ..flags import COMMAND, read_command, replaced
from ..text.lines import read_log
from .logs import parse_statistics, read_search
from .results import RESULT
from .run import Run
from .texts import load_texts

LOG = "train.log"
REAL = "checkpoints"  # in the folder of a run that is not a kept one
_TEXT = re.compile(r"(?:.*/)?(runs/([^/]+)/data/.*)")  # where recipes put a task's text


def keep_all(runs: Sequence[Run], to: Path, tasks: Collection[str]) -> list[Path]:
    """Writes settings, scores, translations and learning curves of runs into ``to/NAME``.

    These folders are read as the runs' own are: ``dc-nmt results``, ``compare`` and ``analyze
    curves`` make from them what they make from the runs, and need the task's text beside them
    (``dc-nmt prepare``) for the references alone. None is written where one would get another's
    place.

    Args:
        runs: with their scores
        to: made where it is missing; what it has of these runs is replaced
        tasks: recipes, whose text is named from a checkout's root

    Returns:
        the kept runs' folders

    Raises:
        UserError: two runs of one name, ``to/NAME`` is a run with a model or of other settings,
            or a run's text is missing
    """
    folders: dict[str, Path] = {}
    for run in runs:
        other = folders.setdefault(run.folder.name, run.folder)
        if other != run.folder:
            raise UserError(f"--keep {to}: {other} and {run.folder} would get the same name")
        _check(run, to / run.folder.name, to, tasks)
    return [_keep(run, to, tasks) for run in runs]


def _keep(run: Run, to: Path, tasks: Collection[str]) -> Path:
    folder = to / run.folder.name
    files = run.result.text_files(run.path)
    if files is None:
        raise UserError(f"{run.path}: has no hypotheses: score it with dc-nmt score")
    texts = load_texts(files)
    # tokenised as it was translated: what is tokenised again need not be the same
    side = texts.raw if files.kind == "raw" else texts.tokenized or texts.raw
    place = run.path.parent.name
    scored = folder / (place if place.startswith(str(RESULT.parent)) else RESULT.parent)
    translation = scored / f"hypotheses.{files.target_lang}"
    translation.parent.mkdir(parents=True, exist_ok=True)
    write_lines(translation, side.hypotheses)
    if run.command:
        write_lines(folder / COMMAND, [shlex.join(_portable(run.command, tasks))])
    if search := read_search(run.generate_log):
        write_lines(folder / run.generate_log.name, [repr(search)])
    if (run.folder / LOG).is_file():
        write_lines(folder / LOG, list(_learning_curve(run.folder / LOG)))
    stored = json.loads(run.path.read_text("utf-8"))
    stored.update({name: _from_root(stored.get(name), tasks) for name in ("reference", "source")})
    stored["hypotheses"] = None
    stored["task"] = run.task
    stored["texts"] = {
        **{k: _from_root(v, tasks) for k, v in (stored.get("texts") or files.to_json()).items()},
        "hypotheses": translation.name,
        "kind": "raw" if files.kind == "raw" else "tokenized",
    }
    with replacing(scored / RESULT.name) as path:
        path.write_text(json.dumps(stored, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return folder


def _check(run: Run, folder: Path, to: Path, tasks: Collection[str]) -> None:
    if folder.resolve() == run.folder or (folder / REAL).exists():
        raise UserError(f"--keep {to}: {folder} is a run itself; name another folder")
    if run.command and read_command(folder) not in ([], _portable(run.command, tasks)):
        raise UserError(
            f"--keep {to}: {folder} is a training run with another command; name another folder, "
            "or remove that one"
        )


def _portable(command: Sequence[str], tasks: Collection[str]) -> list[str]:
    """Returns a training command with paths from the root of the checkout."""
    return [_from_root(word, tasks) for word in replaced(command, "--user-dir", "dc_nmt_plugin")]


def _from_root(value: Any, tasks: Collection[str]) -> Any:
    """Returns a path to a task's text from the root of the checkout; other paths are unchanged."""
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found and found[2] in tasks else value


def _learning_curve(log: Path) -> Iterator[str]:
    """Yields every validation, each after the last training line before it."""
    training = None
    for line in read_log(log):
        kind, values = parse_statistics(line) or ("", {})
        statistics = f"| {kind} | {json.dumps(values)}"
        if kind == "train_inner":
            training = statistics
        elif kind == "valid":
            if training:
                yield training
                training = None
            yield statistics
