"""``dc-nmt check-mechanism``: checks the ground rules on a mechanism of your own."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import check_choices
from .parser import Parser, add_user_dir


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="dc-nmt check-mechanism",
        description="Checks the rules that every mechanism must keep on tiny models with it: "
        "padding, causality, decoding steps, gradients, half precision, saving, and combinations "
        "with the other axes. One line a rule; the exit status is 1 if one is broken.",
    )
    parser.add_argument("name", metavar="NAME", help="of a self-attention or a source feature")
    add_user_dir(parser)
    args = parser.parse_args(argv)

    from ...modules.mechanisms import mechanisms

    known = {mechanism.name: mechanism for mechanism in mechanisms()}
    check_choices("NAME", [args.name], known)

    import torch

    from ..ground_rules import RULES, check

    torch.set_num_threads(1)  # more are slower with models that small
    broken = 0
    for rule, problem in check(known[args.name]):
        text = " ".join((RULES[rule].__doc__ or "").split())
        print(f"{'broken' if problem else 'ok':<7} {rule:<25}{problem or text}", flush=True)
        broken += problem is not None
    print(f"{args.name}: {f'{broken} of the rules are broken' if broken else 'all rules hold'}")
    return int(broken > 0)
