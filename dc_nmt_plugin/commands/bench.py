"""``dc-nmt bench``: measures training and decoding speed against fairseq's own transformer."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bench import (
    CTRANSLATE2,
    LEAST_TYPES,
    MODES,
    PYTORCH,
    STOCK,
    USUAL,
    conditions_text,
    rounds_text,
)
from ..errors import UsageError, check_architectures, check_choices
from ..flags import add_list, split_words
from ..signals import interrupts
from ..table import format_table
from .bench_inside import look_inside
from .bench_int8 import add_int8, check_int8
from .bench_names import Names, short_names
from .bench_real import ROUNDS, add_real, check_real, is_real, measure_real, real_as_text
from .bench_scaling import add_scaling, check_scaling, show_scaling
from .completion import completed, sized_names
from .parser import Parser, add_json, number, print_report

if TYPE_CHECKING:
    from ..bench.subjects import Setting

BASELINES = (STOCK, PYTORCH, CTRANSLATE2)


def main(argv: Sequence[str]) -> int:
    """Measures and prints; after a signal, the rounds that are finished."""
    args = _parse(argv)
    with interrupts() as came:
        try:
            stopped = _measure(args)
        except KeyboardInterrupt:
            print("dc-nmt bench: stopped; no round is finished.", file=sys.stderr)
            stopped = True
    return 128 + came[-1] if stopped else 0  # as shells do


def _measure(args: argparse.Namespace) -> bool:
    """Measures and prints; returns True when an interrupt came before the last round."""
    if is_real(args):
        (conditions, results), as_text = measure_real(args), real_as_text
    else:
        import torch

        from ..bench.subjects import Setting

        torch.set_num_threads(args.threads)
        setting = Setting(args.device, args.precision, args.beam, args.length)
        if args.scaling:
            return _stopped(args.mode, show_scaling(args, setting), len(args.values), "values")
        task, samples = _batches(args)
        if args.count or args.profile:
            subjects = list(dict.fromkeys([args.against, *args.arch]))
            sample = samples[len(samples) // 2]  # --data: by length
            finished = look_inside(args, subjects, task, setting, sample)
            return _stopped(args.mode, finished, len(subjects), "models")
        (conditions, results), as_text = _measure_steps(args, task, setting, samples), _as_text
    report = {
        **conditions,
        "precision": args.precision,
        "data": args.data or f"random, vocabulary {args.vocabulary}, length about {args.length}",
        "baseline": args.against,
        "rounds": args.rounds,
        "results": results,
    }
    names = short_names(args.arch, [args.against])
    print_report(report, args.json, lambda report: as_text(report, names))
    finished = {row["mode"]: row["rounds"] for row in results}
    return _stopped(args.mode, finished, args.rounds, "rounds")


def _stopped(modes: Sequence[str], finished: dict[str, int], wanted: int, what: str) -> bool:
    """Says which part of each mode is finished, if not all; returns True then."""
    counts = {mode: finished.get(mode, 0) for mode in modes}
    if min(counts.values()) == wanted:
        return False
    done = " and ".join(f"{count} of {wanted} of {mode}" for mode, count in counts.items())
    print(f"dc-nmt bench: stopped; finished {what}: {done}.", file=sys.stderr)
    return True


def _batches(args: argparse.Namespace) -> tuple[Any, list[Any]]:
    """Returns a task and its batches, on the device."""
    from ..bench.data import corpus_batches, random_batches, to_device

    if args.data:
        task, samples = corpus_batches(
            args.data, subset=args.subset, max_tokens=args.max_tokens, batches=args.rounds
        )
    else:
        sentences = max(1, args.max_tokens // args.length)
        task, samples = random_batches(
            vocabulary=args.vocabulary, sentences=sentences, length=args.length, batches=4
        )
    return task, to_device(samples, args.device)


def _measure_steps(
    args: argparse.Namespace, task: Any, setting: Setting, samples: list[Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the conditions of a measurement of single steps, and its rows."""
    from ..bench.comparison import compare
    from ..bench.measure import by_mode, make_clock

    clock, conditions = make_clock(args.device, args.threads)

    def measure(mode: str) -> list[dict[str, Any]]:
        return compare(
            mode,
            args.arch,
            args.against,
            task=task,
            samples=samples,
            setting=setting,
            rounds=args.rounds,
            clock=clock,
            with_memory=not args.no_memory,
            int8=args.int8,
        )

    return conditions, by_mode(args.mode, args.rounds, measure)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="dc-nmt bench",
        usage="dc-nmt bench ARCH|RUN [ARCH|RUN ...] [options] [flags of the model]",
        description=__doc__,
        epilog=(
            "All other flags go to the model, for every ARCH. For one of several, quote "
            "name and flags together: 'transformer_mlmha --source-layers 3'."
        ),
    )
    archs = parser.add_argument(
        "arch",
        nargs="+",
        metavar="ARCH|RUN",
        help="architectures to measure, or folders of runs",
    )
    completed(archs, sized_names)
    parser.add_argument(
        "--against",
        default=STOCK,
        help=(
            "baseline: 'stock' (fairseq's transformer in the size of the first "
            "architecture); 'pytorch' (the first, recurrent architecture, made of PyTorch's"
            " GRU cells); 'ctranslate2' (that program, with the weights of the first model); an "
            "architecture; or a run (default: stock)"
        ),
    )
    about = f"some of {', '.join(MODES)} (default: {','.join(USUAL)})"
    add_list(parser, "--mode", str, "MODE", about)
    parser.add_argument(
        "--rounds",
        type=number(1),
        help="number of rounds (default: 15; with --scaling 3 for each value; with --real 5)",
    )
    parser.add_argument(
        "--device",
        choices=["cpu", "cuda"],
        help="device (default: cuda if there is one)",
    )
    parser.add_argument("--threads", type=number(1), default=1, help="CPU threads")
    parser.add_argument(
        "--precision",
        choices=["float32", "bfloat16"],
        default="float32",
        help="number format; bfloat16 uses autocast",
    )
    parser.add_argument("--data", help="folder made by fairseq-preprocess (default: random text)")
    parser.add_argument(
        "--subset", help="subset of --data (default: train; with --real, the translated one: test)"
    )
    parser.add_argument(
        "--max-tokens", type=number(1), default=2048, help="tokens of a batch, with padding"
    )
    parser.add_argument(
        "--vocabulary", type=number(LEAST_TYPES), default=8000, metavar="N",
        help="number of types, for random text",
    )  # fmt: skip
    parser.add_argument(
        "--length",
        type=number(1),
        default=20,
        help="length of random sentences and of hypotheses, in tokens (default: 20)",
    )
    parser.add_argument("--beam", type=number(1), default=5, help="beam size of decoding")
    inside = parser.add_mutually_exclusive_group()
    inside.add_argument(
        "--count",
        action="store_true",
        help=("count operations and host synchronisations of one batch instead of measuring time"),
    )
    inside.add_argument(
        "--profile",
        action="store_true",
        help=(
            "print the time of one batch by kind of operation, and the time of its matrix "
            "products alone"
        ),
    )
    add_scaling(parser, inside)
    add_real(parser, inside)
    add_int8(parser)
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory")
    add_json(parser)
    args, words = parser.parse_with_flags(argv)
    args.arch = [shlex.join([*_words("ARCH|RUN", name), *words]) for name in args.arch]
    args.against = shlex.join(_words("--against", args.against))
    _check(args)
    return args


