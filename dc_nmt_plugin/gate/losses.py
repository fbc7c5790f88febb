"""What is lost on the way is named: sentences that are not translated, a loss that is no number."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import UserError

DIVERGED = 1000.0  # bits a token; a vocabulary of a million has 20
SELDOM = 50  # updates

_left_out: list[int] = []


class _NoScore:
    """Takes the place of fairseq's scorer where sentences were left out."""

    def __init__(self, count: int) -> None:
        self.count = count

    def add_string(self, *_: Any) -> None:
        """Nothing is scored."""

    def result_string(self, *_: Any) -> str:
        """What ``fairseq-generate`` prints in place of BLEU."""
        return f"no score, because {self.count:,} sentences were left out"


def name_what_is_left_out() -> None:
    """``fairseq-generate --skip-invalid-size-inputs-valid-test`` says which sentences it left out,
    and gives no score of the others."""
    from fairseq import scoring
    from fairseq.tasks.fairseq_task import FairseqTask

    stock_filter: Callable[..., Any] = FairseqTask.filter_indices_by_size
    stock_scorer: Callable[..., Any] = scoring.build_scorer

    @functools.wraps(stock_filter)
    def filter_indices_by_size(self: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        kept = stock_filter(self, indices, *args, **kwargs)
        # of every epoch of a training too: no sets of millions of numbers
        _left_out[:] = np.setdiff1d(indices, kept).tolist() if len(kept) < len(indices) else []
        return kept

    @functools.wraps(stock_scorer)
    def build_scorer(*args: Any, **kwargs: Any) -> Any:
        if not _left_out:
            return stock_scorer(*args, **kwargs)
        some = ", ".join(map(str, _left_out[:8])) + (", …" if len(_left_out) > 8 else "")
        print(
            f"warning: {len(_left_out):,} sentences are longer than the model's positions and are "
            f"NOT translated, numbers {some} (from 0): there is no score of this subset.",
            file=sys.stderr,
        )
        return _NoScore(len(_left_out))

    FairseqTask.filter_indices_by_size = filter_indices_by_size
    scoring.build_scorer = build_scorer


def stop_a_diverged_training() -> None:
    """A training whose perplexity has no number any more ends, and says so."""
    from fairseq.tasks.fairseq_task import FairseqTask

    stock: Callable[..., None] = FairseqTask.reduce_metrics
    calls = itertools.count()

    @functools.wraps(stock)
    def reduce_metrics(self: Any, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        stock(self, logging_outputs, criterion)
        if not criterion.training or not logging_outputs:
            return
        if getattr(logging_outputs[0].get("loss"), "is_cuda", False) and next(calls) % SELDOM:
            return  # a number on a GPU: reading it makes the update wait
        loss = sum(float(log.get("loss", 0)) for log in logging_outputs)
        tokens = sum(float(log.get("ntokens", 0)) for log in logging_outputs)
        if tokens and loss / tokens / math.log(2) > DIVERGED:
            raise UserError(
                f"the training has diverged: its loss is {loss / tokens / math.log(2):,.0f} bits a "
                "token, an infinite perplexity; lower --lr, raise --warmup-updates or give "
                "--clip-norm, and start again from an earlier checkpoint."
            )

    FairseqTask.reduce_metrics = reduce_metrics


def find_the_first_nan() -> None:
    """fairseq's detector stumbles over outputs that are neither tensors nor tuples, such as our
    encoder's, and hides why the training failed: it looks at those on the way forward only."""
    from fairseq.nan_detector import NanDetector

    stock: Callable[..., None] = NanDetector.add_hooks

    @functools.wraps(stock)
    def add_hooks(self: Any, module: Any) -> None:
        backward = self.backward
        self.backward = backward and not type(module).__module__.startswith(
            __package__.split(".")[0]
        )
        try:
            stock(self, module)
        finally:
            self.backward = backward

    NanDetector.add_hooks = add_hooks
