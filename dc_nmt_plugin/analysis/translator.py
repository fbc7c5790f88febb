"""Sets up models for translation like ``fairseq-generate``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from fairseq import checkpoint_utils, tasks, utils
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from .. import registration as registration
from ..compat.fairseq_flags import GENERATE, parse_flags
from ..errors import UsageError
from ..flags import flag_value

# without effect on scored or printed hypotheses, so refused
_UNUSED = (
    *("--bpe", "--constraints", "--lm-path", "--nbest", "--prefix-size", "--print-alignment"),
    *("--replace-unk", "--results-path", "--sacrebleu", "--score-reference", "--scoring"),
)
TOKENS = 12000  # of a batch, fairseq-generate's own where no flag says it


def refuse_flags(flags: Sequence[str], own: Sequence[str]) -> None:
    """
    Args:
        flags: of ``fairseq-generate``
        own: those that are set here

    Raises:
        UserError: one of `own`, or a flag that would be ignored
    """
    for flag in own:
        if flag_value(flags, flag) is not None or flag in flags:
            raise UsageError(f"{flag}: this command sets it by itself.")
    for flag in _UNUSED:
        if any(given == flag or given.startswith(flag + "=") for given in flags):
            raise UsageError(f"{flag}: fairseq-generate has it, this command has not.")


class Translator:
    """Holds the models of a command line of ``fairseq-generate``, ready to decode.

    Args:
        flags: with ``--path``; ``--remove-bpe`` is the default

    Attributes:
        task: change its settings between generators
        models: of ``--path``

    Raises:
        UserError: a checkpoint that cannot be loaded
    """

    def __init__(self, flags: Sequence[str]) -> None:
        args = parse_flags(GENERATE, ["--remove-bpe=subword_nmt", *flags])
        self._cfg = cfg = convert_namespace_to_omegaconf(args)
        utils.import_user_module(cfg.common)
        self.task: Any = tasks.setup_task(cfg.task)
        self.models = self._load()

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

    @property
    def positions(self) -> Any:
        """Returns the maximum positions of source and target."""
        return utils.resolve_max_positions(
            self.task.max_positions(), *[model.max_positions() for model in self.models]
        )

    def batches_of(self, dataset: Any, numbers: Sequence[int]) -> Iterator[Any]:
        """Yields fairseq's batches of these sentences, shortest first, on the models' device."""
        data = self._cfg.dataset
        limit = data.max_tokens
        lengths = [dataset.num_tokens(number) for number in numbers]
        groups = dataset.batch_by_size(
            np.array(numbers)[np.argsort(lengths, kind="stable")],
            max_tokens=TOKENS if limit is None and data.batch_size is None else limit,
            max_sentences=data.batch_size,
            required_batch_size_multiple=data.required_batch_size_multiple,
        )
        for group in groups:
            yield self.to_device(dataset.collater([dataset[number] for number in group]))

    def to_device(self, sample: Any) -> Any:
        """Returns a batch on the models' device."""
        return utils.move_to_cuda(sample) if self._cuda else sample

    def generator(self, beam: int | None = None) -> Any:
        """Returns fairseq's generator for the flags, or with another beam."""
        cfg = self._cfg
        if cfg.common.seed is not None and not cfg.generation.no_seed_provided:
            np.random.seed(cfg.common.seed)  # sampling draws the same in every pass
            utils.set_torch_seed(cfg.common.seed)
        generation = copy.deepcopy(cfg.generation)
        if beam is not None:
            generation.beam = beam
        return self.task.build_generator(self.models, generation)

    def best(self, generator: Any, batch: Any) -> list[dict[str, Any]]:
        """Returns fairseq's best hypothesis of each row of the batch, with tokens and score."""
        return [rows[0] for rows in self.task.inference_step(generator, self.models, batch)]

    def target_text(self, tokens: torch.Tensor, escape: bool = False) -> str:
        """Returns the text of token numbers of the target language, without BPE."""
        text: str = self.task.target_dictionary.string(
            tokens.int().cpu(), self._cfg.common_eval.post_process, escape_unk=escape
        )
        return text
