"""Finished runs kept small enough for a repository: everything but the model and the text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from ..errors import UserError
from ..files import replacing, write_lines
from ..flags import COMMAND, replaced
from ..text.lines import read_log
from .logs import parse_statistics, read_search
from .results import RESULT
from .run import Run
from .texts import load_texts

LOG = "train.log"
REAL = "checkpoints"  # in the folder of a run that is not a kept one


def keep(run: Run, home: Path) -> Path:
    """Write a run's settings, scores, translation and validations into ``home/NAME``.

    The folder is read as the run's own is: ``dc-nmt results``, ``compare`` and ``analyze curves``
    make from it what they make from the run, and need the task's text beside it
    (``dc-nmt prepare``) for the references alone.

    Args:
        run: with its scores
        home: made where it is missing; what it has of this run is replaced

    Returns:
        the kept run's folder

    Raises:
        UserError: the run's text is missing, or ``home/NAME`` is a run with a model.
    """
    folder = home / run.folder.name
    if folder.resolve() == run.folder or (folder / REAL).exists():
        raise UserError(f"--keep {home}: {folder} is a run itself; name another folder")
    files = run.result.text_files(run.path)
    if files is None:
        raise UserError(f"{run.path}: has no hypotheses: score it with dc-nmt score")
    texts = load_texts(files)
    # tokenised as it was translated: what is tokenised again need not be the same
    side = texts.raw if files.kind == "raw" else texts.tokenized or texts.raw
    translation = folder / run.path.parent.name / f"hypotheses.{files.target_lang}"
    translation.parent.mkdir(parents=True, exist_ok=True)
    write_lines(translation, side.hypotheses)
    if run.command:
        command = replaced(run.command, "--user-dir", "dc_nmt_plugin")  # from a checkout's root
        write_lines(folder / COMMAND, [shlex.join(command)])
    if search := read_search(run.generate_log):
        write_lines(folder / run.generate_log.name, [repr(search)])
    if (run.folder / LOG).is_file():
        write_lines(folder / LOG, list(_validations(run.folder / LOG)))
    stored = json.loads(run.path.read_text("utf-8"))
    stored["hypotheses"] = None
    stored["texts"] = {
        **(stored.get("texts") or files.to_json()),
        "hypotheses": translation.name,
        "kind": "raw" if files.kind == "raw" else "tokenized",
    }
    with replacing(folder / run.path.parent.name / RESULT.name) as path:
        path.write_text(json.dumps(stored, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return folder


def _validations(log: Path) -> Iterator[str]:
    for line in read_log(log):
        parsed = parse_statistics(line)
        if parsed and parsed[0] == "valid":
            yield f"| valid | {json.dumps(parsed[1])}"
