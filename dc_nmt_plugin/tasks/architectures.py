"""One task for each architecture: the shared translation task and the paper's hooks."""

# fairseq reads the fields' types at run time: no postponed annotations here.
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq.tasks import register_task

from ..errors import ConfigError
from ..modules.auxiliary_fusion import AuxiliaryFusion
from .translation import JointTranslationTask, TranslationConfig


@register_task("transformer_dc", dataclass=TranslationConfig)
class TransformerDCTask(JointTranslationTask):
    """Translation with dual-contextual models."""


@register_task("transformer_ctxaware", dataclass=TranslationConfig)
class TransformerContextAwareTask(JointTranslationTask):
    """Translation with context-aware models."""


@register_task("transformer_cross_agg", dataclass=TranslationConfig)
class TransformerCrossAggregationTask(JointTranslationTask):
    """Translation with cross-aggregation models."""


@register_task("gru_selfattn_residual", dataclass=TranslationConfig)
class SelfAttentiveResidualTask(JointTranslationTask):
    """Translation with self-attentive residual decoders."""


@dataclass
class MultiLayerConfig(TranslationConfig):
    """Flags of ``transformer_mlmha``."""

    mask_source_layers: Optional[str] = field(
        default=None,
        metadata={
            "help": "decode with the outputs of these encoder layers (1 = lowest), such as 3,5, "
            "replaced by zeros wherever the main decoder reads them (thesis 3.5.4)"
        },
    )


@register_task("transformer_mlmha", dataclass=MultiLayerConfig)
class TransformerMultiLayerTask(JointTranslationTask):
    """Translation with models that attend to several encoder layers."""

    cfg: MultiLayerConfig

    def build_generator(self, models: list[Any], args: Any, *more: Any, **kwargs: Any) -> Any:
        """Mask source layers in every model, then build the generator."""
        if self.cfg.mask_source_layers:
            layers = _numbers("--mask-source-layers", self.cfg.mask_source_layers)
            for model in models:
                known = getattr(model.encoder, "source_layers", None)
                if known is None or not layers <= set(known):
                    raise ConfigError(
                        [
                            f"--mask-source-layers: {self.cfg.mask_source_layers!r} must be among "
                            f"the encoder layers that the decoder reads, {known or 'unknown here'}."
                        ]
                    )
                model.encoder.masked_layers = layers
        return super().build_generator(models, args, *more, **kwargs)


@dataclass
class MultiLevelConfig(TranslationConfig):
    """Flags of ``transformer_ms_aux``."""

    decode_with: str = field(
        default="main",
        metadata={"help": "decoder to translate with: main, or aux:1 for the one on layer 1"},
    )
    no_aux_fusion: bool = field(
        default=False,
        metadata={"help": "decode with all fusion weights as zero (the thesis's ind-decoder)"},
    )


@register_task("transformer_ms_aux", dataclass=MultiLevelConfig)
class TransformerMultiLevelTask(JointTranslationTask):
    """Translation with auxiliary decoders."""

    cfg: MultiLevelConfig

    def build_generator(self, models: list[Any], args: Any, *more: Any, **kwargs: Any) -> Any:
        """Choose the decoder in every model, then build the generator."""
        for model in models:
            auxiliary = sorted(int(key) for key in getattr(model.decoder, "auxiliary", ()))
            choices = {"main": None, **{f"aux:{layer}": layer for layer in auxiliary}}
            if self.cfg.decode_with not in choices:
                raise ConfigError(
                    [
                        f"--decode-with: {self.cfg.decode_with!r} is not one of "
                        f"{', '.join(choices)} (the decoders of this model)."
                    ]
                )
            if auxiliary:
                model.decoder.decode_with = choices[self.cfg.decode_with]
                self._choose_fusion(model)
        return super().build_generator(models, args, *more, **kwargs)

    def _choose_fusion(self, model: Any) -> None:
        if not self.cfg.no_aux_fusion:
            return
        if not model.decoder.fusion:
            raise ConfigError(["--no-aux-fusion: this model was trained without --aux-fusion."])
        model.decoder.fusion = False
        for module in model.decoder.modules():
            if isinstance(module, AuxiliaryFusion):
                module.enabled = False


def _numbers(flag: str, text: str) -> frozenset[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise ConfigError([f"{flag}: {text!r} is not a list of layer numbers such as 3,5."])
    return frozenset(int(part) for part in parts)
