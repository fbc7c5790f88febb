"""Lines of the package by the names of what they define, so that no page holds a line number."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "dc_nmt_plugin"
PAGES = "source"  # folder of the site where whole files are shown


@dataclass(frozen=True)
class Lines:
    """Lines of a file.

    Attributes:
        path: below the package, such as ``modules/dual_context.py``
        symbol: such as ``LocalContext.forward``
        text: of these lines
    """

    path: str
    symbol: str
    text: str

    @property
    def dedented(self) -> str:
        """The text without the indentation that its lines have in common."""
        return textwrap.dedent(self.text)


def page_of(path: str) -> str:
    """The page that shows a file of the repository."""
    return f"{PAGES}/{path}.md"


def find(reference: str) -> Lines:
    """
    Args:
        reference: ``FILE::NAME`` or ``FILE::CLASS.METHOD``, the file below the package; then,
            where less is wanted, ``| TEXT`` or ``| TEXT | TEXT``: from the first line with the one
            to the next line with the other

    Raises:
        LookupError: no such file, name or text
    """
    where, *ends = (part.strip() for part in reference.split(" | "))
    path, _, symbol = where.partition("::")
    if not symbol:
        raise LookupError(f"{reference!r} is not FILE::NAME")
    if not (PACKAGE / path).is_file():
        raise LookupError(f"{reference!r}: the package has no file {path}")
    lines, tree = _parsed(path)
    node = _node(tree, symbol)
    if node is None:
        raise LookupError(f"{reference!r}: {path} has no {symbol}")
    first, last = node.lineno, node.end_lineno or node.lineno
    for number, end in enumerate(ends):
        matching = [n for n in range(first, last + 1) if end in lines[n - 1]]
        if not matching:
            raise LookupError(f"{reference!r}: {symbol} has no line with {end!r}")
        if number == 0:
            first = matching[0]
        if number == len(ends) - 1:
            last = matching[0]
    if not ends:
        first = _after_docstring(node)
    return Lines(path, symbol, "\n".join(lines[first - 1 : last]))


@cache
def _parsed(path: str) -> tuple[list[str], ast.Module]:
    text = (PACKAGE / path).read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def _node(tree: ast.AST, symbol: str) -> ast.FunctionDef | ast.ClassDef | None:
    for name in symbol.split("."):
        kinds = (ast.FunctionDef, ast.ClassDef)
        named = [n for n in ast.iter_child_nodes(tree) if isinstance(n, kinds) and n.name == name]
        if not named:
            return None
        tree = named[0]
    return tree if isinstance(tree, (ast.FunctionDef, ast.ClassDef)) else None


def _after_docstring(node: ast.FunctionDef | ast.ClassDef) -> int:
    """The first line of the body that is no docstring."""
    has_one = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    return node.body[1 if has_one else 0].lineno
