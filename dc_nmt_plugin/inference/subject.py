"""A trained model, and the text on which it is analysed."""

from __future__ import annotations

import ast
import copy
import random
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from fairseq import checkpoint_utils, tasks, utils
from fairseq.data import LanguagePairDataset
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from tqdm import tqdm

from .. import registration as registration  # adds the architectures of checkpoints to fairseq
from ..checkpoints.loading import check_finite
from ..errors import UsageError, UserError, counted
from ..modules.core.recording import Recordable
from .search import parse_search, refuse_flags
from .trained_run import TrainedRun

STOCK_RECORDS_NOTHING = (
    "is fairseq's own model, which does not record what it computes; train transformer_standard "
    "with the same flags."
)
OWN_TEXT = "text"  # name of the subset that --source makes
_OWN_FLAGS = ("--path", "--gen-subset", "--task", "--user-dir", "--decode-with", "--no-aux-fusion")
TOKENS = 12000  # of a batch, fairseq-generate's own where no flag says it


class Subject:
    """A loaded model, and sentences in batches.

    Args:
        run: where the model is
        flags: further flags of ``fairseq-generate``
        subset: of the run's data, such as ``test``; None for other text (:meth:`use`) or none
        sentences: number of sentences, drawn at random with a fixed seed; None for all
        own_flags: flags that are refused

    Attributes:
        label: name in tables and figures
        model: in evaluation mode
        task: fairseq's; change its settings between passes, each pass builds its generator anew
        subset: name of the text
        dataset: of fairseq; None without text
        numbers: of the sentences used, from 0, rising
        batches: fairseq's batches of them, shortest first, on the model's device

    Raises:
        UserError: the model cannot be loaded or is no translation model, the text is missing or
            empty, a flag that this class sets or ignores
    """

    def __init__(
        self,
        run: TrainedRun,
        flags: Sequence[str] = (),
        subset: str | None = None,
        sentences: int | None = None,
        own_flags: Sequence[str] = _OWN_FLAGS,
    ) -> None:
        refuse_flags(flags, own_flags)
        if run.task.get("_name") == "language_modeling":
            raise UserError(f"{run.label}: is a language model; only translation models here.")
        if subset is not None and not any(run.data.glob(f"{subset}.*")):
            raise UsageError(
                f"--subset {subset}: is not in {run.data}. Name a raw text with --source FILE "
                "--reference FILE."
            )
        self.run = run
        self.label = run.label
        args = parse_search(["--remove-bpe=subword_nmt", *_flags(run), *flags])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Hydra, about how fairseq calls it
            self._cfg = convert_namespace_to_omegaconf(args)
        utils.import_user_module(self._cfg.common)
        self.task: Any = tasks.setup_task(self._cfg.task)
        self.model: Any = self._load(run)
        self.padding_idx: int = self.task.source_dictionary.pad()
        self.subset = subset or OWN_TEXT
        self.numbers: list[int] = []
        self.batches: list[Any] = []
        self.dataset: Any = None
        if subset is not None:
            self.task.load_dataset(subset)
            self.use(self.task.dataset(subset), sentences)

    def _load(self, run: TrainedRun) -> Any:
        cfg = self._cfg
        models, _ = checkpoint_utils.load_model_ensemble(
            utils.split_paths(cfg.common_eval.path),
            arg_overrides=ast.literal_eval(cfg.common_eval.model_overrides),
            task=self.task,
        )
        if len(models) != 1:
            raise UserError(f"{run.checkpoint}: is an ensemble; give one model at a time.")
        (model,) = models
        check_finite(str(run.checkpoint), model.state_dict())  # an argmax of NaN is no NaN
        self._cuda = torch.cuda.is_available() and not cfg.common.cpu
        if cfg.common.fp16:
            model.half()
        if self._cuda:
            model.cuda()
        model.prepare_for_inference_(cfg)
        return model

    def use(self, dataset: Any, sentences: int | None = None) -> None:
        """Takes the sentences of a dataset of fairseq."""
        self.dataset = dataset
        self.numbers = self._short_enough(draw(len(dataset), sentences))
        self.batches = list(self.batches_of(dataset, self.numbers))

    def encoded(self, source: Sequence[str], target: Sequence[str] | None = None) -> Any:
        """Returns fairseq's dataset of lines of pieces, as fairseq-preprocess would make it."""
        rows: dict[str, list[torch.Tensor] | None] = {"decoder": None}
        sizes: dict[str, Any] = {"decoder": None}
        for side, lines in (("encoder", source), ("decoder", target)):
            if lines is not None:
                rows[side] = [self.encode(line, side) for line in lines]
                sizes[side] = np.array([len(row) for row in rows[side] or ()])
        return LanguagePairDataset(
            rows["encoder"], sizes["encoder"], self.dictionary("encoder"),
            rows["decoder"], sizes["decoder"], self.dictionary("decoder"),
            left_pad_source=self.task.cfg.left_pad_source,
            left_pad_target=self.task.cfg.left_pad_target,
        )  # fmt: skip

    def _short_enough(self, numbers: Sequence[int]) -> list[int]:
        """Returns the sentences that fit the model's positions.

        Raises:
            UserError: one does not fit, without --skip-invalid-size-inputs-valid-test; or none fits
        """
        skip = self._cfg.dataset.skip_invalid_size_inputs_valid_test
        rows = np.array(numbers)
        try:
            kept = self.task.filter_indices_by_size(rows, self.dataset, self.positions, skip)
        except Exception as error:  # fairseq's own message has the flag
            raise UsageError(f"--subset {self.subset}: {error}") from error
        if not len(kept):
            raise UsageError(f"--subset {self.subset}: every sentence is too long.")
        return sorted(int(number) for number in kept)

    @property
    def positions(self) -> Any:
        """Returns the longest source and target, in tokens."""
        return utils.resolve_max_positions(self.task.max_positions(), self.model.max_positions())

    def batches_of(self, dataset: Any, numbers: Sequence[int]) -> Iterator[Any]:
        """Yields fairseq's batches of these sentences, shortest first, on the models' device."""
        data = self._cfg.dataset
        lengths = [dataset.num_tokens(number) for number in numbers]
        groups = dataset.batch_by_size(
            np.array(numbers)[np.argsort(lengths, kind="stable")],
            max_tokens=data.max_tokens or (None if data.batch_size else TOKENS),
            max_sentences=data.batch_size,
            required_batch_size_multiple=data.required_batch_size_multiple,
        )
        for group in groups:
            yield self.to_device(dataset.collater([dataset[number] for number in group]))

    def to_device(self, sample: Any) -> Any:
        """Returns a batch on the models' device."""
        return utils.move_to_cuda(sample) if self._cuda else sample

    @property
    def source_lang(self) -> str:
        return str(self.task.cfg.source_lang)

    @property
    def target_lang(self) -> str:
        return str(self.task.cfg.target_lang)

    @property
    def source_layers(self) -> list[int]:
        """Returns the encoder layers that the main decoder reads; none for recurrent models."""
        return list(getattr(self.model.encoder, "read_layers", []))

    @property
    def records(self) -> bool:
        """Returns True when the model records what it computes; fairseq's own does not."""
        return any(isinstance(module, Recordable) for module in self.model.modules())

    @property
    def size(self) -> int:
        """Returns the number of sentences of the text, including those that are not used."""
        return len(self.dataset)

    def check_targets(self) -> None:
        """Raises UserError if the text has no target side."""
        if self.dataset.tgt is None:
            place = "--source" if self.subset == OWN_TEXT else f"--subset {self.subset}"
            raise UsageError(f"{place}: has no target side; give it with --source and --reference.")

    def check_lines(self, flag: str, path: object, lines: Sequence[str]) -> None:
        """Raises UserError if a file about the sentences has another number of lines."""
        if len(lines) != self.size:
            raise UsageError(
                f"{flag} {path}: {counted(len(lines), 'line')} for "
                f"{counted(self.size, 'sentence')} of {self.subset}."
            )

    def check_index(self, index: int) -> None:
        """Raises UserError if the text has no sentence of that number, from 1."""
        if not 1 <= index <= self.size:
            raise UsageError(f"--index {index}: is not from 1 to the text's {self.size} sentences.")

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

    def sentence_pieces(self, side: str) -> dict[int, list[str]]:
        """Returns the number of each sentence used → its pieces, of the ``encoder``'s side or the
        ``decoder``'s."""
        if side == "decoder":
            self.check_targets()
        rows = self.dataset.src if side == "encoder" else self.dataset.tgt
        return {number: self.pieces(rows[number], side) for number in self.numbers}

    def generator(self, beam: int | None = None) -> Any:
        """Returns fairseq's generator for the flags, or with another beam."""
        cfg = self._cfg
        if cfg.common.seed is not None and not cfg.generation.no_seed_provided:
            np.random.seed(cfg.common.seed)  # sampling draws the same in every pass
            utils.set_torch_seed(cfg.common.seed)
        generation = copy.deepcopy(cfg.generation)
        if beam is not None:
            generation.beam = beam
        return self.task.build_generator([self.model], generation)

    def best(self, generator: Any, batch: Any) -> list[dict[str, Any]]:
        """Returns fairseq's best hypothesis of each row of the batch, with tokens and score."""
        return [rows[0] for rows in self.task.inference_step(generator, [self.model], batch)]

    def decode(self, generator: Any, batch: Any) -> list[torch.Tensor]:
        """Returns the best hypothesis of each row: token numbers with the end token."""
        return [best["tokens"] for best in self.best(generator, batch)]

    def target_text(self, tokens: torch.Tensor, escape: bool = False) -> str:
        """Returns the text of token numbers of the target language, without BPE."""
        text: str = self.task.target_dictionary.string(
            tokens.int().cpu(), self._cfg.common_eval.post_process, escape_unk=escape
        )
        return text

    def translate(self) -> dict[int, str]:
        """Returns sentence number (from 0) → its best hypothesis, without BPE."""
        generator = self.generator()
        translations: dict[int, str] = {}
        for batch in tqdm(
            self.batches, desc=f"{self.label}: translation", unit=" batches", disable=None
        ):
            hypotheses = self.decode(generator, batch)
            for number, tokens in zip(batch["id"].tolist(), hypotheses, strict=True):
                translations[number] = self.target_text(tokens)
        return translations

    def targets(self) -> dict[int, str]:
        """Returns sentence number → the text's own target side, without BPE."""
        self.check_targets()
        # escaped, so that an unknown word of the reference is never matched
        return {
            number: self.target_text(self.dataset.tgt[number], escape=True)
            for number in range(self.size)
        }


def draw(size: int, sentences: int | None) -> list[int]:
    """Draws `sentences` numbers out of `size`, rising, the same in every call.

    Raises:
        UserError: the number is below 1 or above `size`
    """
    if size == 0:
        raise UsageError("the text to analyse has no sentence.")
    if sentences is None:
        return list(range(size))
    if not 1 <= sentences <= size:
        raise UsageError(f"--sentences {sentences}: is not from 1 to the text's {size} sentences.")
    return sorted(random.Random(1).sample(range(size), sentences))


def _flags(run: TrainedRun) -> list[str]:
    """Returns the command line of ``fairseq-generate`` for a run."""
    # this task loads every translation model of the package, and has every hook for decoding
    flags = [str(run.data), "--path", str(run.checkpoint), "--task", "translation_dc_nmt"]
    for side in ("source", "target"):
        if run.task.get(f"{side}_lang"):
            flags += [f"--{side}-lang", run.task[f"{side}_lang"]]
    return flags
