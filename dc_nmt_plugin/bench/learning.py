"""Measures the computing that models need to reach a BLEU score, trained in turn.

fairseq's own ``Trainer`` trains every subject on the same batches, each in its own process. The
subjects make one update in turn, so that other load on the machine slows all of them equally.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from fairseq import checkpoint_utils, options, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask
from fairseq.trainer import Trainer
from sacrebleu.metrics import BLEU

from ..errors import UsageError, UserError
from ..flags import as_flags
from ..gate.data import check_data
from ..models.presets import architectures
from . import STOCK
from .apart import apart
from .subjects import set_allocator, stock_settings


@dataclass
class Point:
    """Holds one validation: updates, and BLEU of greedy, tokenised, lower-cased output."""

    updates: int
    seconds: float
    bleu: float


@dataclass
class TimedModel:
    """A model in training.

    Attributes:
        name: architecture, or ``stock``
        seconds: computing time of its updates so far, validation left out
        curve: one point a validation
    """

    name: str
    seconds: float = 0.0
    curve: list[Point] = field(default_factory=list)

    def reached(self, bleu: float) -> Point | None:
        """Returns the first validation with at least that score."""
        return next((point for point in self.curve if point.bleu >= bleu), None)


@dataclass
class Advance:
    """Describes one turn of a :class:`Learner`.

    Attributes:
        seconds: computing time of the update
        point: the validation after it, if there was one; its `seconds` are of this turn
        ended: the schedule has no more updates
    """

    seconds: float
    point: Point | None
    ended: bool


class Learner:
    """Trains a model by one update per turn.

    Args:
        name: architecture of this package, with flags of its own behind it where there are any,
            or ``stock`` for fairseq's ``transformer``
        like: the architecture whose size ``stock`` has
        data: folder made by ``fairseq-preprocess``
        flags: of ``fairseq-train``
        every: updates between two validations
        device: "cpu" or "cuda"
        clock: seconds

    Raises:
        UserError: fairseq cannot start with these data and flags
    """

    def __init__(
        self,
        name: str,
        like: str,
        data: str,
        flags: Sequence[str],
        *,
        every: int,
        device: str,
        clock: Callable[[], float],
    ) -> None:
        set_allocator(name, device)
        self.trainer, self._task, self._valid_subset = _start(name, like, data, flags)
        self._batches = _batches(self.trainer)
        self._every = every
        self._clock = clock
        self._validated = 0

    def advance(self) -> Advance:
        """Makes one update, and a validation when one is due."""
        samples = next(self._batches, None)
        seconds = 0.0
        if samples is not None:
            start = self._clock()
            with metrics.aggregate(new_root=True):
                self.trainer.train_step(samples)
            seconds = self._clock() - start
        updates = self.trainer.get_num_updates()
        point = None
        is_due = samples is None or updates % self._every == 0
        if is_due and updates > self._validated:
            self._validated = updates
            point = Point(updates, seconds, self._validate())
        return Advance(seconds, point, ended=samples is None)

    def _validate(self) -> float:
        """Returns BLEU of greedy search on the validation set, on tokenised lower-cased words."""
        task, model = self._task, self.trainer.model
        was_training = model.training
        model.eval()
        generator = task.build_generator([model], _Greedy())
        dataset = task.dataset(self._valid_subset)
        batches = task.get_batch_iterator(dataset, max_tokens=4000).next_epoch_itr(shuffle=False)
        hypotheses, references = [], []
        with torch.no_grad():
            for sample in batches:
                if self.trainer.cuda:
                    sample = utils.move_to_cuda(sample)
                found = task.inference_step(generator, [model], sample)
                for hypothesis, target in zip(found, sample["target"], strict=True):
                    hypotheses.append(_words(task, hypothesis[0]["tokens"]))
                    # an unknown word of the reference is never matched
                    references.append(_words(task, target, escape_unk=True))
        model.train(was_training)
        scorer = BLEU(tokenize="none", lowercase=True, force=True)
        return float(scorer.corpus_score(hypotheses, [references]).score)


def train_until(
    names: Sequence[str],
    like: str,
    data: str,
    flags: Sequence[str],
    *,
    bleu: float,
    every: int,
    device: str,
    clock: Callable[[], float],
    progress: Callable[[TimedModel], None],
) -> list[TimedModel]:
    """Trains all subjects until each has reached a BLEU score or the schedule ends.

    Args:
        names: of :class:`Learner`
        like: the architecture whose size ``stock`` has
        data: folder made by ``fairseq-preprocess``
        flags: of ``fairseq-train``, the same for all: schedule, batches, dropout, seed …
        bleu: where a subject stops
        every: updates between two validations
        device: "cpu" or "cuda"
        clock: seconds
        progress: called after every validation

    Raises:
        UserError: fairseq cannot start with these data and flags
    """

    with ExitStack() as processes:
        # an empty save folder: fairseq would continue from a checkpoint
        empty = processes.enter_context(TemporaryDirectory())
        own = [*flags, "--distributed-world-size", "1"]  # one process each, on one GPU
        own += ["--no-save", "--save-dir", empty, "--num-workers", "0"]

        def learner(name: str) -> Callable[[None], Advance]:
            made = Learner(name, like, data, own, every=every, device=device, clock=clock)
            return lambda _: made.advance()

        running = {
            name: (
                TimedModel(name),
                processes.enter_context(apart(partial(learner, name), device)),
            )
            for name in names
        }
        subjects = [subject for subject, _ in running.values()]
        while running:
            for name, (subject, advance) in list(running.items()):
                turn: Advance = advance(None)
                subject.seconds += turn.seconds
                if turn.point is not None:
                    subject.curve.append(replace(turn.point, seconds=subject.seconds))
                    progress(subject)
                if turn.ended or subject.reached(bleu):
                    del running[name]
    return subjects


def _start(name: str, like: str, data: str, flags: Sequence[str]) -> tuple[Any, Any, str]:
    """Returns trainer, task and the name of the validation set."""
    own: list[str] = []
    if name == STOCK:
        arch = ["--arch", "transformer", "--criterion", "label_smoothed_cross_entropy"]
        arch += ["--task", "translation_dc_nmt"]  # the same batches as the others
        given = stock_settings(like).items()
        arch += as_flags({k: v for k, v in given if v is not None and v is not False})
    else:
        arch_name, *own = shlex.split(name)
        family = architectures()[arch_name].family
        arch = ["--arch", arch_name, "--task", family.task, "--criterion", family.criterion]
    parser = options.get_training_parser()
    try:
        args = options.parse_args_and_arch(parser, [data, *arch, *flags, *own])
    except SystemExit as error:  # argparse has printed the reason
        raise UserError(f"{name}: fairseq-train does not take these flags") from error
    check_data(vars(args), dict.fromkeys(args.valid_subset.split(","), "--valid-subset"))
    cfg = convert_namespace_to_omegaconf(args)
    if cfg.optimization.max_update < 1:
        raise UsageError("--max-update: is missing; add it to the flags of fairseq-train.")
    np.random.seed(cfg.common.seed)
    utils.set_torch_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    if name == STOCK:  # with the optimizer step that it has without this plugin
        task.optimizer_step = partial(FairseqTask.optimizer_step, task)
    model = task.build_model(cfg.model)
    criterion = task.build_criterion(cfg.criterion)
    try:
        task.load_dataset(cfg.dataset.valid_subset)
    except Exception as error:
        raise UsageError(f"--data {data}: {error}") from error
    trainer = Trainer(cfg, task, model, criterion)
    return trainer, task, cfg.dataset.valid_subset


def _batches(trainer: Any) -> Iterator[list[Any]]:
    """Yields the batches of each update, epoch after epoch, until the end of the schedule."""
    cfg = trainer.cfg
    _, epochs = checkpoint_utils.load_checkpoint(cfg.checkpoint, trainer)
    last = cfg.optimization.max_update
    while trainer.get_num_updates() < last:
        update_freq = cfg.optimization.update_freq
        frequency = update_freq[min(epochs.next_epoch_idx, len(update_freq)) - 1]
        group: list[Any] = []
        for sample in epochs.next_epoch_itr(fix_batches_to_gpus=False, shuffle=True):
            group.append(sample)
            if len(group) == frequency:
                yield group
                group = []
                if trainer.get_num_updates() >= last:
                    return
        if group:
            yield group
        epochs = trainer.get_train_iterator(epochs.next_epoch_idx, load_dataset=False)


class _Greedy:
    """Holds the flags that fairseq's ``build_generator`` reads."""

    beam = 1
    max_len_a = 1.2
    max_len_b = 10


def _words(task: Any, tokens: Any, *, escape_unk: bool = False) -> str:
    dictionary = task.target_dictionary
    text: str = dictionary.string(
        tokens.int().cpu(),
        "@@ ",
        escape_unk=escape_unk,
        extra_symbols_to_ignore=[dictionary.pad()],
    )
    return text
