"""The change of ``fairseq-generate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..runs.translation import enter_translation
from .change import Function, replace


@replace(
    {"fairseq_cli.generate:main": "ddff57f29d4f"},
    reason="no record of a run says which model translated, how, and on which device",
    test="tests/system/test_recipe_scripts.py",
)
def enter_the_translation(stock: Function) -> Function:
    def main(args: Any) -> Any:
        scorer = stock(args)
        if getattr(args, "results_path", None):  # a Namespace, as fairseq-generate has it
            data, model, results = map(Path, (args.data, args.path, args.results_path))
            enter_translation(sys.argv[1:], data, model, results, args.gen_subset)
        return scorer

    return main
