"""``dc-nmt user-dir``: prints the path of this package."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from .parser import Parser


def user_dir() -> str:
    """Returns the absolute path for ``--user-dir``, of an installation or a checkout."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main(argv: Sequence[str]) -> int:
    """Prints the path."""
    parser = Parser(prog="dc-nmt user-dir", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    print(json.dumps({"user_dir": user_dir()}) if args.json else user_dir())
    return 0
