"""The claims of the papers, and what small models on Multi30k show of each, as Markdown.

The data are ``examples/multi30k_en_de/claims.json``. A claim has the sentence of the paper, the
published numbers, the comparisons made here and a verdict; ``by`` says what decides it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from source_code import ROOT

from dc_nmt_plugin.laboratory.table import markdown_table

DATA = ROOT / "examples" / "multi30k_en_de" / "claims.json"
VERDICTS = ("for", "against", "undecided")
HEADER = ("claim", "place", "published", "here", "p (Holm)", "seeds", "verdict")

INTRODUCTION = """\
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


@cache
def _data() -> dict[str, Any]:
    return json.loads(DATA.read_text("utf-8"))


def of_document(document: str) -> list[dict[str, Any]]:
    """Returns the claims of a document.

    Raises:
        LookupError: there are none
    """
    found = [claim for claim in _data()["claims"] if claim["document"] == document]
    if not found:
        raise LookupError(f"no claims of {document}")
    return found


def page() -> str:
    """Returns all claims in Markdown, with an introduction."""
    data = _data()
    claims = data["claims"]
    number_of = Counter(claim["verdict"] for claim in claims)
    introduction = INTRODUCTION.format(
        total=len(claims),
        counts=", ".join(f"{number_of[word]} {word}" for word in VERDICTS),
        metric=data["metric"],
        sentences=data["sentences"],
        deviation=data["deviation"],
    )
    parts = [introduction]
    for document in dict.fromkeys(claim["document"] for claim in claims):
        found = of_document(document)
        parts.append(f"## {document}\n\n{table(found)}\n\n{sentences(found)}\n")
    return "\n".join(parts)


def table(claims: Iterable[Mapping[str, Any]]) -> str:
    """Returns the numbers of claims as a table in Markdown."""
    rows = []
    for claim in claims:
        seeds = dict.fromkeys(", ".join(each.get("seeds", [])) for each in claim["here"])
        row = [
            claim["claim"],
            claim["place"],
            "; ".join(cell["shown"] for cell in claim["published"]),
            claim["analysis"] or "; ".join(_measured(claim, each) for each in claim["here"]),
            "; ".join(_p_value(each["corrected_p"]) for each in claim["here"] if "p_value" in each),
            "; ".join(filter(None, seeds)),
            claim["verdict"],
        ]
        rows.append(row)
    return markdown_table(HEADER, rows)


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
