"""The translation task of all architectures, with every flag for decoding."""

# fairseq reads the fields' types at run time: no postponed annotations here.
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, cast

import sacrebleu
import torch
from fairseq.data import Dictionary
from fairseq.logging import metrics
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig as FairseqTranslationConfig
from fairseq.tasks.translation import TranslationTask as FairseqTranslationTask
from fairseq.utils import strip_pad
from sacrebleu.metrics import BLEU
from torch import Tensor

from ..errors import ConfigError, check_choices
from ..flags import PUBLISHED
from ..speed.beam_search import BeamSearchGenerator, RepeatBlocker
from ..speed.graphed_training import GraphedTraining, refuse_what_cannot_be_recorded
from ..text.languages import bleu_tokenizer, known_as
from ..text.segmentation import SENTENCEPIECE
from .decoding import MAIN, WuLengthPenalty, apply_decoding_flags, decoder_layer

logger = logging.getLogger(__name__)

ORDER = 4  # longest n-gram of BLEU


def _flag(default: Any, about: str) -> Any:
    return field(default=default, metadata={"help": about})


@dataclass
class TranslationConfig(FairseqTranslationConfig):
    """Flags of fairseq's translation task, and this plugin's flags."""

    length_penalty: str = _flag(
        "fairseq",
        "how --lenpen normalises scores: fairseq divides by |Y|^lenpen, "
        "wu by ((5+|Y|)/6)^lenpen (Wu et al. 2016), as the papers do",
    )
    mask_source_layers: Optional[str] = _flag(
        None,
        "decode with the outputs of these encoder layers (1 = lowest), such as 3,5, "
        "replaced by zeros wherever the main decoder reads them (thesis 3.5.4)",
    )
    decode_with: str = _flag(
        MAIN, "decoder to translate with: main, or aux:1 for the one on layer 1"
    )
    no_aux_fusion: bool = _flag(
        False, "decode with all fusion weights as zero (the thesis's ind-decoder)"
    )
    eval_bleu_decoders: str = _flag(
        MAIN,
        "decoders that --eval-bleu translates with, such as main,aux:1; the main "
        "decoder's score is logged as bleu, another's as bleu_aux1",
    )
    cuda_graphs: bool = _flag(
        False,
        "train on one GPU with the operations of each batch recorded once and then started "
        "together: faster for small models; this plugin's Transformers, float32 or --bf16",
    )


class SentenceDictionary(Dictionary):
    """fairseq's dictionary, which reads the numbers of a sentence from a GPU all at once.

    fairseq reads them one by one, with six operations each: fairseq-generate and --eval-bleu wait
    for a GPU that often. Nor does fairseq join sentencepiece's bytes to characters.
    """

    def string(self, tensor: Any, bpe_symbol: Any = None, *args: Any, **kwargs: Any) -> str:
        if torch.is_tensor(tensor) and tensor.dim() == 2:  # one sentence after the other
            return cast(str, super().string(tensor, bpe_symbol, *args, **kwargs))
        if torch.is_tensor(tensor):
            tensor = tensor.tolist()
        joins_pieces = bpe_symbol == SENTENCEPIECE.joined_by
        text = super().string(tensor, None if joins_pieces else bpe_symbol, *args, **kwargs)
        return SENTENCEPIECE.join(text) if joins_pieces else cast(str, text)


