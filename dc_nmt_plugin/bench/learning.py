"""How much computing a model needs to reach a BLEU score, side by side with others.

Every subject is trained by fairseq's own ``Trainer`` on the same batches, one update of each in
turn in one process, so that what else the machine does slows all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq import checkpoint_utils, options, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.logging import metrics
from fairseq.trainer import Trainer
from sacrebleu.metrics import BLEU

from ..errors import UserError
from ..models.presets import architectures
from . import STOCK
from .subjects import stock_settings


@dataclass
class Point:
    """The validation set after some updates; BLEU of greedy, tokenised, lower-cased output."""

    updates: int
    seconds: float
    bleu: float


@dataclass
class Subject:
    """A model in training.

    Attributes:
        name: architecture, or ``stock``
        seconds: computing time of its updates so far, validation left out
        curve: one point a validation
    """

    name: str
    trainer: Any
    task: Any
    valid_subset: str
    seconds: float = 0.0
    curve: list[Point] = field(default_factory=list)

    def reached(self, bleu: float) -> Point | None:
        """The first validation with at least that score."""
        return next((point for point in self.curve if point.bleu >= bleu), None)


def train_until(
    names: Sequence[str],
    like: str,
    data: str,
    flags: Sequence[str],
    *,
    bleu: float,
    every: int,
    clock: Callable[[], float],
    progress: Callable[[Subject], None],
) -> list[Subject]:
    """Train all subjects until each has reached a BLEU score or the schedule ends.

    Args:
        names: architectures of this package, or ``stock`` for fairseq's ``transformer``
        like: the architecture whose size ``stock`` has
        data: folder made by ``fairseq-preprocess``
        flags: of ``fairseq-train``, the same for all: schedule, batches, dropout, seed …
        bleu: where a subject stops
        every: updates between two validations
        clock: seconds
        progress: called after every validation

    Raises:
        UserError: fairseq cannot start with these data and flags
    """
    subjects = [_start(name, like, data, flags) for name in names]
    batches = [_batches(subject.trainer) for subject in subjects]
    running = list(range(len(subjects)))
    while running:
        for number in list(running):
            subject = subjects[number]
            samples = next(batches[number], None)
            if samples is not None:
                start = clock()
                with metrics.aggregate(new_root=True):
                    subject.trainer.train_step(samples)
                subject.seconds += clock() - start
            updates = subject.trainer.get_num_updates()
            is_new = not subject.curve or subject.curve[-1].updates < updates
            if is_new and (samples is None or updates % every == 0):
                subject.curve.append(Point(updates, subject.seconds, _validate(subject)))
                progress(subject)
            if samples is None or subject.reached(bleu):
                running.remove(number)
    return subjects


def _start(name: str, like: str, data: str, flags: Sequence[str]) -> Subject:
    if name == STOCK:
        arch = ["--arch", "transformer", "--criterion", "label_smoothed_cross_entropy"]
        arch += ["--task", "translation_dc_nmt"]
        for setting, value in stock_settings(like).items():
            flag = "--" + setting.replace("_", "-")
            if value is True:
                arch.append(flag)
            elif value is not None and value is not False:
                arch += [flag, str(value)]
    else:
        family = architectures()[name].family
        arch = ["--arch", name, "--task", family.task, "--criterion", family.criterion]
    parser = options.get_training_parser()
    try:
        args = options.parse_args_and_arch(parser, [data, *arch, *flags])
    except SystemExit as error:  # argparse has said why
        raise UserError(f"{name}: fairseq-train does not take these flags") from error
    cfg = convert_namespace_to_omegaconf(args)
    if cfg.optimization.max_update < 1:
        raise UserError("--max-update is missing among the flags of fairseq-train.")
    utils.set_torch_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    criterion = task.build_criterion(cfg.criterion)
    try:
        task.load_dataset(cfg.dataset.valid_subset)
    except Exception as error:
        raise UserError(f"--data {data}: {error}") from error
    trainer = Trainer(cfg, task, model, criterion)
    return Subject(name, trainer, task, cfg.dataset.valid_subset)


def _batches(trainer: Any) -> Iterator[list[Any]]:
    """Batches of one update each, epoch after epoch, until the schedule's last update."""
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


def _validate(subject: Subject) -> float:
    """BLEU of greedy search on the validation set, on tokenised lower-cased words."""
    task, model = subject.task, subject.trainer.model
    was_training = model.training
    model.eval()
    generator = task.build_generator([model], _Greedy())
    dataset = task.dataset(subject.valid_subset)
    batches = task.get_batch_iterator(dataset, max_tokens=4000).next_epoch_itr(shuffle=False)
    hypotheses, references = [], []
    with torch.no_grad():
        for sample in batches:
            if subject.trainer.cuda:
                sample = utils.move_to_cuda(sample)
            found = task.inference_step(generator, [model], sample)
            for hypothesis, target in zip(found, sample["target"], strict=True):
                hypotheses.append(_words(task, hypothesis[0]["tokens"]))
                references.append(_words(task, target))
    model.train(was_training)
    scorer = BLEU(tokenize="none", lowercase=True, force=True)
    return float(scorer.corpus_score(hypotheses, [references]).score)


class _Greedy:
    """What fairseq's ``build_generator`` reads of its flags."""

    beam = 1
    max_len_a = 1.2
    max_len_b = 10


def _words(task: Any, tokens: Any) -> str:
    dictionary = task.target_dictionary
    text: str = dictionary.string(
        tokens.int().cpu(), "@@ ", extra_symbols_to_ignore=[dictionary.pad()]
    )
    return text
