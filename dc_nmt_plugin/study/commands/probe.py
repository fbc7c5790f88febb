"""``dc-nmt probe``: trains probing classifiers on the sentence vectors of frozen encoders."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import check_choices, printable
from ...flags import SET_BY_ANALYSES, listed
from ...laboratory.commands.parser import Parser, add_json, add_plot, number, print_json
from ...laboratory.plot import new_figure, write_plot
from ...laboratory.table import format_table
from ..analysis.probing.tasks import TASKS, read_tasks
from .analyze import add_runs

if TYPE_CHECKING:
    from ..analysis.probing.report import Probing


def main(argv: Sequence[str]) -> int:
    args, flags = _parse(argv)

    from ...laboratory.fairseq_flags import refuse_flags
    from ...laboratory.inference.model import LoadedModel
    from ...laboratory.inference.trained_run import find_runs
    from ..analysis.probing.classifier import SETTINGS
    from ..analysis.probing.encoding import SentenceEncoder
    from ..analysis.probing.report import draw, probe_encoder
    from ..analysis.report import as_facts

    only = listed(args.only or "")
    check_choices("--only", only, TASKS)
    tasks = read_tasks(args.tasks, only)
    refuse_flags(flags, SET_BY_ANALYSES)
    setting = SETTINGS[args.setting]
    results = {}
    for run in find_runs(args.runs, args.data, args.names):
        encoder = SentenceEncoder(LoadedModel(run, flags, recording=True), args.layer)
        results[run.label] = probe_encoder(encoder, tasks, setting)
    if args.json:
        named = {"name": args.setting, **asdict(setting)}
        print_json({"setting": named, "runs": as_facts(results)})
    else:
        _print_table(results, args.setting)
    if args.plot:
        figure = new_figure()
        draw(figure, results)
        write_plot(figure, args.plot)
    return 0


def _print_table(results: dict[str, Probing], setting: str) -> None:
    from ..analysis.probing.encoding import ENCODERS
    from ..analysis.probing.report import probing_table

    layers = sorted({str(result.layer) for result in results.values()})
    title = (
        f"accuracy on the test sentences, %; mean of encoder layer {' or '.join(layers)}, "
        f"setting {setting}; random: {ENCODERS['random']}; bag: {ENCODERS['bag']}"
    )
    table = probing_table(results, title)
    print(f"{table.title}\n\n{format_table(table.header, table.rows)}")
    print("", *table.notes, sep="\n")
    for label, result in results.items():
        print(f"\n{printable(label)}: {result.unknown:.2f}% of the pieces are unknown to the model")


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = Parser(
        prog="dc-nmt probe",
        usage="dc-nmt probe RUN [RUN …] --tasks DIR [options]",
        description="Trains probing classifiers on frozen encoders (dual context, section 7.1, "
        "Table 4; thesis, 4.5.4, Table 4.8).",
        epilog="All other flags go to fairseq-generate: --cpu, --fp16 …",
    )
    add_runs(parser)
    add = parser.add_argument
    add(
        "--tasks",
        type=Path,
        metavar="DIR",
        required=True,
        help="folder data/probing of SentEval, with sentence_length.txt …",
    )
    add("--only", metavar="TASK,…", help=f"only these tasks, some of {', '.join(TASKS)}")
    add("--data", type=Path, help="folder made by fairseq-preprocess")
    add("--layer", type=number(1), metavar="N", help="encoder layer (default: the top)")
    add(
        "--setting",
        choices=("dual-context", "thesis"),
        default="dual-context",
        help="RMSProp with 2.5e-4 and batches of 64 (the default), or with 1e-3 and 512",
    )
    add_json(parser)
    add_plot(parser)
    return parser.parse_with_flags(argv)
