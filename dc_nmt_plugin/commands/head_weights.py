"""``dc-nmt head-weights``: measures how peaked the head weights Λ of cross aggregation are.

Prints the entropy of Λ (Eq. 13) in nats by length, for untrained modules or a trained model. Long
sentences are rare, so consecutive source sentences are joined and truncated to each length.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import UserError
from ..table import format_table
from .parser import Parser

LENGTHS = (10, 30, 100)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints.

    Raises:
        UserError: the model has no cross aggregation, or the data are too short
    """
    parser = Parser(prog="dc-nmt head-weights", description=__doc__)
    parser.add_argument(
        "--path", metavar="CHECKPOINT", help="trained model; default: untrained modules"
    )
    parser.add_argument("--data", metavar="DATA", help="folder made by fairseq-preprocess")
    parser.add_argument("--subset", default="test", help="subset of --data (default: test)")
    parser.add_argument("--lengths", nargs="+", type=int, default=list(LENGTHS), metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if min(args.lengths) < 2:
        raise UserError(f"--lengths: {min(args.lengths)} is not at least 2")
    if (args.path is None) != (args.data is None):
        raise UserError("--path, --data: only one of them; give both, or none")

    import torch

    from ..analysis.head_weights import trained, untrained

    torch.manual_seed(1)
    rows = (
        untrained(args.lengths)
        if args.path is None
        else trained(args.path, args.data, args.subset, args.lengths)
    )
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    header = ["entropy of the head weights, nats", "head weights", "at most"]
    cells = [
        [row["name"], row["head_weights"], f"{row['maximum']:.2f}"]
        + [f"{row['entropy'][str(length)]:.2f}" for length in args.lengths]
        for row in rows
    ]
    print(format_table([*header, *[f"length {length}" for length in args.lengths]], cells))
    return 0