def _words(flag: str, name: str) -> list[str]:
    """Splits the names: a run's folder may have spaces, an architecture has flags after a space.

    Raises:
        UserError: no name, or an unclosed quotation mark
    """
    if name and Path(name).is_dir():
        return [name]
    words = split_words(flag, name)
    if not words or not words[0]:
        raise UsageError(f"{flag}: {name!r} names neither an architecture nor a run's folder")
    return words


def _check(args: argparse.Namespace) -> None:
    """
    Raises:
        UserError: listing what is wrong
    """
    import torch

    from ..bench.subjects import language_model_problem, stock_settings
    from ..models.presets import architectures

    usual = 3 if args.scaling else ROUNDS if is_real(args) else 15
    args.rounds = args.rounds if args.rounds is not None else usual
    args.device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    problems: list[str | None] = [*check_int8(args), *check_real(args)]
    args.mode, args.subset = args.mode or list(USUAL), args.subset or "train"
    check_choices("--mode", args.mode, MODES)
    first = shlex.split(args.against)[0]
    if first not in architectures() and not Path(first).is_dir():
        check_architectures([args.against], [*BASELINES, *architectures()], "--against")
    named = [name for name in [*args.arch, args.against] if name not in BASELINES]
    problems += [
        language_model_problem(name, "bench times translation models only") for name in named
    ]
    if args.device == "cuda" and not torch.cuda.is_available():
        problems.append("--device cuda: torch sees no GPU here; choose cpu.")
    problems += check_scaling(args)
    if any(problems):
        raise UsageError("\n".join(problem for problem in problems if problem))
    if args.against == STOCK:
        stock_settings(args.arch[0])  # refuses a size that fairseq lacks early


def _as_text(report: dict[str, Any], names: Names) -> str:
    head = (
        f"{conditions_text(report)}, {report['precision']}; {report['data']}; "
        f"{rounds_text(report)} interleaved rounds; ratio = speed / speed of "
        f"{names(report['baseline'])}"
    )
    blocks = [head, *names.lines()]
    for mode, unit in zip(MODES, ("tokens/s", "sentences/s", "tokens/s"), strict=True):
        rows = [
            [
                names(row["name"]),
                f"{row['speed']:,.1f}",
                f"{row['updates_per_s']:.2f}" if row["updates_per_s"] else "",
                f"{row['ratio']:.3f}",
                f"[{row['ratio_low']:.3f}, {row['ratio_high']:.3f}]",
                f"{row['peak_memory_mib']:,.0f}" if row["peak_memory_mib"] is not None else "",
            ]
            for row in report["results"]
            if row["mode"] == mode
        ]
        if rows:
            header = [mode, unit, "updates/s", "ratio", "quartiles", "peak MiB"]
            blocks.append(format_table(header, rows))
    return "\n\n".join(blocks)
