"""A trained model that is loaded with its task: encodes lines, makes batches, translates them."""

from __future__ import annotations

import ast
import copy
import os
import random
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from fairseq import checkpoint_utils, tasks, utils
from fairseq.data import LanguagePairDataset
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from ... import registration as registration  # adds the architectures of checkpoints to fairseq
from ...checkpoints.loading import check_finite
from ...errors import UserError
from ...models.transformer.model import from_stock
from ...modules.core.recording import Recordable
from ...text.segmentation import SUBWORD_NMT, segmenter_of
from ..fairseq_flags import GENERATE, parse_flags
from .trained_run import TrainedRun

STOCK_RECORDS_NOTHING = (
    "is a model of fairseq's own that does not record what it computes, and that "
    "transformer_standard cannot stand for; train transformer_standard with the same flags."
)
TOKENS = 12000  # of a batch, fairseq-generate's own where no flag says it


class RandomState:
    """Random numbers apart from those of the user: inside ``with``, they are drawn from here.

    One thread at a time is inside.
    """

    _lock = threading.RLock()

    def __init__(self) -> None:
        self._inside: tuple[Any, ...] | None = None

    def __enter__(self) -> None:
        self._lock.acquire()
        self._outside = _generators()
        if self._inside is not None:
            _set_generators(self._inside)

    def __exit__(self, *_: object) -> None:
        self._inside = _generators()
        _set_generators(self._outside)
        self._lock.release()


def _generators() -> tuple[Any, ...]:
    on_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), on_gpus


def _set_generators(state: tuple[Any, ...]) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])
    if state[3]:
        torch.cuda.set_rng_state_all(state[3])


