"""Measured subjects: a model with criterion and optimizer, or with beam search."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.models.transformer import TransformerConfig as StockConfig
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.optim.adam import FairseqAdam
from fairseq.sequence_generator import SequenceGenerator

from ..allocator import keep_freed_memory
from ..checkpoints.names import CHECKPOINTS, of_run
from ..criterions.joint_loss import JointLossCriterion
from ..errors import UsageError, UserError, check_architectures
from ..flags import as_flags
from ..models.options import defaults, read_config
from ..models.presets import Architecture, architectures
from ..models.presets.family import STOCK as FAIRSEQ
from ..models.registry import MODELS
from ..models.transformer.config import TransformerConfig
from ..modules.feed_forward import GATED
from ..papers.described_run import flags_of, model_flags
from ..runs.records import record_of
from ..runs.schema import RECORD
from ..tasks.beam_search import BeamSearchGenerator
from ..tasks.fused_adam import step_fused
from ..tasks.int8 import use_int8
from ..tasks.onednn_layers import onednn_layers
from . import PYTORCH, STOCK
from .profiling import optimizing
from .pytorch_gru import with_pytorch_cells

_ADAM = argparse.Namespace(
    lr=[1e-5], adam_betas="(0.9, 0.98)", adam_eps=1e-8, weight_decay=0.0, fp16_adam_stats=False
)
_POSITIONS = ("max_source_positions", "max_target_positions")
LABEL_SMOOTHING = 0.1
CLIP_NORM = 1.0
Sample = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """Settings of a measurement.

    Attributes:
        device: "cpu" or "cuda"
        precision: "float32" or "bfloat16" (autocast)
        beam: hypotheses a sentence
        length: tokens that every hypothesis is forced to have
        int8: decode with 8-bit layers
    """

    device: str
    precision: str
    beam: int
    length: int
    int8: bool = False

    def autocast(self) -> Any:
        return torch.autocast(
            self.device, dtype=torch.bfloat16, enabled=self.precision == "bfloat16"
        )


def subject(name: str) -> Architecture:
    """Returns an architecture or the model of a run, with the model flags after its name.

    Args:
        name: such as ``transformer_mlmha --source-layers 3``, or a run's folder (``./NAME`` where
            it is called as an architecture is)

    Raises:
        UserError: no such architecture or flag, or flags that contradict each other; a run of
            fairseq's own architecture
    """
    first, *words = shlex.split(name)
    known, arch = architectures(), first
    trained: dict[str, Any] = {}
    if _is_folder(first):
        arch, trained = _model_of_run(Path(first))
    check_architectures([arch], known)
    settings = {**known[arch].settings, **trained, **model_flags(arch, words)}
    return replace(known[arch], settings=settings)


def training_flags(name: str, like: str) -> list[str]:
    """Returns architecture, task, criterion and size of a subject as flags of ``fairseq-train``.

    Args:
        name: an architecture, the folder of a run, or ``stock``
        like: the architecture whose size ``stock`` takes
    """
    if name == STOCK:
        sizes = {k: v for k, v in stock_settings(like).items() if v not in (None, False)}
        parts = (FAIRSEQ.name, "translation", FAIRSEQ.criterion)
        rest = as_flags(sizes)
    else:
        first, *words = shlex.split(name)
        arch, trained = _model_of_run(Path(first)) if _is_folder(first) else (first, {})
        family = subject(name).family
        parts, rest = (arch, family.task, family.criterion), [*as_flags(trained), *words]
    flags = zip(("--arch", "--task", "--criterion"), parts, strict=True)
    return [*(word for flag in flags for word in flag), *rest]


def checkpoint_of(name: str) -> Path | None:
    """Returns the checkpoint of a run; None for an architecture or a baseline.

    Raises:
        UserError: the run has no checkpoint
    """
    first = shlex.split(name)[0]
    if not _is_folder(first):
        return None
    found = of_run(Path(first))
    if found is None:
        raise UserError(f"{first}: has no checkpoint ({', '.join(CHECKPOINTS)}).")
    return found


def system_of(name: str) -> str | None:
    """Returns the system of a measured run; None for an architecture or a baseline."""
    first = shlex.split(name)[0]
    record = record_of(Path(first)) if _is_folder(first) else None
    return record.system if record else None


def _is_folder(first: str) -> bool:
    return first not in architectures() and Path(first).is_dir()


def language_model_problem(name: str, advice: str) -> str | None:
    """Returns a sentence that ends with `advice` for a language model, else None.

    Raises:
        UserError: it is no subject
    """
    if subject(name).family.task != "language_modeling":
        return None
    return f"{name}: is a language model; {advice}."


def _model_of_run(folder: Path) -> tuple[str, dict[str, Any]]:
    """Returns architecture and settings of a run's record."""
    record = record_of(folder)
    arch = record.architecture if record else None
    if record is None or arch is None:
        raise UserError(f"{folder}: is no run's folder: there is no {RECORD} with an architecture.")
    if arch == FAIRSEQ.name:
        raise UserError(f"{folder}: is of fairseq's own transformer, the baseline 'stock'.")
    return arch, flags_of(arch, as_flags(record.settings))


