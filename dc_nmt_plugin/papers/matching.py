"""Finds the published numbers of a run: all settings that the number depends on agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..flags import listed
from .described_run import DescribedRun
from .effective_settings import model_settings
from .schema import MEASURES, SCORES, Entry

_TOKENS_TOLERANCE = 0.01  # batches of several GPUs are rounded
# a model has as many parameters with any of these
_NOT_OF_SIZE = {
    *("dropout", "attention_dropout", "activation_dropout", "dropout_after", "aux_weight"),
    *("encoder_layerdrop", "decoder_layerdrop", "weight_init", "output_bias_init", "activation_fn"),
    *("xagg_iterations", "xagg_init"),
}


@dataclass(frozen=True)
class Difference:
    """A setting in which a run differs from that of a published number.

    Attributes:
        name: such as ``model.dc_kernel_size``
        ours: value of the run
        published: value in the paper; a tuple when the paper is ambiguous
    """

    name: str
    ours: Any
    published: Any

    def __str__(self) -> str:
        return f"{self.name}: {_text(self.ours)}, published with {_text(self.published)}"


def settings_of(entry: Entry) -> dict[str, Any]:
    """Returns the settings that an entry fixes and its number depends on.

    Names are those of :meth:`DescribedRun.settings`. Empty for architectures of other authors.
    """
    fixed_by = MEASURES[entry.measure].fixed_by
    if entry.system.other or not fixed_by:
        return {}
    places = ("task", "direction", "subset", "part")
    found: dict[str, Any] = {name: getattr(entry, name) for name in places if name in fixed_by}
    found["of"] = entry.of
    if "model" in fixed_by:
        model: dict[str, Any] = model_settings(entry.system.arch, entry.system.flags)
        skip = _NOT_OF_SIZE if entry.measure == "params" else set()
        found.update((f"model.{name}", v) for name, v in model.items() if name not in skip)
    if "training" in fixed_by and entry.training is not None:
        found.update((f"training.{name}", v) for name, v in entry.training.fixed.items())
    if "decoding" in fixed_by:
        # what is not printed of the search is open; that nothing was masked or taken out is not
        whole = {"mask_source_layers": "", "no_aux_fusion": False}
        found.update((f"decoding.{name}", v) for name, v in {**whole, **entry.decoding}.items())
    return found


def differences(run: DescribedRun, measure: str, entry: Entry) -> list[Difference]:
    """Returns the differences between an entry and a run; empty if they match.

    Args:
        measure: what was measured of the run, a key of :data:`~.schema.MEASURES`
    """
    return _compare(run.settings(), measure, entry)


def _compare(ours: Mapping[str, Any], measure: str, entry: Entry) -> list[Difference]:
    found = [] if measure == entry.measure else [Difference("measure", measure, entry.measure)]
    published = settings_of(entry)
    if not published:
        return [*found, Difference("system", "a run", entry.system.other or "no run")]
    names = list(published)
    if "model.architecture" in published:
        skip = _NOT_OF_SIZE if entry.measure == "params" else set()
        names += [
            name
            for name in ours
            if name.startswith("model.") and name not in published and name[6:] not in skip
        ]
    sized = _of_size if entry.measure == "params" else lambda _, value: value
    return found + [
        Difference(name, ours.get(name), published.get(name))
        for name in names
        if not _same(name, sized(name, ours.get(name)), sized(name, published.get(name)))
    ]


def published_for(run: DescribedRun, measure: str, entries: Iterable[Entry]) -> list[Entry]:
    """Returns every entry that matches a run and has a value."""
    ours = run.settings()
    return [
        entry
        for entry in entries
        if entry.measure == measure
        and entry.value is not None
        and entry.task == run.task
        and not _compare(ours, measure, entry)
    ]


def nearest(
    run: DescribedRun, measure: str, entries: Iterable[Entry], count: int = 3
) -> list[tuple[Entry, list[Difference]]]:
    """Returns the entries of a run's task with the fewest differing settings, and these settings.

    Scores of other metrics are among them. The same number printed in several places is there once.
    """
    ours = run.settings()
    alike = SCORES if measure in SCORES else (measure,)
    unique: dict[tuple[object, ...], tuple[Entry, list[Difference]]] = {}
    for entry in entries:
        if entry.task == run.task and entry.measure in alike and entry.value is not None:
            why = _compare(ours, measure, entry)
            unique.setdefault((entry.value, *map(str, why)), (entry, why))
    return sorted(unique.values(), key=lambda pair: len(pair[1]))[:count]


def subtract(value: float, measure: str, entry: Entry) -> Decimal | None:
    """Returns measured minus published value, with its decimals; None for different measures."""
    if measure != entry.measure or entry.value is None:
        return None
    return (Decimal(str(value)) - entry.value).quantize(entry.value)


def _of_size(name: str, value: Any) -> Any:
    """Returns the part of a setting that the number of parameters depends on."""
    if name == "model.aux_layers" and isinstance(value, str):
        return len(listed(value))  # any layers: their decoders are equally large
    return value


def _same(name: str, ours: Any, published: Any) -> bool:
    if ours is None or published is None:
        return ours is published
    if name == "training.tokens":
        return abs(float(ours) - float(published)) <= _TOKENS_TOLERANCE * float(published)
    return bool(ours == published)


def _text(value: Any) -> str:
    return "nothing" if value is None or value == "" else str(value)
