"""Every departure from the printed equations and settings is on the paper's page."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGES = Path(__file__).parents[3] / "docs" / "papers"
ATTENTION = ("**Biases.**", "`--no-attention-bias` removes them")
SEARCH = ("`--max-len-a 1 --max-len-b 50`", "fairseq's `--max-tokens`")
NAMED = {
    "dual-context": (*ATTENTION, *SEARCH, "**Dropout.**", "30.58", "39.80"),
    "context-aware": (*ATTENTION, *SEARCH),
    "cross-aggregation": (*ATTENTION, *SEARCH),
    "thesis": (
        *(*ATTENTION, *SEARCH, "the biases leave a constant", "base 1,000", "**Dropout.**"),
        *("count words", "1,500 random sentences", "30.58", "39.80"),
    ),
    "residual-decoder": (
        "(equation 12) have a bias",
        "look at the references",
        "--lenpen 1 --max-len-a 1 --max-len-b 50",
        "fairseq's `--max-tokens`",
    ),
}


@pytest.mark.parametrize("page", NAMED)
def test_a_page_names_its_departures(page):
    text = (PAGES / f"{page}.md").read_text("utf-8")
    section = text.partition("## How it is read")[2].partition("\n## ")[0]
    assert section
    assert [words for words in NAMED[page] if words not in section] == []
