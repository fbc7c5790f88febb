"""``dc-nmt paper claims``: what the papers claim, and what is seen of it here."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..papers.document import VERDICTS
from .parser import add_forms, add_plot, form_of, print_json, write_plot

if TYPE_CHECKING:
    from ..papers.schema import Entry
    from ..reproduction.claims import Compared, Decided

_UNITS = {
    "score": "BLEU",
    "params": "M",
    "training": "times the speed",
    "decoding": "times the speed",
}


def add_claims(commands: Any) -> None:
    """Adds ``claims`` to the commands of ``dc-nmt paper``."""
    claims = commands.add_parser(
        "claims", help="list claims of the documents with the evidence published and measured"
    )
    claims.add_argument("document", nargs="?", help="one of the five documents; default: all")
    claims.add_argument(
        "--verdict", choices=VERDICTS, help="only claims of which this is seen here"
    )
    claims.add_argument(
        "--measure", action="store_true",
        help="compare the kept runs again and store the comparisons beside them",
    )  # fmt: skip
    add_plot(claims, "draw published differences of BLEU beside those measured here")
    add_forms(claims, "markdown", "latex")


def show_claims(args: argparse.Namespace) -> int:
    """``dc-nmt paper claims``."""
    if args.measure:
        if args.document or args.verdict or args.plot:
            raise UsageError("--measure: measures the claims of all documents; give it alone")
        from ..reproduction.claim_measures import measure

        print(f"written: {measure()}")
        return 0
    from ..papers.register import DOCUMENTS
    from ..reproduction.claims import decided

    found = decided([args.document] if args.document else DOCUMENTS)
    if args.verdict:
        found = [one for one in found if one.verdict == args.verdict]
    drawn = _drawn(found) if args.plot else None
    if args.json:
        print_json(list(map(_as_json, found)))
    else:
        _print(found, args)
    if drawn is not None:
        write_plot(drawn, args.plot)
    return 0


def _print(found: Sequence[Decided], args: argparse.Namespace) -> None:
    from ..reproduction.claims import stale

    form = form_of(args)
    if args.markdown or args.latex:
        print(form.write(_HEADER, list(map(_row, found))))
    else:
        print("\n\n".join(map(_block, found)))
    counts = Counter(one.verdict for one in found)
    words = [f"{counts[word]} {word}" for word in VERDICTS if counts[word]]
    notes = [f"{len(found)} claims: {', '.join(words)}" if found else "no such claim"]
    if any(one.seen and one.claim.by == "score" for one in found):
        notes += _NOTES
    if changed := stale():
        notes.append(
            f"not measured yet: {', '.join(changed)}; dc-nmt paper claims --measure does it"
        )
    print(f"\n{form.lines(notes)}")


def _drawn(found: Sequence[Decided]) -> Any:
    from ..reproduction.claim_chart import draw_claims, drawable

    rows = drawable(found)
    if not rows:
        raise UsageError("--plot: none of these claims compares BLEU that was measured here")
    return draw_claims(rows)


_HEADER = ("claim", "place", "published", "here", "seeds", "seen")
_NOTES = (
    "here: Multi30k English-German with small models, in the recipe's schedule",
    "BLEU: 95% interval over sentences and seeds (same run: sentences); p by Holm for all of them",
    "for: p < 0.05; against: no difference in the interval agrees with the claim (docs/recipes.md)",
)


def _row(one: Decided) -> tuple[str, ...]:
    claim = one.claim
    return (
        claim.name, f"{claim.document}, {claim.place}", "; ".join(map(_gap, claim.evidence)),
        claim.here or "; ".join(_numbers(each) for each in one.seen if each), _seeds(one),
        one.verdict,
    )  # fmt: skip


def _seeds(one: Decided) -> str:
    return "; ".join(dict.fromkeys(", ".join(each.seeds) for each in one.seen if each))


def _block(one: Decided) -> str:
    from ..reproduction.claim_commands import commands_of
    from ..reproduction.claims import pairs_of

    claim = one.claim
    lines = [f"{claim.document}, {claim.place}: {claim.name}", f"  {claim.says}"]
    lines += [f"  published: {_published(pair)}" for pair in claim.evidence]
    for (ours, than), each in zip(pairs_of(claim), one.seen, strict=True):
        if each:
            unit = _UNITS[claim.by]
            lines.append(f"  here: {ours} against {than}: {_numbers(each)} {unit}{_test(each)}")
    if claim.here:
        lines.append(f"  here: {claim.here}")
    lines.append(f"  seen: {one.verdict}")
    return "\n".join([*lines, *(f"  {command}" for command in commands_of(one))])


def _numbers(each: Compared) -> str:
    from ..reproduction.claims import BENCHED

    value = f"{each.value:.2f}" if each.by in BENCHED else f"{each.value:+.2f}"
    if each.interval is None:
        return value
    return f"{value} [{each.interval[0]:.2f}, {each.interval[1]:.2f}]"


def _test(each: Compared) -> str:
    if each.corrected_p is None:
        return ""
    from ..evaluation.difference_text import p_cell

    seeds = f"seed{'s' * (len(each.seeds) != 1)} {', '.join(each.seeds)}"
    return f", p {p_cell(each.p_value)} (Holm {p_cell(each.corrected_p)}), {seeds}"


def _published(pair: tuple[Entry, Entry | None]) -> str:
    cell, other = pair
    text = f"{cell.item}, {cell.row}: {_value(cell)}"
    if other is None:
        return text
    return f"{text} against {_value(other)} of {other.row} ({_gap(pair)})"


def _value(entry: Entry) -> str:
    if entry.value is not None:
        return str(entry.value)
    return entry.text or (f"{entry.difference:+}" if entry.difference is not None else "no number")


def _gap(pair: tuple[Entry, Entry | None]) -> str:
    from ..reproduction.claims import published_gap

    cell, other = pair
    gap = published_gap(pair)
    if gap is None:
        return _value(cell)
    if cell.measure.startswith(("train", "decode")) and other is not None:
        return f"{float(cell.value or 0) / float(other.value or 1):.2f} times"
    decimals = max(0, -int(cell.value.as_tuple().exponent)) if cell.value is not None else 2
    return f"{gap:+.{decimals}f}"


def _as_json(one: Decided) -> dict[str, Any]:
    from ..reproduction.claim_commands import commands_of

    claim = one.claim
    published = [
        {
            "item": cell.item, "row": cell.row, "column": cell.column, "value": _value(cell),
            "against": other and {"row": other.row, "value": _value(other)},
        }
        for cell, other in claim.evidence
    ]  # fmt: skip
    return {
        "document": claim.document, "claim": claim.name, "says": claim.says, "place": claim.place,
        "by": claim.by, "expects": claim.expects, "published": published,
        "here": [each and asdict(each) for each in one.seen], "analysis": claim.here,
        "seen": one.verdict,
        "commands": commands_of(one),
    }  # fmt: skip
