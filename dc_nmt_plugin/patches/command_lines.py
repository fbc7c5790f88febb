"""Patches of what fairseq's command lines accept and print."""

from __future__ import annotations

import codecs
import io
import itertools
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from fairseq.tasks import TASK_REGISTRY

from ..checkpoints.loading import LAST, task_settings
from ..errors import ConfigError, choice_problem
from .patch import changes, replaces

logger = logging.getLogger(__name__)

_TRUTH = ("true", "false", "yes", "no", "on", "off", "1", "0")


@replaces(
    "fairseq.options:parse_args_and_arch",
    "4417ffdbba30",
    reason="'--left-pad-source False' ends with 'unrecognized arguments: False': no flag is named",
    since="fairseq 0.12.2",
    test="tests/system/test_refusals.py",
)
def explain_values_of_switches(stock: Callable[..., Any]) -> Callable[..., Any]:
    def parse_args_and_arch(parser: Any, input_args: Any = None, *more: Any, **kwargs: Any) -> Any:
        words = list(sys.argv[1:] if input_args is None else input_args)
        refuse = parser.error

        def explain(message: str) -> None:
            problems = _valued_switches(parser, words) if "unrecognized" in message else []
            if problems:
                raise ConfigError(problems)
            refuse(message)

        parser.error = explain
        try:
            return stock(parser, input_args, *more, **kwargs)
        finally:
            parser.error = refuse

    return parse_args_and_arch


def _valued_switches(parser: Any, words: list[str]) -> list[str]:
    """Returns a sentence for each flag that takes no value but was given one."""
    problems = []
    for word, value in itertools.pairwise(words):
        action = parser._option_string_actions.get(word)
        if action is not None and action.nargs == 0 and value.lower() in _TRUTH:
            problems.append(
                f"{word}: takes no value, and {value!r} is one. The flag alone means "
                f"{action.const}; leave it out for {not action.const}."
            )
    return problems


@replaces(
    "fairseq.options:parse_args_and_arch",
    "4417ffdbba30",
    reason="a run is not resumed if the file of --encoder-embed-path is gone, although "
    "the embeddings are in the checkpoint",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def leave_out_what_is_loaded(stock: Callable[..., Any]) -> Callable[..., Any]:
    def parse_args_and_arch(parser: Any, input_args: Any = None, *more: Any, **kwargs: Any) -> Any:
        parsed = stock(parser, input_args, *more, **kwargs)
        args = parsed[0] if isinstance(parsed, tuple) else parsed
        if _loads_a_checkpoint(args):
            for name in ("encoder_embed_path", "decoder_embed_path"):
                path = getattr(args, name, None)
                if path and not os.path.isfile(path):
                    logger.info(f"{path}: is not there, nor needed: the checkpoint has embeddings")
                    setattr(args, name, None)
        return parsed

    return parse_args_and_arch


@replaces(
    "fairseq.options:parse_args_and_arch",
    "4417ffdbba30",
    reason="fairseq-validate without --task ends in a KeyError, although the checkpoint knows its "
    "task",
    since="fairseq 0.12.2",
    test="tests/system/test_validate.py",
)
def read_the_task_of_the_checkpoint(stock: Callable[..., Any]) -> Callable[..., Any]:
    def parse_args_and_arch(parser: Any, input_args: Any = None, *more: Any, **kwargs: Any) -> Any:
        if _validates(parser):
            given = parser.parse_known_args(input_args)[0]
            if not given.path:
                raise ConfigError(["--path: is missing; give the checkpoint to validate."])
            if given.task is None:
                parser.set_defaults(task=_task_of(given.path))
        return stock(parser, input_args, *more, **kwargs)

    return parse_args_and_arch


def _validates(parser: Any) -> bool:
    """Returns True for the parser of fairseq-validate, the only one without a default task."""
    return "--path" in parser._option_string_actions and parser.get_default("task") is None


def _task_of(path: str) -> str:
    name = task_settings(path).get("_name")
    if not name:
        raise ConfigError([f"--task: is missing, and {path} does not say its task; give it."])
    if problem := choice_problem("--task", name, sorted(TASK_REGISTRY)):
        raise ConfigError([f"{path} was trained with another plugin. {problem}"])
    return str(name)


def _loads_a_checkpoint(args: Any) -> bool:
    """Returns True when training starts with the parameters of a checkpoint."""
    restore = getattr(args, "restore_file", None)
    if restore == LAST:
        restore = os.path.join(args.save_dir, LAST)
    files = (restore, getattr(args, "finetune_from_model", None))
    return any(file and os.path.isfile(file) for file in files)


@replaces(
    "fairseq.dataclass.utils:_override_attr",
    "cb36f8df569c",
    reason="a program starts half a second later: fairseq tells Hydra all of its 400 settings, "
    "although Hydra knows those that have their default",
    since="fairseq 0.12.2",
    test="tests/unit/patches/test_start.py",
)
def leave_out_defaults(stock: Callable[..., list[str]]) -> Callable[..., list[str]]:
    def override_attr(sub_node: str, data_class: type, args: Namespace) -> list[str]:
        known = set(stock(sub_node, data_class, Namespace()))
        # a reference to another setting may have been replaced in the class's own default
        return [
            override
            for override in stock(sub_node, data_class, args)
            if override not in known or "='${" in override
        ]

    return override_attr


@replaces(
    "fairseq.data.data_utils:_find_extra_valid_paths",
    "b0371ccad146",
    reason="--valid-subset valid,valid1 is refused: the names of valid1's files are no names of "
    "subsets",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def name_subsets(stock: Callable[[str], set[str]]) -> Callable[[str], set[str]]:
    def find_extra_valid_paths(dataset_path: str) -> set[str]:
        return {name.split(".")[0] for name in stock(dataset_path)}

    return find_extra_valid_paths


@replaces(
    "fairseq.search:DiverseBeamSearch.step",
    "7c2dffb4380f",
    reason="--diverse-beam-groups takes a number of a sentence for its place in the batch: "
    "IndexError, or the penalty of another sentence",
    since="fairseq 0.12.2",
    test="tests/system/test_damaged.py",
    loading=True,
)
def places_in_the_batch(stock: Callable[..., Any]) -> Callable[..., Any]:
    def step(
        self: Any, step: int, lprobs: Any, scores: Any, prefix: Any = None, numbers: Any = None
    ) -> Any:
        if numbers is not None and step == 0:
            self.places = {int(number): place for place, number in enumerate(numbers)}
        if numbers is not None:
            numbers = numbers.new_tensor([self.places[int(number)] for number in numbers])
        return stock(self, step, lprobs, scores, prefix, numbers)

    return step


@changes(
    "sys:stdout",
    reason="translations in a terminal or pipe that is not UTF-8 (PYTHONIOENCODING=ascii, LANG) "
    "end in UnicodeEncodeError",
    since="Python 3",
    test="tests/system/test_generation.py",
)
def print_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
