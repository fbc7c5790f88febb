"""The translation task of all architectures."""

# fairseq reads the fields' types at run time: no postponed annotations here.
from dataclasses import dataclass, field
from typing import Any

from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig as FairseqTranslationConfig
from fairseq.tasks.translation import TranslationTask as FairseqTranslationTask

from ..errors import ConfigError, choice_problem
from .length_penalty import WuLengthPenalty
from .run_checks import check_training_run

LENGTH_PENALTIES = ("fairseq", "wu")


@dataclass
class TranslationConfig(FairseqTranslationConfig):
    """fairseq's translation flags, and ours."""

    length_penalty: str = field(
        default="fairseq",
        metadata={
            "help": "how --lenpen normalises scores: fairseq divides by |Y|^lenpen, "
            "wu by ((5+|Y|)/6)^lenpen (Wu et al. 2016), as the papers do"
        },
    )


@register_task("translation_dc_nmt", dataclass=TranslationConfig)
class JointTranslationTask(FairseqTranslationTask):
    """fairseq's translation; batches are composed anew in every epoch, length penalty by choice."""

    cfg: TranslationConfig

    @classmethod
    def setup_task(cls, cfg: TranslationConfig, **kwargs: Any) -> "JointTranslationTask":
        """
        Raises:
            ConfigError: an unknown ``--length-penalty``
        """
        problem = choice_problem("--length-penalty", cfg.length_penalty, LENGTH_PENALTIES)
        if problem:
            raise ConfigError([problem])
        task: JointTranslationTask = super().setup_task(cfg, **kwargs)
        return task

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """Build the model; before a training, check that it can run and be saved."""
        if not from_checkpoint:
            check_training_run(cfg)
        return super().build_model(cfg, from_checkpoint)

    def can_reuse_epoch_itr(self, dataset: Any) -> bool:
        """Never: an iterator kept from the first epoch repeats that epoch's batches.

        A resumed run composes its batches from the epoch it is in, so with kept iterators it
        would train on other batches than an unbroken run.
        """
        return False

    def build_generator(
        self,
        models: list[Any],
        args: Any,
        seq_gen_cls: Any | None = None,
        extra_gen_cls_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """fairseq's generator with the chosen length penalty."""
        generator = super().build_generator(
            models, args, seq_gen_cls, extra_gen_cls_kwargs, **kwargs
        )
        if self.cfg.length_penalty == "wu" and hasattr(generator, "len_penalty"):
            generator.len_penalty = WuLengthPenalty(generator.len_penalty)
        return generator
