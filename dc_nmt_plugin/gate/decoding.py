"""Contradictions in a command line that decodes."""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ..checkpoints.loading import load_checkpoint
from ..errors import choice_problem
from ..flags import flag_name as flag
from .command import Command
from .ranges import ITERATIVE


def decoding_problems(command: Command) -> Iterator[str]:
    if not command.generating:
        return
    beam, nbest = command.set("beam") or 1, command.set("nbest") or 1
    if nbest > beam > 0:
        yield f"--nbest: {nbest} is above --beam {beam}: a beam has no more hypotheses."
    groups = command.set("diverse_beam_groups") or -1
    if groups > 0 and beam % groups:
        yield f"--diverse-beam-groups: --beam {beam} is not a multiple of {groups}."
    if command.set("sampling") and nbest != beam:
        yield f"--sampling: needs --nbest {beam}, as many as --beam."
    for name in ("sampling_topk", "sampling_topp"):
        if (command.set(name) or -1) > 0 and not command.set("sampling"):
            yield f"{flag(name)}: is for --sampling."
    least, most = command.set("min_len") or 0, command.set("max_len_b")
    if not command.set("max_len_a") and least > most:
        yield f"--min-len: {least} is above --max-len-b {most}."
    if command.set("constraints") is not None and not command.interactive:
        yield "--constraints: are read from the input of fairseq-interactive only."
    if command.set("replace_unk") is not None:
        yield (
            "--replace-unk: needs alignments of words, which this fairseq's decoding does not "
            "give; leave it out (models of subwords have no <unk>)."
        )
    for name in ITERATIVE:
        if command.set(name) and "translation_lev" not in str(command.set("task")):
            yield f"{flag(name)}: is for non-autoregressive models (--task translation_lev)."
    size, buffer = command.set("batch_size"), command.set("buffer_size")
    if command.interactive and size and size > max(buffer or 1, 1):
        yield f"--batch-size: {size} is above --buffer-size {max(buffer or 1, 1)}."


def override_problems(command: Command) -> Iterator[str]:
    for name in ("model_overrides", "optimizer_overrides"):
        text = command.set(name)
        if not text:
            continue
        try:
            values = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            values = None
        if not isinstance(values, dict):
            yield f"{flag(name)}: {text!r} is not a dictionary such as \"{{'data': 'FOLDER'}}\"."
        elif values and name == "model_overrides" and command.set("path"):
            path = command.set("path").split(os.pathsep)[0]
            known = sorted(_setting_names(load_checkpoint(path, mmap=True)))
            for key in values:
                if key not in known:
                    problem = choice_problem(f"{flag(name)}", key, known) or ""
                    hint = problem.rpartition(". ")[2] if "Did you mean" in problem else ""
                    yield f"{flag(name)}: {path} has no setting {key!r}. {hint}".rstrip()


def _setting_names(state: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()
    waiting: list[Any] = [state.get("args"), state.get("cfg")]
    while waiting:
        config = waiting.pop()
        config = vars(config) if isinstance(config, argparse.Namespace) else config
        if hasattr(config, "keys"):
            names.update(map(str, config.keys()))
            waiting += [config[key] for key in config if hasattr(config[key], "keys")
                        or isinstance(config[key], argparse.Namespace)]  # fmt: skip
    return names
