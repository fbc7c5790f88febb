"""Patches of fairseq's programs: check command lines, and report skipped sentences."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from hydra.core.config_store import ConfigStore

from ..errors import UserError, debugging, tell
from ..files import MAKE_ROOM, no_space
from ..flags import setting_name
from ..gate.command import Command
from ..gate.command_checks import check_command, subsets
from ..gate.data import check_data
from ..gate.explanations import explained
from ..gate.groups import check_groups
from .patch import changes, replaces


@replaces(
    "fairseq.options:parse_args_and_arch",
    "4417ffdbba30",
    reason="flags and data that must fail or change nothing are refused before fairseq starts",
    since="fairseq 0.12.2",
    test="tests/system/test_refusals.py",
)
def check_command_lines(stock: Callable[..., Any]) -> Callable[..., Any]:
    def parse_args_and_arch(
        parser: Any, input_args: Sequence[str] | None = None, *more: Any, **kwargs: Any
    ) -> Any:
        parsed = stock(parser, input_args, *more, **kwargs)
        if kwargs.get("suppress_defaults") or (len(more) > 1 and more[1]):
            return parsed  # a second look at the same line
        args = parsed[0] if isinstance(parsed, tuple) else parsed
        words = list(sys.argv[1:] if input_args is None else input_args)
        given = {setting_name(word.split("=")[0]) for word in words if word[:2] == "--"}
        defaults = {name: parser.get_default(name) for name in vars(args)}
        command = Command(vars(args), defaults, given)
        starts = input_args is None  # a program, not Python that wants a configuration
        check_command(command, starts=starts)
        if starts:
            check_data(command.flags, subsets(command))
        if args.bf16 and torch.cuda.is_available():
            args.tpu = False  # which fairseq sets with --bf16: GPUs have bfloat16 too
        if command.generating and not command.interactive and args.num_shards > 1:
            # fairseq-generate has the flags and reads others
            args.distributed_world_size, args.distributed_rank = args.num_shards, args.shard_id
        return parsed

    return parse_args_and_arch


@replaces(
    "fairseq_cli.generate:main",
    "ddff57f29d4f",
    reason="without room for all of it, a file of --results-path is left that looks whole",
    since="fairseq 0.12.2",
    test="tests/system/test_bad_input.py",
)
def leave_no_half_translation(stock: Callable[..., Any]) -> Callable[..., Any]:
    def main(args: Any) -> Any:
        try:
            return stock(args)
        except OSError as error:
            folder, reason = getattr(args, "results_path", None), no_space(error)
            if not folder or not reason:
                raise
            with contextlib.suppress(OSError):
                os.remove(os.path.join(folder, f"generate-{args.gen_subset}.txt"))
            raise UserError(f"{folder}: {reason}: {MAKE_ROOM}.") from error

    return main


@replaces(
    "fairseq_cli.hydra_train:_hydra_main",
    "25d3ca303e56",
    reason="Hydra asks no excepthook: a failure that the user can correct gets its sentence here, "
    "and settings and data are checked as those of a command line",
    since="fairseq 0.12.2",
    test="tests/system/test_hydra.py",
)
def explain_under_hydra(stock: Callable[..., Any]) -> Callable[..., Any]:
    def _hydra_main(cfg: Any, **kwargs: Any) -> Any:
        try:
            check_groups(cfg)
            return stock(cfg, **kwargs)
        except Exception as error:
            sentence = explained(error)
            if sentence is None or debugging():
                raise
            tell(sentence, error)
            sys.exit(1)

    return _hydra_main


_left_out: list[int] = []


@replaces(
    "fairseq.tasks.fairseq_task:FairseqTask.filter_indices_by_size",
    "05cc8f2d2a4f",
    reason="fairseq-generate --skip-invalid-size-inputs-valid-test does not say which sentences it "
    "leaves out",
    since="fairseq 0.12.2",
    test="tests/system/test_sentences.py",
)
def remember_what_is_left_out(stock: Callable[..., Any]) -> Callable[..., Any]:
    def filter_indices_by_size(self: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        kept = stock(self, indices, *args, **kwargs)
        # also runs in every training epoch: sets of millions of numbers would be slow
        _left_out[:] = np.setdiff1d(indices, kept).tolist() if len(kept) < len(indices) else []
        return kept

    return filter_indices_by_size


class _NoScore:
    """Replaces fairseq's scorer when sentences were skipped."""

    def __init__(self, count: int) -> None:
        self.count = count

    def add_string(self, *_: Any) -> None:
        """Ignores the sentence."""

    def result_string(self, *_: Any) -> str:
        """Returns the text that ``fairseq-generate`` prints instead of BLEU."""
        return f"no score, because {self.count:,} sentences were left out"


@replaces(
    "fairseq.scoring:build_scorer",
    "a8ba1281c823",
    reason="a score of a subset without its long sentences looks like the subset's score",
    since="fairseq 0.12.2",
    test="tests/system/test_sentences.py",
)
def no_score_of_a_part(stock: Callable[..., Any]) -> Callable[..., Any]:
    def build_scorer(*args: Any, **kwargs: Any) -> Any:
        if not _left_out:
            return stock(*args, **kwargs)
        some = ", ".join(map(str, _left_out[:8])) + (", …" if len(_left_out) > 8 else "")
        print(
            f"warning: {len(_left_out):,} sentences are longer than the model's positions and are "
            f"NOT translated, numbers {some} (from 0): there is no score of this subset.",
            file=sys.stderr,
        )
        return _NoScore(len(_left_out))

    return build_scorer


@changes(
    "hydra.core.config_store:ConfigStore.__deepcopy__",
    reason="fairseq-hydra-train --help takes two minutes: for each group of settings, Hydra copies "
    "the settings of all architectures, and then only reads them",
    since="Hydra 1.3",
    test="tests/system/test_hydra.py",
)
def share_the_store() -> None:
    ConfigStore.__deepcopy__ = lambda store, memo: store  # type: ignore[attr-defined]
