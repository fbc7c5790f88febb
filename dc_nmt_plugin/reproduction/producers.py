"""Commands that make the parts of a table or figure, by the producer in the register."""

from __future__ import annotations

import re

# producer of a part (`by`) → the command
COMMANDS = {
    "score": "dc-nmt paper run",
    "plot": "dc-nmt paper plot",
    "lengths": "dc-nmt analyze lengths",
    "source-lengths": "dc-nmt check-text --lengths",
    "compare": "dc-nmt compare",
    "t-test": "dc-nmt compare --t-test",
    "source-layers": "dc-nmt paper run",
    "examples": "dc-nmt translate --sentence",
    "bench": "dc-nmt bench",
    "params": "dc-nmt params --item",
    "ranking": "examples/blind_sheets.py",
    "probing": "dc-nmt probe",
    "language-model": "dc-nmt paper run",
    "attention": "dc-nmt analyze attention",
    "divergence": "dc-nmt analyze divergence",
    "gates": "dc-nmt analyze gates",
    "gates-by-tag": "dc-nmt analyze parts-of-speech",
    "routing": "dc-nmt analyze routing",
    "dependency": "dc-nmt analyze dependency",
    "positions": "dc-nmt analyze previous-words",
    "matrices": "dc-nmt analyze matrix",
    "trees": "dc-nmt analyze trees",
    "parseval": "dc-nmt analyze trees --trees",
}
# the row of a point of a curve: "n = 3", or "S-Agg, n = 3"
POINT = re.compile(r"(?:(.*), )?(\w) = (\d+)")
OF_MODELS = "dc-nmt analyze "


def analysis_of(by: str) -> str:
    """Returns the analysis of ``dc-nmt analyze`` that makes a part; "" for another command."""
    command = COMMANDS.get(by, "")
    return command.split()[2] if command.startswith(OF_MODELS) else ""
