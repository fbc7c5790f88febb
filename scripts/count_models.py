#!/usr/bin/env python3
"""Count the parameters of every model of the papers' tables, for ``dc-nmt paper show``.

usage: scripts/count_models.py

It writes dc_nmt_plugin/study/papers/models.yaml. Run it when a table, an architecture or a recipe
changes; tests/unit/papers/test_plan.py names the missing models.
"""

from __future__ import annotations

import re
from functools import cache

from dc_nmt_plugin.files import write_text
from dc_nmt_plugin.laboratory.parameter_count import build_without_memory, count, dummy_dictionary
from dc_nmt_plugin.laboratory.recipes.recipe import load
from dc_nmt_plugin.study.papers.parameters import fitted_vocabulary, parsed_settings
from dc_nmt_plugin.study.papers.reader import read_documents
from dc_nmt_plugin.study.papers.selection import runs_of
from dc_nmt_plugin.study.papers.systems import MODELS, NeededTraining

HEAD = "# Parameters of the model of each training run; scripts/count_models.py writes this file."


def main() -> None:
    """Writes a line for each training run."""
    items = [item for document in read_documents() for item in document.items]
    needed = dict.fromkeys(training for item in items for training in runs_of(item))
    lines = [f'"{training}": {parameters_of(training)}' for training in needed]
    write_text(MODELS, "\n".join([HEAD, *lines]) + "\n")


def parameters_of(training: NeededTraining) -> int:
    """The parameters of a run's model, with a dictionary of the published size."""
    settings, _ = parsed_settings(training.arch, [*training.settings.flags, *training.flags])
    types = vocabulary(load(training.task).folder, training.arch.endswith("_unshared"))
    return count(build_without_memory(training.arch, settings, dummy_dictionary(types)))


@cache
def vocabulary(folder: str, unshared: bool) -> int:
    """The types of a task's dictionary, fitted to published counts, or as printed, such as 34k.

    Models without shared embeddings have another dictionary.
    """
    entries = [
        entry
        for document in read_documents()
        for entry in document.entries
        if entry.training and not entry.other and load(entry.task).folder == folder
    ]
    for entry in entries:
        alike = entry.arch.endswith("_unshared") == unshared
        if entry.measure == "params" and entry.value is not None and alike:
            return fitted_vocabulary(entry)
    printed = [re.match(r"\d+", e.text) for e in entries if e.column == "vocabulary"]
    return 1000 * max(int(number[0]) for number in printed if number)


if __name__ == "__main__":
    main()
