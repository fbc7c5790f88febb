#!/usr/bin/env python3
"""Count the parameters of every model of the papers' tables, for ``dc-nmt paper list``.

usage: scripts/count_models.py

It writes dc_nmt_plugin/reproduction/models.yaml. Run it when a table, an architecture or a recipe
changes; tests/unit/reproduction/test_costs.py names the missing models.
"""

from __future__ import annotations

from dc_nmt_plugin.files import write_text
from dc_nmt_plugin.reproduction.costs import MODELS
from dc_nmt_plugin.reproduction.item_costs import all_trainings
from dc_nmt_plugin.reproduction.model_sizes import size_of


def main() -> None:
    """Writes a line for each training run."""
    lines = ["# Written by scripts/count_models.py: parameters, and those used for a token."]
    for training in all_trainings():
        parameters, used = size_of(training)
        lines.append(f'"{training}": {{parameters: {parameters}, used: {used}}}')
    write_text(
        MODELS, "\n".join([lines[0], "models:", *(f"  {line}" for line in lines[1:])]) + "\n"
    )


if __name__ == "__main__":
    main()