@register_task("translation_dc_nmt", dataclass=TranslationConfig)
class JointTranslationTask(FairseqTranslationTask):
    """fairseq's translation task with new batches in every epoch and a choice of length penalty.

    Decodes with parts of a model on request: another decoder, no fusion, masked source layers.
    """

    cfg: TranslationConfig
    bleu_layers: Sequence[int] = ()  # of the auxiliary decoders in --eval-bleu-decoders
    _graphed: GraphedTraining | None = None  # with --cuda-graphs

    @classmethod
    def load_dictionary(cls, filename: str) -> SentenceDictionary:
        """Loads the dictionary of a language from a file."""
        return cast(SentenceDictionary, SentenceDictionary.load(filename))

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """Builds the model. Applies decoding flags to a trained one; refuses them in training.

        Raises:
            UserError: an unknown ``--length-penalty``, decoding flags in training, or a flag that
                names a missing part, such as a decoder in ``--eval-bleu-decoders``
        """
        check_choices("--length-penalty", [self.cfg.length_penalty], ("fairseq", "wu"))
        changes = {
            "--mask-source-layers": self.cfg.mask_source_layers,
            "--decode-with": self.cfg.decode_with != MAIN,
            "--no-aux-fusion": self.cfg.no_aux_fusion,
        }
        flags = ", ".join(flag for flag, changed in changes.items() if changed)
        if flags and not from_checkpoint:
            # they would change training, or what --eval-bleu measures
            raise ConfigError(f"{flags}: for decoding a trained model, not for training.")
        names = [name.strip() for name in self.cfg.eval_bleu_decoders.split(",")]
        if names != [MAIN] and not self.cfg.eval_bleu:
            raise ConfigError("--eval-bleu-decoders: needs --eval-bleu.")
        model = super().build_model(cfg, from_checkpoint)
        apply_decoding_flags(model, self.cfg)
        layers = {decoder_layer(model, name, "--eval-bleu-decoders") for name in names}
        self.bleu_layers = sorted(layer for layer in layers if layer is not None)
        return model

    def check_training(self, trainer: Any) -> None:
        """Refuses, before a training run begins, settings that contradict the task's.

        Raises:
            ConfigError: ``--cuda-graphs`` with something that a graph cannot do
        """
        if self.cfg.cuda_graphs:
            refuse_what_cannot_be_recorded(trainer)

    def train_step(
        self, sample: Any, model: Any, criterion: Any, optimizer: Any, update_num: int, **more: Any
    ) -> Any:
        """Runs forward and backward pass; with ``--cuda-graphs`` as a graph."""
        # hooks, such as fairseq's that look for NaN, do not run in a graph
        if not self.cfg.cuda_graphs or more.get("ignore_grad") or model._forward_hooks:
            return super().train_step(sample, model, criterion, optimizer, update_num, **more)
        if self._graphed is None:
            self._graphed = GraphedTraining(self, model, criterion, optimizer)
        model.set_num_updates(update_num)
        return self._graphed.step(sample)

    def can_reuse_epoch_itr(self, dataset: Any) -> bool:
        # A reused iterator repeats the batches of the first epoch. A continued run makes batches
        # for its current epoch, and would train on others than an uninterrupted run.
        return False

    def valid_step(self, sample: Any, model: Any, criterion: Any) -> Any:
        """Validates as fairseq with the main decoder, then adds BLEU of auxiliary decoders.

        Raises:
            ConfigError: ``--decode-with`` selects another decoder
        """
        if self.cfg.decode_with != MAIN:
            raise ConfigError("--decode-with: is for translating; see --eval-bleu-decoders.")
        loss, sample_size, log = super().valid_step(sample, model, criterion)
        for layer in self.bleu_layers:
            model.decoder.decode_with = layer
            bleu = self._inference_with_bleu(self.sequence_generator, sample, model)
            model.decoder.decode_with = None
            log.update(bleu_statistics(f"bleu_aux{layer}", bleu))
        return loss, sample_size, log

    def _inference_with_bleu(self, generator: Any, sample: Any, model: Any) -> Any:
        """Translates a validation batch as fairseq, and scores it by the language's tokeniser.

        fairseq leaves the tokeniser to sacreBLEU, which takes 13a. By 13a, Chinese has a BLEU near
        0.
        """
        found = self.inference_step(generator, [model], sample, prefix_tokens=None)
        hypotheses = [
            self._text(sentence[0]["tokens"], unknown="UNKNOWNTOKENINHYP") for sentence in found
        ]
        # another word than in hypotheses, so that unknown words do not match
        references = [
            self._text(strip_pad(target, self.tgt_dict.pad()), unknown="UNKNOWNTOKENINREF")
            for target in sample["target"]
        ]
        if self.cfg.eval_bleu_print_samples:
            logger.info("example hypothesis: " + hypotheses[0])
            logger.info("example reference: " + references[0])
        tokenizer = "none"
        if not self.cfg.eval_tokenized_bleu:
            tokenizer = bleu_tokenizer(known_as(self.cfg.target_lang), self.tgt_dict.symbols)
        return sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokenizer, force=True)

    def _text(self, tokens: Tensor, unknown: str) -> str:
        text = self.tgt_dict.string(
            tokens.int().cpu(), self.cfg.eval_bleu_remove_bpe, unk_string=unknown
        )
        return self.tokenizer.decode(text) if self.tokenizer else text

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        """Logs fairseq's metrics, then ``bleu_aux1`` and so on."""
        super().reduce_metrics(logging_outputs, criterion)
        for layer in self.bleu_layers:
            log_bleu(f"bleu_aux{layer}", logging_outputs)

    def build_generator(
        self, models: list[Any], args: Any, seq_gen_cls: Any = None, *more: Any, **kwargs: Any
    ) -> Any:
        """Builds our generator, or fairseq's for alignments, with the chosen length penalty."""
        if seq_gen_cls is None and not getattr(args, "print_alignment", False):
            seq_gen_cls = BeamSearchGenerator
        generator = super().build_generator(models, args, seq_gen_cls, *more, **kwargs)
        if self.cfg.length_penalty == "wu" and hasattr(generator, "len_penalty"):
            generator.len_penalty = WuLengthPenalty(generator.len_penalty)
        if getattr(generator, "repeat_ngram_blocker", None) is not None:
            generator.repeat_ngram_blocker = RepeatBlocker(args.no_repeat_ngram_size)
        return generator


for _name in PUBLISHED:  # fairseq wants a class for each name
    register_task(_name, dataclass=TranslationConfig)(
        type(f"JointTranslationTask_{_name}", (JointTranslationTask,), {})
    )


# -- BLEU on validation, of every decoder, summed over batches and workers as in fairseq ----------


def bleu_statistics(name: str, bleu: Any) -> dict[str, int]:
    """Returns what is summed over batches for the score `name`, such as ``bleu_aux1``."""
    values = (*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len)
    return {f"_{name}_{number}": value for number, value in enumerate(values)}


def log_bleu(name: str, logging_outputs: list[dict[str, Any]]) -> None:
    """Logs the score `name` of all batches and workers; does nothing in training."""
    keys = [f"_{name}_{number}" for number in range(2 * ORDER + 2)]
    if not any(keys[0] in log for log in logging_outputs):
        return
    for key in keys:
        metrics.log_scalar(key, float(sum(log.get(key, 0) for log in logging_outputs)))

    def score(meters: Any) -> float:
        *counts, length, reference_length = (int(meters[key].sum) for key in keys)
        bleu = BLEU.compute_bleu(
            counts[:ORDER], counts[ORDER:], length, reference_length, smooth_method="exp"
        )
        return float(round(bleu.score, 2))

    metrics.log_derived(name, score)
