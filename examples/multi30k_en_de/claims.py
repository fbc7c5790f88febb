#!/usr/bin/env python3
"""Writes CLAIMS.md: the claims of the papers, and what small models on Multi30k show of each.

usage: python examples/multi30k_en_de/claims.py

The data are claims.json beside this script. A claim has the sentence of the paper, the published
numbers, the comparisons made here and a verdict; ``by`` says what decides it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = HERE / "claims.json"
PAGE = HERE / "CLAIMS.md"
VERDICTS = ("for", "against", "undecided")
HEADER = ("claim", "place", "published", "here", "p (Holm)", "seeds", "verdict")

INTRODUCTION = """\
# Claims of the papers, and what Multi30k shows

A claim is a sentence of a paper that a comparison decides. The models are small, and Multi30k is \
none of the papers' tasks, so a verdict speaks of this task alone. The data are in \
[`claims.json`](claims.json); `python examples/multi30k_en_de/claims.py` makes this page from them.

{total} claims: {counts}.

| verdict | of scores | of speeds |
| --- | --- | --- |
| for | the claimed difference, p < 0.05 after Holm's correction | quartiles of the ratio on the \
claimed side of 1 |
| against | an interval without any claimed difference that matters | quartiles on the other side |
| undecided | everything else | everything else |

- A difference that matters is half a point of BLEU, or the published one where that is smaller.
- Two systems are equal if the 95% interval lies within half a point of BLEU. Their speeds are \
equal if the quartiles lie within 10%.
- BLEU is {metric} on {sentences:,} sentences. Intervals and p include variation between sentences \
and seeds. A system with one seed gets the variation of the other systems (standard deviation \
{deviation:.2f}).
- Two translations of one run (a masked layer, an auxiliary decoder) are compared over sentences \
alone ("same run").
- Parameters are those of models of the published size, in millions.
- Where an analysis decides, a person read its numbers, which stand in the column "here".
- Several numbers in a cell are several comparisons, in the order of the lists of systems below.
"""


def page(data: Mapping[str, Any]) -> str:
    """Returns the page in Markdown."""
    claims = data["claims"]
    number_of = Counter(claim["verdict"] for claim in claims)
    counts = ", ".join(f"{number_of[word]} {word}" for word in VERDICTS)
    parts = [
        INTRODUCTION.format(
            total=len(claims),
            counts=counts,
            metric=data["metric"],
            sentences=data["sentences"],
            deviation=data["deviation"],
        )
    ]
    for document in dict.fromkeys(claim["document"] for claim in claims):
        own = [claim for claim in claims if claim["document"] == document]
        parts.append(f"## {document}\n\n{table(own)}\n\n{sentences(own)}\n")
    return "\n".join(parts)


def table(claims: Iterable[Mapping[str, Any]]) -> str:
    """Returns the numbers of claims as a table in Markdown."""
    lines = [_line(HEADER), _line(["---"] * len(HEADER))]
    for claim in claims:
        seeds = dict.fromkeys(", ".join(each.get("seeds", [])) for each in claim["here"])
        cells = [
            claim["claim"],
            claim["place"],
            "; ".join(cell["shown"] for cell in claim["published"]),
            claim["analysis"] or "; ".join(_measured(claim, each) for each in claim["here"]),
            "; ".join(_p_value(each["corrected_p"]) for each in claim["here"] if "p_value" in each),
            "; ".join(filter(None, seeds)),
            claim["verdict"],
        ]
        lines.append(_line(cells))
    return "\n".join(lines)


def sentences(claims: Iterable[Mapping[str, Any]]) -> str:
    """Returns the sentence, the published cells and the compared systems of each claim."""
    lines = ["<details><summary>The sentences, published cells and systems</summary>", ""]
    for claim in claims:
        lines.append(f"- **{claim['claim']}** ({claim['place']}): {claim['says']}")
        lines += [f"    - published: {_cell(cell)}" for cell in claim["published"]]
        pairs = [f"`{each['ours']}` against `{each['than']}`" for each in claim["here"]]
        if pairs:
            lines.append(f"    - here: {'; '.join(pairs)}")
    return "\n".join([*lines, "", "</details>"])


def _cell(cell: Mapping[str, Any]) -> str:
    text = f"{cell['item']}, {cell['row']}: {cell['value']}"
    if cell["against"] is None:
        return text
    return f"{text} against {cell['against']['value']} of {cell['against']['row']}"


def _measured(claim: Mapping[str, Any], comparison: Mapping[str, Any]) -> str:
    # a ratio of speeds has no sign, a difference has one
    form = ".2f" if claim["by"] in ("training", "decoding") else "+.2f"
    text = format(comparison["value"], form)
    if "interval" in comparison:
        low, high = comparison["interval"]
        text += f" [{low:.2f}, {high:.2f}]"
    return text


def _p_value(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(DATA.read_text("utf-8"))), encoding="utf-8")
    print(f"written: {PAGE}")
