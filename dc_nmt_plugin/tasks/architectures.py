"""One task for each architecture: the shared translation task and the paper's hooks."""

# fairseq reads the fields' types at run time: no postponed annotations here.
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq.tasks import register_task

from ..errors import ConfigError
from .run_checks import refuse_in_training
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

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """
        Raises:
            ConfigError: ``--mask-source-layers`` in training
        """
        if not from_checkpoint:
            refuse_in_training(mask_source_layers=self.cfg.mask_source_layers)
        return super().build_model(cfg, from_checkpoint)

    def build_generator(self, models: list[Any], args: Any, *more: Any, **kwargs: Any) -> Any:
        """Mask source layers in every model, or none any more; then build the generator."""
        text = self.cfg.mask_source_layers
        layers = _numbers("--mask-source-layers", text) if text else frozenset()
        for model in models:
            known = getattr(model.encoder, "source_layers", None)
            if not layers <= set(known or ()):
                raise ConfigError(
                    [
                        f"--mask-source-layers: {text!r} must be among the encoder layers that "
                        f"the decoder reads, {known or 'unknown here'}."
                    ]
                )
            if known is not None:
                model.encoder.masked_layers = layers
        return super().build_generator(models, args, *more, **kwargs)


def _numbers(flag: str, text: str) -> frozenset[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() for part in parts):
        raise ConfigError([f"{flag}: {text!r} is not a list of layer numbers such as 3,5."])
    return frozenset(int(part) for part in parts)
