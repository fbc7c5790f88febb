"""The words of every help text: short sentences, and no vocabulary of the project's own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import readability  # noqa: E402

HELP = list(readability.help_texts())
# Words that once had a meaning of their own in this project, and the field's word for each.
PRIVATE = {
    r"mend(s|ed|ing)?": "fix, install",
    r"homes?": "URL, source",
    r"(is|are|be|how it is) cut": "segmented, split",
    r"a training|trainings": "training run, run",
    r"ours|theirs": "this plugin's, fairseq's",
    r"made up|made on the spot": "generated",
    r"told": "given",
    r"tells?": "shows, lists",
    r"what (is|are|it|the)\b": "the noun",
}
MOST_WORDS = 25


def test_the_walk_reaches_every_command() -> None:
    from dc_nmt_plugin.cli import COMMANDS

    reached = {where.split()[1] for where, _ in HELP if " " in where}
    assert reached >= set(COMMANDS)
    assert len(HELP) > 500
    assert any(where == "dc-nmt paper run --seeds" for where, _ in HELP)
    assert any(where == "dc-nmt analyze gates --plot" for where, _ in HELP)


def problems(texts: list[tuple[str, str]]) -> list[str]:
    """Returns a line for each long sentence and each private word."""
    found = []
    for where, text in texts:
        if "--help" in where or re.search(r"^  \S+  ", text, re.M):  # a table is no sentence
            continue
        for part in re.split(r"(?<=[.;])\s", text):
            words = len(part.split())
            if words > MOST_WORDS:
                found.append(f"{where}: {words} words: {part}")
        for word, instead in PRIVATE.items():
            if hit := re.search(rf"\b({word})\b", text):
                found.append(f"{where}: {hit[0]!r}, say {instead}: {text}")
    return found


def test_help_has_short_sentences_and_the_fields_words() -> None:
    found = problems(HELP)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("word " * 26, "26 words"), ("names the line that mends it", "fix"), ("x; ours", "plugin's")],
)
def test_a_bad_text_is_found(text: str, problem: str) -> None:
    (line,) = problems([("dc-nmt some", text.strip())])
    assert problem in line
