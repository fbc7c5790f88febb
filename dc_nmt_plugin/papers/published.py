"""The published number that stands beside a run of the same task, architecture and metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..flags import as_flags
from .register import read_register, task_named
from .schema import Entry


@dataclass(frozen=True)
class Published:
    """A published number, and the settings in which the run beside it differs.

    Attributes:
        value: as printed, with its decimals
        place: such as ``thesis, Table 3.2``, with other printed values of the same number
        differs: a sentence with the settings that differ; "" without a difference
    """

    value: Decimal
    place: str
    differs: str


def published_number(
    task: str,
    architecture: str,
    metric: str,
    settings: Mapping[str, Any],
    search: Mapping[str, Any] | None = None,
    subset: str = "test",
) -> Published | None:
    """Returns the number that the papers print for a run; None if they print none.

    The task, the architecture with its size, the decoder, masked layers, the test set and the
    metric are the same. Of several such numbers, the one with the fewest settings that differ.

    Args:
        task: name of the recipe, such as ``iwslt15_vi_en``
        architecture: value of ``--arch``
        metric: such as ``mteval-v13a``; ``params`` for millions of parameters
        settings: of ``fairseq-train``, by flag without dashes, as in ``run.json``
        search: of ``fairseq-generate``, in the same form
        subset: the translated set
    """
    known = task_named(task)
    candidates = [
        entry
        for document in (read_register() if known else ())
        for entry in document.entries
        if entry.value is not None
        and entry.measure == metric
        and entry.system.arch == architecture
        and (entry.task, entry.direction) == known
        and (metric == "params" or _same_decoding(entry, search or {}, subset))
    ]
    if known is None or not candidates:
        return None
    if not settings:
        return _published(candidates[0], candidates, "the settings of the run are unknown")
    from .described_run import DescribedRun
    from .matching import differences

    run = DescribedRun.of_commands(*known, as_flags(settings), as_flags(search or {}), subset)
    compared = [(entry, list(map(str, differences(run, metric, entry)))) for entry in candidates]
    nearest, differing = min(compared, key=lambda pair: len(pair[1]))
    same = [entry for entry, others in compared if others == differing]
    return _published(nearest, same, "; ".join(differing))


def _same_decoding(entry: Entry, search: Mapping[str, Any], subset: str) -> bool:
    return (
        not entry.of
        and entry.subset == subset
        and entry.part == str(search.get("decode-with") or "main")
        and str(entry.decoding.get("mask_source_layers") or "")
        == str(search.get("mask-source-layers") or "")
        and bool(entry.decoding.get("no_aux_fusion")) == bool(search.get("no-aux-fusion"))
    )


def _published(entry: Entry, same: list[Entry], differs: str) -> Published:
    assert entry.value is not None
    places = dict.fromkeys(f"{e.document}, {e.item}" for e in same if e.value == entry.value)
    other = dict.fromkeys(f"{e.item} has {e.value}" for e in same if e.value != entry.value)
    return Published(entry.value, "; ".join([*places, *other]), differs)
