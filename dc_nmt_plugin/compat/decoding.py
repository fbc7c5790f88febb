"""Changes of ``fairseq-generate`` and ``fairseq-interactive``."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..errors import ConfigError, UserError
from ..files import check_space, no_space
from ..runs.translation import enter_translation
from ..text.lines import decoded
from .change import Function, before, replace


@replace(
    {"fairseq.search:DiverseBeamSearch.step": "7c2dffb4380f"},
    reason="--diverse-beam-groups takes a number of a sentence for its place in the batch: "
    "IndexError, or the penalty of another sentence",
    test="tests/system/test_decoding.py",
    loading=True,
)
def places_in_the_batch(stock: Function) -> Function:
    def step(
        self: Any, step: int, lprobs: Any, scores: Any, prefix: Any = None, numbers: Any = None
    ) -> Any:
        if numbers is not None and step == 0:
            self.places = {int(number): place for place, number in enumerate(numbers)}
        if numbers is not None:
            numbers = numbers.new_tensor([self.places[int(number)] for number in numbers])
        return stock(self, step, lprobs, scores, prefix, numbers)

    return step


@replace(
    {"fairseq_cli.generate:main": "ddff57f29d4f"},
    reason="without room for all of it, a file of --results-path is left that looks whole",
    test="tests/system/test_chaos.py",
)
def leave_no_half_translation(stock: Function) -> Function:
    def main(args: Any) -> Any:
        try:
            return stock(args)
        except OSError as error:
            folder = getattr(args, "results_path", None)
            if folder and no_space(error):
                Path(folder, f"generate-{args.gen_subset}.txt").unlink(missing_ok=True)
                check_space(folder, error)
            raise

    return main


@replace(
    {"fairseq_cli.generate:main": "ddff57f29d4f"},
    reason="no record of a run says which model translated, how, and on which device",
    test="tests/system/test_recipe_scripts.py",
    after="leave_no_half_translation",
)
def enter_the_translation(stock: Function) -> Function:
    def main(args: Any) -> Any:
        scorer = stock(args)
        if getattr(args, "results_path", None):  # a Namespace, as fairseq-generate has it
            data, model, results = map(Path, (args.data, args.path, args.results_path))
            enter_translation(sys.argv[1:], data, model, results, args.gen_subset)
        return scorer

    return main


FILTERING = {"fairseq.tasks.fairseq_task:FairseqTask.filter_indices_by_size": "05cc8f2d2a4f"}
EVALUATING = {
    "fairseq.tasks.language_modeling:LanguageModelingTask.eval_lm_dataloader": "8217ef9bf72a"
}


@replace(
    {**FILTERING, "fairseq.scoring:build_scorer": "a8ba1281c823"},
    reason="fairseq-generate --skip-invalid-size-inputs-valid-test leaves out long sentences, and "
    "gives the score of the rest as that of the subset",
    test="tests/system/test_decoding.py",
)
def no_score_of_a_part(select: Function, build: Function) -> tuple[Function, ...]:
    left_out = 0  # sentences of the subset that was filtered last

    def filter_indices_by_size(self: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal left_out
        kept = select(self, indices, *args, **kwargs)
        left_out = len(indices) - len(kept)
        return kept

    def build_scorer(*args: Any, **kwargs: Any) -> Any:
        if not left_out:
            return build(*args, **kwargs)
        result = f"no score, because {left_out:,} sentences were left out"
        return SimpleNamespace(add_string=lambda *_: None, result_string=lambda *_: result)

    return filter_indices_by_size, build_scorer


@replace(
    {**FILTERING, **EVALUATING},
    reason="fairseq-eval-lm leaves out what is longer than the model's positions, and gives the "
    "perplexity of the rest as that of the text",
    test="tests/system/test_decoding.py",
    after="no_score_of_a_part",
)
def no_perplexity_of_a_part(select: Function, load: Function) -> tuple[Function, ...]:
    left_out = 0  # samples of the text that was filtered last

    def filter_indices_by_size(self: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal left_out
        kept = select(self, indices, *args, **kwargs)
        left_out = len(indices) - len(kept)
        return kept

    def eval_lm_dataloader(self: Any, *args: Any, **kwargs: Any) -> Any:
        batches = load(self, *args, **kwargs)
        if left_out:
            raise UserError(
                f"{self.args.data}: {left_out:,} samples are longer than the model's positions; "
                "divide them: the others' perplexity is not that of the text."
            )
        return batches

    return filter_indices_by_size, eval_lm_dataloader


@replace(
    EVALUATING,
    reason="fairseq-eval-lm --context-window with several workers gives words the context of other "
    "batches",
    test="tests/system/test_decoding.py",
    after="no_perplexity_of_a_part",
)
def context_of_the_batch_before(load: Function) -> Function:
    def eval_lm_dataloader(self: Any, *args: Any, context_window: int = 0, **kwargs: Any) -> Any:
        if context_window:  # each worker would take the batches before it for those before its own
            kwargs["num_workers"] = 0
        return load(self, *args, context_window=context_window, **kwargs)

    return eval_lm_dataloader


@replace(
    {"fairseq_cli.interactive:buffered_read": "f8589558dc51"},
    reason="the reader ends a line at a carriage return too: one line gets two answers",
    test="tests/system/test_decoding.py",
)
def one_answer_a_line(stock: Function) -> Function:
    def buffered_read(path: str, size: int) -> Iterator[list[str]]:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as stream:
            lines = map(str.strip, decoded(stream, path))
            while buffer := list(islice(lines, size)):
                yield buffer

    return buffered_read


@before(
    {"fairseq_cli.interactive:main": "ef075792de00"},
    reason="fairseq-interactive ignores --lm-path, also that of a missing file",
    test="tests/system/test_language_model.py",
)
def no_language_model_in_interactive(cfg: Any) -> None:
    path = cfg.lm_path if isinstance(cfg, Namespace) else cfg.generation.lm_path
    if path:
        raise ConfigError(
            f"--lm-path {path}: fairseq-interactive reads no language model; use fairseq-generate."
        )


@before(
    {"fairseq.sequence_generator:SequenceGenerator.__init__": "54ab71efc46c"},
    reason="with a language model (--lm-path) of another dictionary of the same size, each word "
    "gets the probability of another one",
    test="tests/system/test_language_model.py",
)
def language_model_of_the_same_dictionary(
    _: Any, __: Any, tgt_dict: Any, *___: Any, lm_model: Any = None, **____: Any
) -> None:
    known = None if lm_model is None else lm_model.decoder.dictionary
    if known is not None and known.symbols != tgt_dict.symbols:
        raise UserError(
            f"--lm-path: the language model has other words than the target language "
            f"({len(known):,} and {len(tgt_dict):,} types); prepare its text with the target's "
            "dictionary (fairseq-preprocess --only-source --srcdict)."
        )
