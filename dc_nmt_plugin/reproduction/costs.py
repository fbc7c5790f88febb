"""The cost of training runs: updates, tokens, parameters, disk space, hours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ..errors import UserError
from ..papers.described_run import flags_of
from ..papers.effective_settings import model_settings
from ..recipes.recipe import load
from ..recipes.settings import settings_of, with_updates
from ..recipes.text import COPIES, expectation
from ..typed_files import read_yaml
from .system import NeededTraining

MODELS = Path(__file__).with_name("models.yaml")
RATES = Path(__file__).with_name("costs.yaml")
_STATES = 3  # numbers of a checkpoint for each parameter: the weight and two of the optimizer
_BYTES = 4
_BESIDE = 2  # checkpoints beside the averaged ones: the best and the last
_LAYERS = 8  # of the models whose operations are counted


@dataclass(kw_only=True)
class Kind:
    """The measured speed of one kind of architecture.

    Attributes:
        tokens_per_second: target tokens of a small model in training
        used: parameters that this model uses for a token
        operations: of one update, with 8 layers
    """

    tokens_per_second: float
    used: int
    operations: int


@dataclass(kw_only=True)
class Rates:
    """The content of ``costs.yaml``."""

    cpu: str
    cpu_command: str
    kinds: dict[str, Kind]
    alike: dict[str, str]
    widths_command: str
    widths: dict[str, float]
    gpu: str
    gpu_peak: float
    gpu_share: float
    gpu_operation: float
    operations_command: str


@dataclass(kw_only=True)
class Size:
    """Parameters of a model, and those used for a token."""

    parameters: int
    used: int


@dataclass(kw_only=True)
class Models:
    """The content of ``models.yaml``: training run → size of its model."""

    models: dict[str, Size]


@dataclass(frozen=True)
class Cost:
    """The cost of training runs.

    Attributes:
        runs: how many
        updates, tokens: of all runs; tokens with padding
        parameters: of the largest model
        disk: bytes of text, and of the checkpoints of all runs
        cpu_hours, gpu_hours: of all runs, on the machines of ``costs.yaml``
    """

    runs: int = 0
    updates: int = 0
    tokens: int = 0
    parameters: int = 0
    disk: int = 0
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.runs + other.runs,
            self.updates + other.updates,
            self.tokens + other.tokens,
            max(self.parameters, other.parameters),
            self.disk + other.disk,
            self.cpu_hours + other.cpu_hours,
            self.gpu_hours + other.gpu_hours,
        )

    def times(self, seeds: int) -> Cost:
        """Returns the cost of as many runs each."""
        more = {name: getattr(self, name) * seeds for name in vars(self) if name != "parameters"}
        return replace(self, **more)


@cache
def rates() -> Rates:
    """Returns the rates of ``costs.yaml``."""
    return read_yaml(RATES, Rates)


@cache
def _sizes() -> dict[str, Size]:
    return read_yaml(MODELS, Models).models


@cache
def cost_of(training: NeededTraining, max_update: int | None = None) -> Cost:
    """Returns the cost of one run of one seed, without its text.

    Raises:
        UserError: the run's model is not in ``models.yaml``
    """
    settings = settings_of(load(training.task), training.arch, like=training.like)
    if max_update:
        settings = with_updates(settings, max_update, None)
    size = _sizes().get(str(training))
    if size is None:
        raise UserError(f"{MODELS}: has no {training}; scripts/count_models.py writes it")
    known, kind = rates(), kind_of(training.arch)
    model = model_settings(
        training.arch, flags_of(training.arch, [*settings.flags, *training.flags])
    )
    width = model.get("decoder_embed_dim") or model["hidden_dim"]
    faster = max((factor for at, factor in known.widths.items() if int(at) <= width), default=1.0)
    tokens = settings.updates * settings.tokens
    operations = 6 * size.used * tokens
    layers = (model.get("encoder_layers", _LAYERS) + model.get("decoder_layers", 0)) / _LAYERS
    on_gpu = max(
        operations / (known.gpu_peak * known.gpu_share),
        settings.updates * kind.operations * layers * known.gpu_operation,
    )
    checkpoints = (settings.average or 1) + _BESIDE
    return Cost(
        1,
        settings.updates,
        tokens,
        size.parameters,
        size.parameters * _BYTES * (checkpoints * _STATES + 1),
        operations / (6 * kind.used * kind.tokens_per_second * faster) / 3600,
        on_gpu / 3600,
    )


def kind_of(arch: str) -> Kind:
    """Returns the kind of an architecture: of the longest name that it begins with."""
    known = rates()
    names = [name for name in (*known.kinds, *known.alike) if f"{arch}_".startswith(f"{name}_")]
    name = max(names, key=len)
    return known.kinds[known.alike.get(name, name)]


def cost_of_text(task: str) -> Cost:
    """Returns the disk space of a task's text: fetched files, and all prepared forms."""
    recipe = load(task)
    fetched = sum(file.bytes or 0 for file in recipe.task.files.values())
    known = sum(part.lines or 0 for part in recipe.split_parts("train"))
    pairs = expectation(recipe, "train")[0] or known
    return Cost(disk=fetched + COPIES * pairs * recipe.task.pair_bytes)


def cost_of_runs(
    needed: Iterable[NeededTraining], seeds: int = 1, max_update: int | None = None
) -> Cost:
    """Returns the cost of training runs, each once for a seed, and of their texts."""
    runs = dict.fromkeys(needed)
    texts = {load(run.task).folder: run.task for run in runs}
    of_runs = sum((cost_of(run, max_update) for run in runs), Cost())
    return sum(map(cost_of_text, texts.values()), of_runs.times(seeds))
