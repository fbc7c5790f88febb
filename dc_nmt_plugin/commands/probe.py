"""``dc-nmt probe``: trains probing classifiers on the sentence vectors of frozen encoders."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..analysis.figure import add_plot, new_figure, write_plot
from ..analysis.probing.tasks import TASKS, read_tasks
from ..errors import check_choices
from ..flags import listed
from ..table import format_table
from .analyze import add_runs
from .parser import Parser, add_json, number, print_json

if TYPE_CHECKING:
    from ..analysis.report import Results


def main(argv: Sequence[str]) -> int:
    args, flags = _parse(argv)

    from ..analysis.probing.classifier import SETTINGS
    from ..analysis.probing.encoding import ENCODERS, SentenceEncoder
    from ..analysis.probing.report import accuracies, draw, table
    from ..inference.subject import Subject
    from ..inference.trained_run import find_runs

    only = listed(args.only or "")
    check_choices("--only", only, TASKS)
    tasks = read_tasks(args.tasks, only)
    setting = SETTINGS[args.setting]
    results: Results = {}
    for run in find_runs(args.runs, args.data, args.names):
        subject = Subject(run, flags)
        encoder = SentenceEncoder(subject, args.layer)
        results[run.label] = {
            "layer": encoder.layer,
            "unknown": encoder.unknown([text for task in tasks for text in task.sentences]),
            "tasks": {task.name: accuracies(task, encoder, setting) for task in tasks},
        }
    if args.json:
        print_json({"setting": {"name": args.setting, **asdict(setting)}, "runs": results})
    else:
        layers = sorted({str(result["layer"]) for result in results.values()})
        title = (
            f"accuracy on the test sentences, %; mean of encoder layer {' or '.join(layers)}, "
            f"setting {args.setting}; random: {ENCODERS['random']}; bag: {ENCODERS['bag']}"
        )
        printed = table(results, title)
        print(f"{printed.title}\n\n{format_table(printed.header, printed.rows)}")
        for label, result in results.items():
            print(f"\n{label}: {result['unknown']:.2f}% of the pieces are unknown to the model")
    if args.plot:
        figure = new_figure()
        draw(figure, results)
        write_plot(figure, args.plot)
    return 0


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
    add("--tasks", type=Path, metavar="DIR", required=True,
        help="folder data/probing of SentEval, with sentence_length.txt …")  # fmt: skip
    add("--only", metavar="TASK,…", help=f"only these tasks, some of {', '.join(TASKS)}")
    add("--data", type=Path, help="folder made by fairseq-preprocess")
    add("--layer", type=number(1), metavar="N", help="encoder layer (default: the top)")
    add("--setting", choices=("dual-context", "thesis"), default="dual-context",
        help="RMSProp with 2.5e-4 and batches of 64 (the default), or with 1e-3 and 512",
        )  # fmt: skip
    add_json(parser)
    add_plot(parser)
    return parser.parse_with_flags(argv)
