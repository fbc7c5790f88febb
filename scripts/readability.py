"""Prints words, words per sentence and Flesch reading ease of everything that a person reads.

usage: python scripts/readability.py [--longest N]
  --longest   also prints the N longest sentences of each text

Flesch reading ease is 206.835 - 1.015 words/sentence - 84.6 syllables/word: 30 to 50 is college
level, 50 to 60 is fairly difficult. Syllables are counted as groups of vowels. Code, tables, links'
targets and macros are left out. Help is every description and flag of every command of dc-nmt.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dc_nmt_plugin import cli  # noqa: E402
from dc_nmt_plugin.analysis.names import ABOUT  # noqa: E402
from dc_nmt_plugin.commands.parser import Parser  # noqa: E402

# Sub-commands that build a parser of their own.
_OWN_PARSERS = {"analyze": tuple(ABOUT)}

_VOWELS = re.compile(r"[aeiouy]+")
_WORD = re.compile(r"[A-Za-z0-9][\w'’.,/%-]*")
_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) )")


class _Captured(Exception):
    """Carries the parser that a command built."""


def _parser_of(arguments: list[str]) -> Parser | None:
    """Returns the parser that a command builds, or None when it has none."""

    def capture(self: Parser, *_: object, **__: object) -> None:
        raise _Captured(self)

    with patch.object(Parser, "parse_known_args", capture), patch("sys.argv", ["dc-nmt"]):
        try:
            cli._run(arguments[0], arguments[1:])
        except _Captured as found:
            return found.args[0]
        except SystemExit:
            return None
    return None


def _texts_of(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for text in (parser.description, parser.epilog):
        if text:
            yield f"dc-nmt {name}", text
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                yield f"dc-nmt {name} {choice.dest}", choice.help or ""
            for sub, child in action.choices.items():
                yield from _texts_of(f"{name} {sub}", child)
        elif action.help and action.help != argparse.SUPPRESS:
            flag = (action.option_strings or [action.metavar or action.dest])[-1]
            yield f"dc-nmt {name} {flag}", action.help % {**vars(action), "prog": parser.prog}


def help_texts() -> Iterator[tuple[str, str]]:
    """Yields (command and flag, text) for every text that ``--help`` of a command shows."""
    for name, about in cli.COMMANDS.items():
        yield "dc-nmt", f"{name}: {about}"
        for words in [[name, sub] for sub in _OWN_PARSERS.get(name, ())] or [[name]]:
            parser = _parser_of(words)
            if parser is not None:
                yield from _texts_of(" ".join(words), parser)


def prose(markdown: str) -> str:
    """Returns Markdown without code, tables, macros and links' targets."""
    text = re.sub(r"```.*?```|\{\{.*?\}\}|<!--.*?-->", "", markdown, flags=re.S)
    text = re.sub(r"^ *\|.*$", "", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]*\$", "x", text, flags=re.S)
    return re.sub(r"``?[^`]+``?", "code", text)


def sentences(text: str) -> list[list[str]]:
    """Returns the words of each sentence."""
    return [words for part in _END.split(text) if (words := _WORD.findall(part))]


def _syllables(word: str) -> int:
    word = word.lower().strip(".,'’")
    groups = len(_VOWELS.findall(word))
    silent = word.endswith("e") and not word.endswith("le") and groups > 1
    return max(1, groups - silent)


def flesch(found: list[list[str]]) -> float:
    """Returns Flesch reading ease of sentences; higher is easier."""
    words = [word for sentence in found for word in sentence]
    per_sentence = len(words) / len(found)
    per_word = sum(map(_syllables, words)) / len(words)
    return 206.835 - 1.015 * per_sentence - 84.6 * per_word


def main() -> None:
    """Prints a line a text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=int, default=0, metavar="N")
    longest = parser.parse_args().longest
    files = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
    files += sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "examples").rglob("*.md"))
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in files}
    helps = "\n\n".join(re.sub(r"``", "`", text) for _, text in help_texts())
    print(f"{'text':<46}{'words':>8}{'prose':>8}{'per sentence':>14}{'over 25':>9}{'Flesch':>8}")
    for name, text in {**texts, "help of every command": helps}.items():
        found = sentences(prose(text))
        count = sum(map(len, found))
        over = sum(len(sentence) > 25 for sentence in found)
        print(
            f"{name:<46}{len(text.split()):>8,}{count:>8,}{count / len(found):>14.1f}"
            f"{over:>9}{flesch(found):>8.1f}"
        )
        for sentence in sorted(found, key=len, reverse=True)[:longest]:
            print(f"    {len(sentence)}: {' '.join(sentence)}")


if __name__ == "__main__":
    main()
