"""The words of help texts, docstrings, comments and messages: the field's, in short sentences."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
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
# The same for docstrings and comments, whose readers also see code: names of variables are allowed.
IN_CODE = r"mend(s|ed|ing)?|homes?|cuts?|house|trainings|theirs|ours|told|(of|from) then|of before"
# A docstring says what a function does or returns, and asks no question.
QUESTION = r"(Whether|What|Which|How|Those|Such|Why|Where|In which)\b"
# rooms of dc-nmt alone, which tells wrong command lines (UsageError) from failures
ROOMS = ("commands", "recipes", "evaluation", "analysis", "reproduction")
# flags whose values are right, where a program fails, or the text of a file is wrong
FAILURES = ("--comet-model", "--on ", "--speeds", "--trees", "--tags", "--train: ")
MODULES = {
    path: path.read_text("utf-8")
    for path in (ROOT / "dc_nmt_plugin").rglob("*.py")
    if path.parent.name != "environment"
}


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


def docstrings(source: str) -> Iterator[str]:
    """Yields the docstrings of a module, its classes and functions, without names in code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node) or ""
            yield re.sub(r"``.*?``|`.*?`|^ +[\w, ]+: ", "", text, flags=re.M)


def comments(source: str) -> Iterator[str]:
    """Yields the comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def text_of(node: ast.expr) -> str:
    """Returns the text of a literal; values in an f-string are empty."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return ""


def refusals(source: str, kinds: Sequence[str] = ("UserError", "UsageError")) -> Iterator[str]:
    """Yields the messages that a module raises as such errors."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in kinds and node.args:
            yield text_of(node.args[0])


def wrong_in_code(source: str) -> list[str]:
    """Returns the docstrings and comments with a private word, and docstrings that ask."""
    texts = [*docstrings(source), *comments(source)]
    found = [text for text in texts if re.search(rf"\b({IN_CODE})\b", text)]
    return found + [text for text in docstrings(source) if re.match(QUESTION, text)]


def wrong_messages(source: str) -> list[str]:
    """Returns messages with a private word, and messages without a colon after their flag."""
    return [
        text
        for text in refusals(source)
        if re.search(rf"\b({IN_CODE})\b", text) or (text.startswith("--") and ": " not in text)
    ]


def test_docstrings_and_comments_have_the_fields_words() -> None:
    found = [(path.name, text) for path, code in MODULES.items() for text in wrong_in_code(code)]
    assert len(MODULES) > 200
    assert not found


def test_a_message_has_the_fields_words_and_a_colon_after_its_flag() -> None:
    found = [(path.name, text) for path, code in MODULES.items() for text in wrong_messages(code)]
    assert sum(1 for code in MODULES.values() for _ in refusals(code)) > 300
    assert not found


def test_a_message_that_begins_with_a_flag_is_of_a_wrong_command_line() -> None:
    """It is a UsageError, so one kind of error has one exit status."""
    wrong = [
        (path.name, text)
        for path, code in MODULES.items()
        if path.relative_to(ROOT / "dc_nmt_plugin").parts[0] in ROOMS
        for text in refusals(code, ("UserError",))
        if re.match("--[a-z]", text) and not text.startswith(FAILURES)
    ]
    assert not wrong


@pytest.mark.parametrize(
    "code",
    [
        '"""Reads files of then."""', "# what it is told", 'def f():\n    """Whether it is."""',
        'def f():\n    """Returns it.\n\n    Args:\n        path: its home\n    """',
    ],
)  # fmt: skip
def test_bad_words_in_code_are_found(code: str) -> None:
    assert wrong_in_code(code + "\n")
    assert not wrong_in_code('"""Returns `ours`.\n\nArgs:\n    ours, told: means\n"""\n')


@pytest.mark.parametrize(
    "code",
    ['UserError("--a needs --b")', 'UserError(f"{x}: is of then")', 'UserError("--a 1 is bad")'],
)
def test_a_bad_message_is_found(code: str) -> None:
    assert wrong_messages(code)
    assert not wrong_messages('UserError(f"--a: {x} is bad; give 1"), UserError(f"--a {x}: bad")')
