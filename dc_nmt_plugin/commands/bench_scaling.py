"""``dc-nmt bench --scaling``: growth of time and memory with the text and the model."""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

from ..bench import GROWING, conditions_text
from ..flags import add_list
from ..table import format_table
from .bench_names import Names, short_names
from .parser import add_plot, number, print_report, write_plot

# key of a row, key of its exponent, title, unit, units in one measured unit
QUANTITIES = (
    ("seconds", "exponent", "time of a batch", "ms", 1000),
    ("memory_mib", "memory_exponent", "peak memory", "MiB", 1),
)


def add_scaling(parser: argparse.ArgumentParser, instead: Any) -> None:
    """Adds the flags of ``--scaling``.

    Args:
        parser: of ``dc-nmt bench``
        instead: its group of flags that exclude each other
    """
    instead.add_argument(
        "--scaling",
        choices=GROWING,
        metavar="WHAT",
        help="time and memory while this grows, and the power with which they do: "
        + ", ".join(GROWING),
    )
    add_list(parser, "--values", number(1), "N", "rising values for --scaling")
    add_plot(parser, "draw the result of --scaling")


def check_scaling(args: argparse.Namespace) -> list[str]:
    """Returns a sentence for each problem of the flags of ``--scaling``; sets defaults."""
    if not args.scaling:
        given = [name for name in ("values", "plot") if getattr(args, name) is not None]
        return [f"--{name}: belongs to --scaling, which is not given." for name in given]
    from ..bench.scaling import AXES

    problems = []
    if args.data:
        problems.append(f"--data {args.data}: --scaling times random text; leave it out.")
    axis = AXES[args.scaling]
    args.values = args.values or list(axis.values)
    if args.values[0] < axis.least or any(low >= high for low, high in pairwise(args.values)):
        shown = " ".join(map(str, args.values))
        problems.append(f"--values {shown}: are to rise, from {axis.least} or more.")
    affected = [mode for mode in axis.modes if mode in args.mode]
    if not affected:
        problems.append(
            f"--mode {' '.join(args.mode)}: --scaling {args.scaling} is about "
            f"{' and '.join(axis.modes)} alone."
        )
    args.mode = affected
    return problems


def show_scaling(args: argparse.Namespace, setting: Any) -> dict[str, int]:
    """Measures, prints the tables or JSON, and draws.

    Returns:
        mode → number of values that are finished
    """
    from ..bench.measure import make_clock
    from ..bench.scaling import AXES, scale

    clock, conditions = make_clock(args.device, args.threads)
    rows = scale(
        args.scaling,
        args.values,
        args.arch,
        args.against,
        modes=args.mode,
        setting=setting,
        vocabulary=args.vocabulary,
        max_tokens=args.max_tokens,
        rounds=args.rounds,
        clock=clock,
        with_memory=not args.no_memory,
    )
    report = {
        **conditions,
        "precision": args.precision,
        "grows": args.scaling,
        "label": AXES[args.scaling].label,
        "baseline": args.against,
        "results": rows,
    }
    names = short_names(args.arch, [args.against])
    print_report(report, args.json, lambda report: _as_text(report, names))
    if args.plot:
        write_plot(_drawn(report), args.plot)
    return {row["mode"]: len(row["values"]) for row in rows}


def _panels(report: dict[str, Any]) -> list[tuple[str, Any, list[dict[str, Any]]]]:
    """Returns (mode, quantity, its rows) of every table."""
    rows = report["results"]
    return [
        (mode, quantity, [row for row in rows if row["mode"] == mode])
        for mode in dict.fromkeys(row["mode"] for row in rows)
        for quantity in QUANTITIES
        if all(row[quantity[0]] for row in rows)
    ]


def _as_text(report: dict[str, Any], names: Names) -> str:
    values = report["results"][0]["values"]
    blocks = [
        f"{conditions_text(report)}, {report['precision']}; random text; "
        f"{report['label']}: from {values[0]:,} to {values[-1]:,}; "
        "the exponent is that of the upper values",
        *names.lines(),
    ]
    for mode, (key, power, title, unit, factor), rows in _panels(report):
        header = [f"{mode}, {title} ({unit})", *map("{:,}".format, rows[0]["values"]), "exponent"]
        lines = []
        for row in rows:
            costs = [f"{cost * factor:,.4g}" for cost in row[key]]
            shown = "" if row[power] is None else f"{row[power]:.2f}"
            lines.append([names(row["name"]), *costs, shown])
        blocks.append(format_table(header, lines))
    return "\n\n".join(blocks)


def _drawn(report: dict[str, Any]) -> Any:
    """Draws with logarithmic axes: a power is a straight line with the exponent as slope."""
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    from ..charts import Chart, Line, draw_charts
    from ..figure import new_figure

    def logarithmic(axes: Any) -> None:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(report["results"][0]["values"])
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter(NullFormatter())

    charts = [
        Chart(
            report["label"],
            f"{mode}: {title} ({unit})",
            {
                row["name"]: Line(row["values"], [cost * factor for cost in row[key]])
                for row in rows
            },
            finish=logarithmic,
        )
        for mode, (key, _, title, unit, factor), rows in _panels(report)
    ]
    figure = new_figure()
    draw_charts(figure, charts, columns=2, size=(4.6, 3.4))
    return figure
