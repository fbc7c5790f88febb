"""``dc-nmt head-weights``: how peaked cross aggregation's head weights Λ are, by length.

The entropy of Λ (Eq. 13), in nats, of untrained modules or of a trained model. Real sentences are
rarely long, so a model is shown consecutive source sentences joined and cut to each exact length.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..criterions.records import layer_records
from ..errors import UserError
from ..modules.cross_aggregation import HEAD_WEIGHTS, CrossAggregationSelfAttention
from ..modules.recording import recording
from ..table import format_table
from .routing import entropy_total, initial_entropy

LENGTHS = (10, 30, 100)
SIZES = ((4, 256), (8, 512))  # heads, width
ROWS = 50  # joined sentences of each length


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print.

    Raises:
        UserError: the model has no cross aggregation, or the data are too short
    """
    parser = argparse.ArgumentParser(prog="dc-nmt head-weights", description=__doc__)
    parser.add_argument("--path", metavar="CHECKPOINT", help="a trained model; default: untrained")
    parser.add_argument("--data", metavar="DATA", help="folder made by fairseq-preprocess")
    parser.add_argument("--subset", default="test", help="subset of --data (default: test)")
    parser.add_argument("--lengths", nargs="+", type=int, default=list(LENGTHS), metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    if min(args.lengths) < 2:
        raise UserError(f"--lengths: {min(args.lengths)} is not at least 2")
    if (args.path is None) != (args.data is None):
        raise UserError("--path and --data go together")
    torch.manual_seed(1)
    rows = untrained(args.lengths) if args.path is None else trained(args)
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


def untrained(lengths: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of fresh modules, on layer-normalised Gaussian sentences."""
    return [
        {
            "name": f"{heads} heads, width {width}, untrained",
            "head_weights": kind,
            "maximum": math.log(heads),
            "entropy": {
                str(length): initial_entropy(
                    embed_dim=width,
                    num_heads=heads,
                    head_weights=kind,
                    length=length,
                    modules=25,
                )
                for length in lengths
            },
        }
        for heads, width in SIZES
        for kind in HEAD_WEIGHTS
    ]


def trained(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of a model's encoder layers, with its own head weights and with the other ones."""
    from fairseq import checkpoint_utils

    from .. import registration as registration

    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [args.path], arg_overrides={"data": args.data}
    )
    model = models[0].eval()
    layers = [
        module
        for module in model.modules()
        if isinstance(module, CrossAggregationSelfAttention) and module.vertical
    ]
    if not layers:
        raise UserError(f"--path {args.path}: has no head weights of cross aggregation")
    try:
        task.load_dataset(args.subset)
    except (FileNotFoundError, AssertionError) as error:
        raise UserError(f"--subset {args.subset}: not in {args.data}") from error
    source = task.dataset(args.subset).src
    own = layers[0].head_weights
    found: dict[tuple[str, str], dict[str, float]] = {}
    for kind in (own, *[kind for kind in HEAD_WEIGHTS if kind != own]):
        for module in layers:
            module.head_weights = kind
        for length in args.lengths:
            tokens = joined_sentences(source, length, task.source_dictionary.eos())
            with torch.no_grad(), recording(model) as records:
                model.encoder(tokens, torch.full((len(tokens),), length))
            for side, layer, tensors in layer_records(records, "self_attn"):
                if "head_weights" in tensors:
                    total, count = entropy_total(tensors["head_weights"])
                    row = found.setdefault((f"{side}_{layer}", kind), {})
                    row[str(length)] = total / count
    for module in layers:
        module.head_weights = own
    return [
        {
            "name": layer,
            "head_weights": kind if kind == own else f"{kind} (not as trained)",
            "maximum": math.log(layers[0].num_heads),
            "entropy": entropy,
        }
        for (layer, kind), entropy in found.items()
    ]


def joined_sentences(sentences: Any, length: int, eos: int, rows: int = ROWS) -> Tensor:
    """Up to `rows` rows of exactly `length` tokens, each ending with `eos`.

    Args:
        sentences: tensors of token numbers, each ending with `eos`

    Raises:
        UserError: all sentences together are shorter than one row
    """
    wanted = rows * (length - 1)
    words: list[int] = []
    for number in range(len(sentences)):
        words += sentences[number][:-1].tolist()
        if len(words) >= wanted:
            break
    rows = min(rows, len(words) // (length - 1))
    if rows == 0:
        raise UserError(f"--lengths: {length} is more than the {len(words) + 1} tokens of the data")
    body = torch.tensor(words[: rows * (length - 1)]).view(rows, length - 1)
    return torch.cat([body, body.new_full((rows, 1), eos)], dim=1)
