"""``dc-nmt check-mechanism``: checks the ground rules on a mechanism of your own."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import check_choices, counted
from .parser import Parser, add_user_dir


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="dc-nmt check-mechanism",
        description="Checks the rules that every mechanism must keep on tiny models with it, "
        "such as padding, causality, decoding steps and gradients. One line a rule; the exit "
        "status is 1 if one is broken.",
    )
    parser.add_argument("name", metavar="NAME", help="of a self-attention or a source feature")
    add_user_dir(parser)
    args = parser.parse_args(argv)

    from ...modules.mechanisms import mechanisms

    known = {mechanism.name: mechanism for mechanism in mechanisms()}
    check_choices("NAME", [args.name], known)

    import torch

    from ..ground_rules import RULES, check, statement

    torch.set_num_threads(1)  # more are slower with models that small
    mechanism, tried = known[args.name], dict[str, str | None]()
    for rule, problem in check(mechanism):
        print(
            f"{'broken' if problem else 'ok':<7} {rule:<25}{problem or statement(rule)}", flush=True
        )
        tried[rule] = problem
    broken = len(list(filter(None, tried.values())))
    left_out = len(RULES) - len(tried) - (mechanism.reference is None and "reference" not in tried)
    result = "all rules hold"
    if broken:
        result = f"{counted(broken, 'rule')} {'is' if broken == 1 else 'are'} broken"
    if left_out:
        result += f"; {left_out} that build on {'it' if broken == 1 else 'them'} were not tried"
    print(f"{args.name}: {result}")
    return int(broken > 0)