def stock_settings(like: str) -> dict[str, Any]:
    """Returns flags of fairseq's ``transformer`` at the size of `like`.

    Raises:
        UserError: `like` is no Transformer
    """
    architecture = subject(like)
    if architecture.config is not TransformerConfig:
        raise UsageError(
            f"--against stock: {like} is no Transformer, so fairseq's transformer has no same "
            "size; name an architecture to compare with, or, for a recurrent one, 'pytorch'."
        )
    shared = set(defaults(TransformerConfig)) & {*vars(_stock_defaults()), *_POSITIONS}
    settings = {name: value for name, value in architecture.settings.items() if name in shared}
    if settings.get("activation_fn") in GATED:  # which fairseq lacks; its own is of the same size
        del settings["activation_fn"]
    return settings


def _stock_defaults() -> argparse.Namespace:
    args = argparse.Namespace()
    base_architecture(args)
    return args


def with_flags(name: str, flags: str) -> str:
    """Returns a subject with additional model flags."""
    # the baselines are as large as the first architecture
    return name if name in (STOCK, PYTORCH) else f"{name} {flags}".strip()


def with_positions(name: str, length: int) -> str:
    """Returns a subject with positions for sentences of that many tokens."""
    if name in (STOCK, PYTORCH):
        return name
    known = defaults(subject(name).config)
    most = 2 * length + 2  # random sentences are up to a fifth longer
    short = [setting for setting in _POSITIONS if most > (known.get(setting) or math.inf)]
    return with_flags(name, " ".join(as_flags(dict.fromkeys(short, most))))


def build_model(name: str, like: str, task: Any) -> torch.nn.Module:
    """Builds an architecture of this package, or the baseline of `like`.

    The baseline is fairseq's ``transformer`` of the same size (``stock``), or the same recurrent
    model made of PyTorch's cells (``pytorch``).
    """
    torch.manual_seed(1)
    if name == PYTORCH:
        return with_pytorch_cells(build_model(like, like, task), like)
    if name != STOCK:
        own = subject(name)
        values = {**defaults(own.config), **own.settings}
        model: torch.nn.Module = MODELS[own.model].build_model(
            read_config(argparse.Namespace(**values), own.config), task
        )
        return model
    args = argparse.Namespace(**stock_settings(like))
    base_architecture(args)
    stock: torch.nn.Module = TransformerModel.build_model(StockConfig.from_namespace(args), task)
    return stock


def build_criterion(name: str, task: Any) -> Any:
    """Builds the criterion of the model: fairseq's for fairseq's model, else this plugin's."""
    if name == STOCK:
        return LabelSmoothedCrossEntropyCriterion(task, False, LABEL_SMOOTHING)
    return JointLossCriterion(task, False, LABEL_SMOOTHING)


def set_allocator(name: str, device: str) -> None:
    """Sets the allocator of this process as fairseq's commands for the subject do.

    On the CPU ``--user-dir`` sets the allocator, which fairseq by itself leaves alone.
    """
    if device == "cpu" and name != STOCK:
        keep_freed_memory()


def training_step(name: str, like: str, task: Any, setting: Setting) -> Callable[[Sample], None]:
    """Returns a function that makes one update as ``fairseq-train --optimizer adam`` does.

    Each with its own task's steps: fairseq's translation task, or this plugin's.
    """
    model = build_model(name, like, task).to(setting.device).train()
    criterion = build_criterion(name, task)
    optimizer = FairseqAdam(_ADAM, [p for p in model.parameters() if p.requires_grad])

    def step(sample: Sample) -> None:
        with setting.autocast(), onednn_layers([] if name == STOCK else [model]):
            loss, size, _ = criterion(model, sample)
        loss.backward()
        with optimizing():
            optimizer.multiply_grads(1 / size)
            optimizer.clip_grad_norm(CLIP_NORM)
            if name == STOCK or not step_fused(optimizer):
                optimizer.step()
            optimizer.zero_grad()

    return step


def validation_step(name: str, like: str, task: Any, setting: Setting) -> Callable[[Sample], None]:
    """Returns a function that computes the loss of a batch as validation does, with diagnostics."""
    model = build_model(name, like, task).to(setting.device).eval()
    criterion = build_criterion(name, task)

    def step(sample: Sample) -> None:
        with torch.no_grad(), setting.autocast():
            criterion(model, sample)

    return step


def decoding_step(name: str, like: str, task: Any, setting: Setting) -> Callable[[Sample], None]:
    """Returns a function that translates a batch by beam search, with hypotheses of equal length.

    An untrained model never ends a sentence. So lengths are forced, and every subject makes the
    same number of steps.
    """
    model: Any = build_model(name, like, task).to(setting.device).eval()
    model.make_generation_fast_(need_attn=False)
    if setting.int8:
        use_int8(model)
    generator_class = SequenceGenerator if name == STOCK else BeamSearchGenerator
    generator = generator_class(
        [model],
        task.target_dictionary,
        beam_size=setting.beam,
        max_len_b=setting.length,
        min_len=setting.length,
    )

    def step(sample: Sample) -> None:
        with torch.no_grad(), setting.autocast():
            generator.generate([model], sample)

    return step
