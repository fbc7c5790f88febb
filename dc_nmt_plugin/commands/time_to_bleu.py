"""``dc-nmt time-to-bleu``: updates and computing time until a validation BLEU is reached."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..bench import STOCK, conditions_text
from ..errors import UsageError, UserError, architecture_problem
from ..flags import flag_value, split_words
from ..table import format_table
from .completion import completed, sized_names
from .parser import Parser, add_json, number, print_report

if TYPE_CHECKING:
    from ..bench.learning import TimedModel


def main(argv: Sequence[str]) -> int:
    """Trains in turn and prints."""
    args, flags = _parse(argv)

    import torch

    from ..bench.learning import train_until
    from ..bench.measure import make_clock

    torch.set_num_threads(args.threads)
    device = "cuda" if torch.cuda.is_available() and "--cpu" not in flags else "cpu"
    clock, conditions = make_clock(device, args.threads)
    names = [args.against, *(name for name in args.arch if name != args.against)]
    subjects = train_until(
        names,
        args.arch[0],
        args.data,
        flags,
        bleu=args.bleu,
        every=args.every,
        device=device,
        clock=clock,
        progress=_progress,
    )
    baseline = subjects[0].reached(args.bleu)
    report = {
        **conditions,
        "bleu": args.bleu,
        "flags": list(flags),
        "baseline": args.against,
        "results": [_row(subject, args.bleu, baseline) for subject in subjects],
    }
    print_report(report, args.json, _as_text)
    return 0


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = Parser(
        prog="dc-nmt time-to-bleu",
        description=(
            "Trains architectures and a baseline in turn, one update of each at a time. "
            "Prints when each reaches a BLEU score on the validation set (greedy search, "
            "tokenised, lower-cased)."
        ),
        usage="dc-nmt time-to-bleu ARCH [ARCH ...] --data DATA --bleu BLEU [options] "
        "[flags of fairseq-train]",
    )
    archs = parser.add_argument(
        "arch",
        nargs="+",
        help=(
            "architectures to train; model flags may follow a name in quotes, as in "
            "'transformer_standard --depth-scaled-init 1'"
        ),
    )
    completed(archs, sized_names)
    parser.add_argument("--data", required=True, help="folder made by fairseq-preprocess")
    parser.add_argument("--bleu", type=float, required=True, help="BLEU at which a model stops")
    parser.add_argument(
        "--against",
        default=STOCK,
        help=(
            "baseline: 'stock' (fairseq's transformer in the size of the first "
            "architecture) or an architecture (default: stock)"
        ),
    )
    parser.add_argument("--every", type=number(1), default=120, help="updates between validations")
    parser.add_argument("--threads", type=number(1), default=1, help="CPU threads")
    add_json(parser)
    args, flags = parser.parse_with_flags(argv)
    _check(args, flags)
    return args, flags


def _check(args: argparse.Namespace, flags: Sequence[str]) -> None:
    """
    Raises:
        UserError: listing what is wrong
    """
    from ..bench.subjects import language_model_problem, stock_settings
    from ..models.presets import architectures

    known = architectures()
    problems = [architecture_problem(args.against, [STOCK, *known], "--against")]
    for name in args.arch:
        try:
            unknown = architecture_problem((split_words("ARCH", name) or [name])[0], known)
            if unknown:
                problems.append(unknown)
                continue
            problems.append(language_model_problem(name, "BLEU is of translation models"))
        except UserError as error:
            problems.append(str(error))
    if not 0 < args.bleu <= 100:
        problems.append(f"--bleu: {args.bleu} is not within 0-100.")
    for flag in ("--arch", "-a", "--task", "--criterion"):
        if flag_value(flags, flag) is not None:
            problems.append(f"{flag}: every model has its own; leave it out.")
    if not flags:
        problems.append("flags of fairseq-train are missing; give at least --max-update.")
    if any(problems):
        raise UsageError("\n".join(problem for problem in problems if problem))
    if args.against == STOCK:
        stock_settings(args.arch[0])  # refuses a size that fairseq lacks early


def _progress(subject: TimedModel) -> None:
    point = subject.curve[-1]
    print(
        f"{subject.name}: {point.updates} updates, {point.seconds:,.0f} s, BLEU {point.bleu:.2f}",
        file=sys.stderr,
        flush=True,
    )


def _row(subject: TimedModel, bleu: float, baseline: Any) -> dict[str, Any]:
    found = subject.reached(bleu)
    ratio = found.seconds / baseline.seconds if found and baseline else None
    return {
        "name": subject.name,
        "updates": found.updates if found else None,
        "seconds": found.seconds if found else None,
        "ratio": ratio,
        "best": max((point.bleu for point in subject.curve), default=0.0),
        "curve": [[point.updates, point.seconds, point.bleu] for point in subject.curve],
    }


def _as_text(report: dict[str, Any]) -> str:
    head = (
        f"{conditions_text(report)} of the updates alone; until BLEU {report['bleu']:g} on the "
        f"validation set; ratio = time / time of {report['baseline']}"
    )
    rows = [
        [
            row["name"],
            f"{row['updates']:,}" if row["updates"] else "not reached",
            f"{row['seconds']:,.0f}" if row["seconds"] else "",
            f"{row['ratio']:.2f}" if row["ratio"] else "",
            f"{row['best']:.2f}",
        ]
        for row in report["results"]
    ]
    return "\n\n".join([head, format_table(["model", "updates", "s", "ratio", "best BLEU"], rows)])
