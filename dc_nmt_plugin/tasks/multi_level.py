"""The task of models with auxiliary decoders: which decoder translates, and BLEU of each."""

# fairseq reads the fields' types at run time: no postponed annotations here.
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fairseq.tasks import register_task

from ..errors import ConfigError
from ..modules.auxiliary_fusion import AuxiliaryFusion
from .decoder_bleu import bleu_statistics, log_bleu
from .run_checks import refuse_in_training
from .translation import JointTranslationTask, TranslationConfig

MAIN = "main"


@dataclass
class MultiLevelConfig(TranslationConfig):
    """Flags of ``transformer_ms_aux``."""

    decode_with: str = field(
        default=MAIN,
        metadata={"help": "decoder to translate with: main, or aux:1 for the one on layer 1"},
    )
    no_aux_fusion: bool = field(
        default=False,
        metadata={"help": "decode with all fusion weights as zero (the thesis's ind-decoder)"},
    )
    eval_bleu_decoders: str = field(
        default=MAIN,
        metadata={
            "help": "decoders that --eval-bleu translates with, such as main,aux:1; the main "
            "decoder's score is logged as bleu, another's as bleu_aux1"
        },
    )


@register_task("transformer_ms_aux", dataclass=MultiLevelConfig)
class TransformerMultiLevelTask(JointTranslationTask):
    """Translation with auxiliary decoders."""

    cfg: MultiLevelConfig

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """
        Raises:
            ConfigError: a decoder of ``--eval-bleu-decoders`` that this model does not have; flags
                for decoding in training
        """
        if not from_checkpoint:
            decoder = None if self.cfg.decode_with == MAIN else self.cfg.decode_with
            refuse_in_training(decode_with=decoder, no_aux_fusion=self.cfg.no_aux_fusion)
        model = super().build_model(cfg, from_checkpoint)
        self._bleu_layers = self._layers_for_bleu(model)
        return model

    def _layers_for_bleu(self, model: Any) -> list[int]:
        """Encoder layers of the auxiliary decoders that ``--eval-bleu`` translates with."""
        text, choices = self.cfg.eval_bleu_decoders, _decoders(model)
        names = [name.strip() for name in text.split(",")]
        problems = [
            f"--eval-bleu-decoders: {name!r} is not one of {', '.join(choices)} (the decoders of "
            "this model)."
            for name in names
            if name not in choices
        ]
        if MAIN not in names:
            problems.append(
                f"--eval-bleu-decoders: {text!r} leaves out main, whose BLEU chooses checkpoints."
            )
        if names != [MAIN] and not self.cfg.eval_bleu:
            problems.append(f"--eval-bleu-decoders: {text!r} needs --eval-bleu.")
        if problems:
            raise ConfigError(problems)
        return sorted({layer for name in names if (layer := choices[name]) is not None})

    def valid_step(self, sample: Any, model: Any, criterion: Any) -> Any:
        """fairseq's, with BLEU of the main decoder; then BLEU of each auxiliary one asked for."""
        loss, sample_size, log = super().valid_step(sample, model, criterion)
        if self.cfg.eval_bleu:
            for layer in self._bleu_layers:
                with _decoding_with(model, layer):
                    bleu = self._inference_with_bleu(self.sequence_generator, sample, model)
                log.update(bleu_statistics(f"bleu_aux{layer}", bleu))
        return loss, sample_size, log

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        """fairseq's; then ``bleu_aux1`` and so on."""
        super().reduce_metrics(logging_outputs, criterion)
        if self.cfg.eval_bleu:
            for layer in self._bleu_layers:
                log_bleu(f"bleu_aux{layer}", logging_outputs)

    def build_generator(self, models: list[Any], args: Any, *more: Any, **kwargs: Any) -> Any:
        """Choose the decoder in every model, then build the generator."""
        for model in models:
            choices = _decoders(model)
            if self.cfg.decode_with not in choices:
                raise ConfigError(
                    [
                        f"--decode-with: {self.cfg.decode_with!r} is not one of "
                        f"{', '.join(choices)} (the decoders of this model)."
                    ]
                )
            if len(choices) > 1:
                model.decoder.decode_with = choices[self.cfg.decode_with]
            self._choose_fusion(model)
        return super().build_generator(models, args, *more, **kwargs)

    def _choose_fusion(self, model: Any) -> None:
        if not self.cfg.no_aux_fusion:
            return
        if not getattr(model.decoder, "fusion", False):
            raise ConfigError(["--no-aux-fusion: this model was trained without --aux-fusion."])
        model.decoder.fusion = False
        for module in model.decoder.modules():
            if isinstance(module, AuxiliaryFusion):
                module.enabled = False


def _decoders(model: Any) -> dict[str, int | None]:
    """Name of each decoder → the encoder layer that it is attached to; None for the main one."""
    auxiliary = sorted(int(key) for key in getattr(model.decoder, "auxiliary", ()))
    return {MAIN: None, **{f"aux:{layer}": layer for layer in auxiliary}}


@contextmanager
def _decoding_with(model: Any, layer: int) -> Iterator[None]:
    """Inside, the auxiliary decoder on encoder layer `layer` translates."""
    decoder = model.decoder
    before = decoder.decode_with
    decoder.decode_with = layer
    try:
        yield
    finally:
        decoder.decode_with = before
