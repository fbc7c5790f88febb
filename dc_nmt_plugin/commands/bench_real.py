"""``dc-nmt bench --real`` and ``--against ctranslate2``: whole programs, as users run them."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from ..bench import CTRANSLATE2, PYTORCH, USUAL, conditions_text, rounds_text
from ..models.presets import architectures
from ..table import format_table
from .bench_names import Names
from .parser import number

UPDATES = 100
ROUNDS = 5
UNITS = {"train": "words/s", "decode": "sentences/s"}


def add_real(parser: argparse.ArgumentParser, instead: Any) -> None:
    """Adds the flags of ``--real``.

    Args:
        parser: of ``dc-nmt bench``
        instead: its group of flags that exclude each other
    """
    instead.add_argument(
        "--real",
        action="store_true",
        help=(
            "run fairseq-train and fairseq-generate as users do, 'stock' without this plugin, and "
            f"print the rates that they log (default: {ROUNDS} rounds)"
        ),
    )
    parser.add_argument(
        "--updates",
        type=number(2),
        help=f"number of updates, for --real (default: {UPDATES})",
    )


def is_real(args: argparse.Namespace) -> bool:
    """Returns whether programs are run; CTranslate2 is a program."""
    return bool(args.real or args.against == CTRANSLATE2)


def check_real(args: argparse.Namespace) -> list[str]:
    """Returns a sentence for each problem of the flags of ``--real``; sets defaults."""
    if not is_real(args):
        return ["--updates: belongs to --real, which is not given."] if args.updates else []
    problems = []
    engine = args.against == CTRANSLATE2
    what = f"--against {CTRANSLATE2}" if engine else "--real"
    possible = USUAL[1:] if engine else USUAL
    if engine and (given := [f for f in ("count", "profile", "scaling") if getattr(args, f)]):
        problems.append(f"--{given[0]}: looks inside models of PyTorch, not inside {CTRANSLATE2}.")
    args.mode = list(possible) if args.mode is None else args.mode
    if impossible := [mode for mode in args.mode if mode not in possible]:
        problems.append(f"--mode {impossible[0]}: {what} has {' and '.join(possible)} alone.")
    if args.against == PYTORCH:
        problems.append(f"--against {PYTORCH}: no program trains it; leave out --real.")
    if args.precision != "float32":
        problems.append(f"--precision {args.precision}: {what} measures float32.")
    if engine and args.device == "cuda":
        problems.append(f"--device cuda: {what} measures the CPU; choose cpu.")
    if "decode" in args.mode:
        changed = [name for name in (*args.arch, args.against) if _is_changed_run(name)]
        problems += [
            f"{name}: {what} translates with the run's checkpoint, whose model has its flags; "
            "leave further flags out."
            for name in changed
        ]
    args.updates = args.updates or UPDATES
    args.subset = args.subset or "test"
    return [*problems, *(_engine_problems() if engine else [])]


def _is_changed_run(name: str) -> bool:
    first, *flags = shlex.split(name)
    return bool(flags) and first not in architectures() and Path(first).is_dir()


def _engine_problems() -> list[str]:
    from ..checkpoints.ctranslate2 import INSTALL

    try:
        import ctranslate2  # noqa: F401
    except ImportError as error:
        return [f"--against {CTRANSLATE2}: it cannot be imported ({error}): {INSTALL}"]
    return []


def measure_real(args: argparse.Namespace) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the conditions of a measurement of programs, and its rows."""
    from ..bench.measure import make_clock
    from ..bench.real import Work, compare_programs

    work = Work(
        data=args.data,
        subset=args.subset,
        vocabulary=args.vocabulary,
        length=args.length,
        tokens=args.max_tokens,
        updates=args.updates,
        beam=args.beam,
        rounds=args.rounds,
        threads=args.threads,
        device=args.device,
        int8=args.int8,
    )
    results = compare_programs(args.mode, args.arch, args.against, work)
    conditions = make_clock(args.device, args.threads)[1]
    return {**conditions, "clock": "the programs' own rates"}, results


def real_as_text(report: dict[str, Any], names: Names) -> str:
    """Returns the tables of programs."""
    blocks = [
        f"{conditions_text(report)}, {report['precision']}; {report['data']}; "
        f"{rounds_text(report)} runs of each program, in turns; ratio = rate / rate of "
        f"{names(report['baseline'])}; CPU and wall are of the whole program",
        *names.lines(),
    ]
    for mode, unit in UNITS.items():
        rows = [row for row in report["results"] if row["mode"] == mode]
        compared = any(row["same_weights"] for row in rows) and mode == "decode"
        header = [mode, unit, "ratio", "quartiles", "CPU s", "CPU ratio", "wall s"]
        header += ["other hypotheses"] * compared
        table = [
            [
                names(row["name"]),
                f"{row['speed']:,.1f}",
                f"{row['ratio']:.3f}",
                f"[{row['ratio_low']:.3f}, {row['ratio_high']:.3f}]",
                f"{row['cpu_s']:.1f}",
                f"{row['cpu_ratio']:.3f}",
                f"{row['wall_s']:.1f}",
                *([f"{row['different']} of {row['sentences']}"] * compared),
            ]
            for row in rows
        ]
        if rows:
            blocks.append(format_table(header, table))
    return "\n\n".join(blocks)