class LoadedModel:
    """The model of a trained run, with fairseq's task and the search of ``fairseq-generate``.

    Args:
        run: where the model is
        flags: further flags of ``fairseq-generate``
        others: runs whose models translate together with it
        recording: whether the model has to record what it computes. fairseq's own ``transformer``
            then becomes the equal model of this package

    Attributes:
        label: name in tables and figures
        model: the ``torch.nn.Module``, in evaluation mode; of an ensemble, the first one
        models: all of them
        task: fairseq's; change its settings between passes, each pass builds its generator anew
        segmenter: of the target text

    Raises:
        UserError: the model cannot be loaded or is no translation model
    """

    def __init__(
        self,
        run: TrainedRun,
        flags: Sequence[str] = (),
        others: Sequence[TrainedRun] = (),
        *,
        recording: bool = False,
    ) -> None:
        if run.task.get("_name") == "language_modeling":
            raise UserError(f"{run.label}: is a language model; only translation models here.")
        self.run = run
        self.label = run.label
        args = parse_flags(GENERATE, [*_model_flags(run, others), *flags])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Hydra, about how fairseq calls it
            self._cfg = convert_namespace_to_omegaconf(args)
        utils.import_user_module(self._cfg.common)
        self.task: Any = tasks.setup_task(self._cfg.task)
        self.segmenter = segmenter_of(run.data, self.target_lang) or SUBWORD_NMT
        if self._cfg.common_eval.post_process is None:  # --remove-bpe
            self._cfg.common_eval.post_process = self.segmenter.joined_by
        self._on_gpu = torch.cuda.is_available() and not self._cfg.common.cpu
        self._random = RandomState()
        with self._random:  # initial weights are drawn before those of the checkpoint are read
            self.models: list[Any] = self._load(recording)
        self.model = self.models[0]
        self.padding_idx: int = self.task.source_dictionary.pad()

    def _load(self, recording: bool) -> list[Any]:
        cfg = self._cfg
        paths = utils.split_paths(cfg.common_eval.path)
        models, saved = checkpoint_utils.load_model_ensemble(
            paths,
            arg_overrides=ast.literal_eval(cfg.common_eval.model_overrides),
            task=self.task,
        )
        if recording:
            models = [from_stock(model, saved.model, self.task) for model in models]
        for path, model in zip(paths, models, strict=True):
            check_finite(path, model.state_dict())  # an argmax of NaN is no NaN
            if cfg.common.fp16:
                model.half()
            if self._on_gpu:
                model.cuda()
            model.prepare_for_inference_(cfg)
        return list(models)

    # -- what the model is ---------------------------------------------------------------------

    @property
    def source_lang(self) -> str:
        return str(self.task.cfg.source_lang)

    @property
    def target_lang(self) -> str:
        return str(self.task.cfg.target_lang)

    @property
    def positions(self) -> Any:
        """Returns the longest source and target, in tokens."""
        longest = [model.max_positions() for model in self.models]
        return utils.resolve_max_positions(self.task.max_positions(), *longest)

    @property
    def source_layers(self) -> list[int]:
        """Returns the encoder layers that the main decoder reads; none for recurrent models."""
        return list(getattr(self.model.encoder, "read_layers", []))

    @property
    def records(self) -> bool:
        """Returns True when the model records what it computes; fairseq's own does not."""
        return any(isinstance(module, Recordable) for module in self.model.modules())

    # -- text and token numbers ----------------------------------------------------------------

    def dictionary(self, side: str) -> Any:
        """Returns the dictionary of the words that the ``encoder`` or ``decoder`` reads."""
        source = side == "encoder"
        return self.task.source_dictionary if source else self.task.target_dictionary

    def encode(self, pieces: str, side: str) -> torch.Tensor:
        """Returns the token numbers of a line of pieces, with the end token."""
        tokens: torch.Tensor = self.dictionary(side).encode_line(pieces, add_if_not_exist=False)
        return tokens.long()

    def pieces(self, tokens: Any, side: str) -> list[str]:
        """Returns the symbols of token numbers, without padding and end tokens."""
        dictionary = self.dictionary(side)
        unwanted = {dictionary.pad(), dictionary.eos()}
        return [dictionary[int(token)] for token in tokens if int(token) not in unwanted]

    def target_text(self, tokens: torch.Tensor, escape: bool = False) -> str:
        """Returns the text of token numbers of the target language, without BPE."""
        text: str = self.task.target_dictionary.string(
            tokens.int().cpu(), self._cfg.common_eval.post_process, escape_unk=escape
        )
        return text

    # -- batches -------------------------------------------------------------------------------

    def check_length(self, name: str, length: int, side: str = "encoder") -> None:
        """Refuses a sentence that is longer than the positions of a side, with its end token.

        Raises:
            UserError: it is longer
        """
        longest = self.positions[0 if side == "encoder" else 1]
        if length > longest:
            raise UserError(
                f"{name}: has {length:,} pieces with its end, and the model {longest:,} positions: "
                "split it"
            )

    def encoded(self, source: Sequence[str], target: Sequence[str] | None = None) -> Any:
        """Returns fairseq's dataset of lines of pieces, as fairseq-preprocess would make it."""
        source_rows = [self.encode(line, "encoder") for line in source]
        target_rows, target_sizes = None, None
        if target is not None:
            target_rows = [self.encode(line, "decoder") for line in target]
            target_sizes = np.array([len(row) for row in target_rows])
        return LanguagePairDataset(
            source_rows,
            np.array([len(row) for row in source_rows]),
            self.dictionary("encoder"),
            target_rows,
            target_sizes,
            self.dictionary("decoder"),
            left_pad_source=self.task.cfg.left_pad_source,
            left_pad_target=self.task.cfg.left_pad_target,
        )

    def batches_of(self, dataset: Any, numbers: Sequence[int]) -> Iterator[Any]:
        """Yields fairseq's batches of these sentences, shortest first, on the model's device."""
        settings = self._cfg.dataset
        lengths = [dataset.num_tokens(number) for number in numbers]
        groups = dataset.batch_by_size(
            np.array(numbers)[np.argsort(lengths, kind="stable")],
            max_tokens=settings.max_tokens or (None if settings.batch_size else TOKENS),
            max_sentences=settings.batch_size,
            required_batch_size_multiple=settings.required_batch_size_multiple,
        )
        for group in groups:
            yield self.to_device(dataset.collater([dataset[number] for number in group]))

    def to_device(self, sample: Any) -> Any:
        """Returns a batch on the model's device."""
        return utils.move_to_cuda(sample) if self._on_gpu else sample

    # -- search --------------------------------------------------------------------------------

    def generator(self, beam: int | None = None) -> Any:
        """Returns fairseq's generator for the flags, or with another beam."""
        cfg = self._cfg
        if cfg.common.seed is not None and not cfg.generation.no_seed_provided:
            with self._random:
                np.random.seed(cfg.common.seed)  # sampling draws the same in every pass
                utils.set_torch_seed(cfg.common.seed)
        generation = copy.deepcopy(cfg.generation)
        if beam is not None:
            generation.beam = beam
        return self.task.build_generator(self.models, generation)

    def best(self, generator: Any, batch: Any) -> list[dict[str, Any]]:
        """Returns fairseq's best hypothesis of each row of the batch, with tokens and score."""
        generation = self._cfg.generation
        draws = generation.sampling or generation.retain_dropout
        with self._random if draws else nullcontext():
            return [rows[0] for rows in self.task.inference_step(generator, self.models, batch)]

    def decode(self, generator: Any, batch: Any) -> list[torch.Tensor]:
        """Returns the best hypothesis of each row: token numbers with the end token."""
        return [best["tokens"] for best in self.best(generator, batch)]


def _model_flags(run: TrainedRun, others: Sequence[TrainedRun]) -> list[str]:
    """Returns the command line of ``fairseq-generate`` for a run, or an ensemble."""
    paths = os.pathsep.join(str(each.checkpoint) for each in (run, *others))
    # this task loads every translation model of the package, and has every hook for decoding
    flags = [str(run.data), "--path", paths, "--task", "translation_dc_nmt"]
    for side in ("source", "target"):
        if run.task.get(f"{side}_lang"):
            flags += [f"--{side}-lang", run.task[f"{side}_lang"]]
    return flags
