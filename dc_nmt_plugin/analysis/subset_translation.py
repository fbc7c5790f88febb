"""A subset and the models that translate it, loaded once for several passes."""

from __future__ import annotations

import ast
import copy
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from fairseq import checkpoint_utils, options, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from .. import registration as registration
from ..errors import UserError
from ..gate.data import check_data

# not of use where hypotheses are scored: refused rather than ignored
_UNUSED = (
    *("--bpe", "--constraints", "--lm-path", "--nbest", "--prefix-size", "--replace-unk"),
    *("--results-path", "--sacrebleu", "--scoring"),
)


class SubsetTranslation:
    """What ``fairseq-generate`` sets up, kept for several passes over one subset.

    Args:
        flags: a command line of ``fairseq-generate``, without the program's name; ``--remove-bpe``
            unless told otherwise
        sentences: how many of the subset are used, drawn at random (the same ones every time);
            None for all

    Attributes:
        task: change its settings between passes: each pass builds its generator anew
        models: of ``--path``, ready to decode
        subset: name of the subset (``--gen-subset``)
        numbers: of the sentences used, from 0, rising
        batches: fairseq's batches of them, shortest first, on the models' device

    Raises:
        UserError: no ``--path``, a checkpoint that cannot be loaded, no such subset, or a flag
            that would be ignored
    """

    def __init__(self, flags: Sequence[str], sentences: int | None = None) -> None:
        for flag in _UNUSED:
            if any(given == flag or given.startswith(flag + "=") for given in flags):
                raise UserError(f"{flag}: fairseq-generate has it, this command has not.")
        parser = options.get_generation_parser()
        args = options.parse_args_and_arch(parser, ["--remove-bpe=subword_nmt", *flags])
        check_data(vars(args), {args.gen_subset: "--gen-subset"})
        with _without_warnings():
            self._cfg = cfg = convert_namespace_to_omegaconf(args)
        if cfg.common_eval.path is None:
            raise UserError("--path: name the checkpoint to translate with.")
        utils.import_user_module(cfg.common)
        self.task = tasks.setup_task(cfg.task)
        self.models = self._load()
        self.subset: str = cfg.dataset.gen_subset
        try:
            self.task.load_dataset(self.subset)
        except FileNotFoundError as error:
            raise UserError(f"--gen-subset {self.subset}: {error}.") from error
        self.numbers = draw(self.size, sentences)
        self.batches = self._collate()

    def _load(self) -> list[Any]:
        cfg = self._cfg
        models, _ = checkpoint_utils.load_model_ensemble(
            utils.split_paths(cfg.common_eval.path),
            arg_overrides=ast.literal_eval(cfg.common_eval.model_overrides),
            task=self.task,
        )
        self._cuda = torch.cuda.is_available() and not cfg.common.cpu
        for model in models:
            if cfg.common.fp16:
                model.half()
            if self._cuda:
                model.cuda()
            model.prepare_for_inference_(cfg)
        return list(models)

    def _collate(self) -> list[Any]:
        data, dataset = self._cfg.dataset, self.task.dataset(self.subset)
        limit = data.max_tokens
        numbers = np.array(self.numbers)
        lengths = [dataset.num_tokens(number) for number in self.numbers]
        numbers = numbers[np.argsort(lengths, kind="stable")]
        positions = utils.resolve_max_positions(
            self.task.max_positions(), *[model.max_positions() for model in self.models]
        )
        try:
            numbers = self.task.filter_indices_by_size(
                numbers, dataset, positions, data.skip_invalid_size_inputs_valid_test
            )
        except Exception as error:  # fairseq's own sentence, which names the flag
            raise UserError(f"--gen-subset {self.subset}: {error}") from error
        groups = dataset.batch_by_size(
            numbers,
            max_tokens=12000 if limit is None and data.batch_size is None else limit,
            max_sentences=data.batch_size,
            required_batch_size_multiple=data.required_batch_size_multiple,
        )
        with _without_warnings():
            samples = [dataset.collater([dataset[number] for number in group]) for group in groups]
        return [self.to_device(sample) for sample in samples]

    def to_device(self, sample: Any) -> Any:
        """A batch on the models' device."""
        return utils.move_to_cuda(sample) if self._cuda else sample

    @property
    def size(self) -> int:
        """Sentences of the subset, those included that are too long to be translated."""
        return len(self.task.dataset(self.subset))

    def generator(self, beam: int | None = None) -> Any:
        """fairseq's generator as the flags say, or with another beam."""
        cfg = self._cfg
        if cfg.common.seed is not None and not cfg.generation.no_seed_provided:
            np.random.seed(cfg.common.seed)  # sampling draws the same in every pass
            utils.set_torch_seed(cfg.common.seed)
        generation = copy.deepcopy(cfg.generation)
        if beam is not None:
            generation.beam = beam
        return self.task.build_generator(self.models, generation)

    def decode(self, generator: Any, batch: Any) -> list[torch.Tensor]:
        """Best hypotheses, in the order of the batch's rows: token numbers with the end token."""
        rows = self.task.inference_step(generator, self.models, batch)
        return [hypotheses[0]["tokens"] for hypotheses in rows]

    def translate(self, progress: Callable[[int, int], None] | None = None) -> dict[int, str]:
        """Sentence number (from 0) → its best hypothesis, without BPE.

        Args:
            progress: called after every batch with the sentences done and all there are
        """
        generator = self.generator()
        found: dict[int, str] = {}
        for batch in self.batches:
            hypotheses = self.decode(generator, batch)
            for number, tokens in zip(batch["id"].tolist(), hypotheses, strict=True):
                found[number] = self.target_text(tokens)
            if progress is not None:
                progress(len(found), len(self.numbers))
        return found

    def targets(self) -> dict[int, str]:
        """Sentence number → the subset's own target side, without BPE.

        Raises:
            UserError: the data has no target side
        """
        targets = self.task.dataset(self.subset).tgt
        if targets is None:
            raise UserError(
                f"--gen-subset {self.subset}: has no target side to score against; give "
                "--reference."
            )
        # escaped, so that an unknown word of the reference is never matched
        return {
            number: self.target_text(targets[number], escape=True) for number in range(self.size)
        }

    def target_text(self, tokens: torch.Tensor, escape: bool = False) -> str:
        """Token numbers of the target language as text, without BPE."""
        text: str = self.task.target_dictionary.string(
            tokens.int().cpu(), self._cfg.common_eval.post_process, escape_unk=escape
        )
        return text


def draw(size: int, sentences: int | None) -> list[int]:
    """Numbers of `sentences` out of `size` sentences, rising, the same in every call.

    Raises:
        UserError: none, or more than there are
    """
    if size == 0:
        raise UserError("--subset: has no sentence.")
    if sentences is None:
        return list(range(size))
    if not 1 <= sentences <= size:
        raise UserError(f"--sentences {sentences}: is not from 1 to the subset's {size} sentences.")
    return sorted(random.Random(1).sample(range(size), sentences))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Without hydra's deprecations and torch's pinned memory: a user can do nothing about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
