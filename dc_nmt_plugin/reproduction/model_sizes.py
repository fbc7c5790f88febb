"""Counts the parameters of the papers' models, and those that are used for a token."""

from __future__ import annotations

import re
from functools import cache

from torch import nn

from ..flags import listed
from ..models.count import build, count, dummy_dictionary
from ..papers.described_run import flags_of
from ..papers.effective_settings import model_settings
from ..papers.parameter_counts import fitted_vocabulary
from ..papers.register import read_register
from ..recipes.recipe import load
from ..recipes.settings import settings_of
from .system import NeededTraining


def size_of(training: NeededTraining, types: int | None = None) -> tuple[int, int]:
    """Returns the parameters of a run's model, and how many are used for a token.

    The rows of an embedding are looked up, so its matrix is not used unless it is also the output
    layer's. Auxiliary decoders use the output layer once more each.

    Args:
        types: of the dictionary; default as published
    """
    settings = settings_of(load(training.task), training.arch, like=training.like)
    flags = flags_of(training.arch, [*settings.flags, *training.flags])
    types = types or vocabulary(training.task, training.arch.endswith("_unshared"))
    model = build(training.arch, flags, dummy_dictionary(types))
    tables = {
        id(module.weight): module.weight.numel()
        for module in model.modules()
        if isinstance(module, nn.Embedding) and module.weight.shape[0] >= types
    }
    own = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, nn.Linear) and module.weight.shape[0] >= types
    }
    known = model_settings(training.arch, flags)
    again = len(listed(str(known.get("aux_layers") or "")))
    output = next(p.numel() for p in model.parameters() if id(p) in own or id(p) in tables)
    looked_up = sum(numel for key, numel in tables.items() if key not in own)
    parameters = count(model)
    tied = 0 if own else 1
    return parameters, parameters - looked_up + (again + tied) * output


@cache
def vocabulary(task: str, unshared: bool) -> int:
    """Returns the types of a task's dictionary.

    They are fitted to the published parameter counts, or as printed, such as 34k.

    Args:
        unshared: of models without shared embeddings, which have another dictionary
    """
    recipe = load(task)
    entries = [
        entry
        for document in read_register()
        for entry in document.entries
        if entry.task == recipe.folder and not entry.system.other
    ]
    counts = [e for e in entries if e.measure == "params" and e.value is not None]
    alike = [e for e in counts if e.system.arch.endswith("_unshared") == unshared]
    if alike:
        return fitted_vocabulary(alike[0])
    printed = [e.text for e in entries if e.column == "vocabulary"]
    return 1000 * max(int(re.match(r"\d+", text)[0]) for text in printed if text)  # type: ignore[index]
