"""``dc-nmt rank``: makes blind sheets for human ranking, and counts the answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..table import format_table
from .parser import Parser, number


def main(argv: Sequence[str] | None = None) -> int:
    """``dc-nmt rank COMMAND …``."""
    parser = Parser(prog="dc-nmt rank", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sheets = commands.add_parser("sheets", help="write a CSV file for each pair of runs, and a key")
    sheets.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    sheets.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="FOLDER",
        help="output folder, new or without sheets",
    )
    sheets.add_argument("--sentences", type=number(1), default=50, help="sentences of a sheet")
    sheets.add_argument(
        "--seed",
        type=number(0),
        default=1,
        help="random seed of the choice of sentences (default: 1)",
    )
    count = commands.add_parser("tally", help="print per cent better, equal and worse")
    count.add_argument("folder", type=Path)
    args = parser.parse_args(argv)
    from ..evaluation import ranking

    if args.command == "sheets":
        from ..evaluation.systems import PlainTextOptions, load_systems
        from ..runs.finding import is_run

        if not any(map(is_run, args.runs)):
            raise UserError(
                f"{args.runs[0]}: plain text has no reference: name a run's folder or a "
                "record among them, such as dc-nmt score --out writes of plain text"
            )
        systems = load_systems(args.runs, PlainTextOptions())
        texts = {system.label: system.texts.raw.hypotheses for system in systems}
        references, source = systems[0].texts.raw.references, systems[0].source
        paths = ranking.write_sheets(args.out, texts, references, source, args.sentences, args.seed)
        print("\n".join(map(str, paths)))
        print(f"{args.out / ranking.KEY}: which is which; keep it from the rankers")
        return 0
    rows = []
    for system, against, better, equal, worse in ranking.tally(args.folder):
        total = better + equal + worse
        shares = [f"{100 * part / total:.0f}" for part in (better, equal, worse)]
        rows.append((f"{system} vs. {against}", *shares, str(total)))
    print(format_table(("", "% >", "% =", "% <", "sentences"), rows))
    return 0
