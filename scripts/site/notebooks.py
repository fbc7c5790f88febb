"""Pages made of notebooks, which are run from top to bottom when the site is built.

They run in this process, which needs torch and fairseq anyway: what a kernel would import again.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path, PurePosixPath
from typing import Any
from unittest.mock import patch

from IPython.display import HTML, Javascript
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from source_code import ROOT


def pages(config: Any) -> list[File]:
    """A page and its figures for each notebook in ``docs``.

    Raises:
        PluginError: a cell fails
    """
    return [
        file for path in sorted((ROOT / "docs").rglob("*.ipynb")) for file in _page(config, path)
    ]


def _page(config: Any, path: Path) -> list[File]:
    uri = PurePosixPath(path.relative_to(ROOT / "docs").as_posix()).with_suffix(".md")
    parts, figures = [], []
    for source, printed, displayed in executed(path):
        if printed is None:
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        if printed:
            parts.append(f"```text\n{printed}\n```")
        views = [shown for shown in displayed if isinstance(shown, HTML | Javascript)]
        for picture in (shown for shown in displayed if shown not in views):
            figure = uri.with_name(f"{uri.stem}-{len(figures) + 1}.png")
            figures.append(File.generated(config, str(figure), content=picture.data))
            parts.append(f"![the figure of the cell above]({figure.name})")
        if views:  # a page of its own: its scripts come from elsewhere
            page = uri.with_name(f"{uri.stem}-{len(figures) + 1}.html")
            figures.append(File.generated(config, str(page), content=_as_page(views)))
            parts.append(f"[What the cell above shows]({page.name})")
    parts.insert(1, f"[This page as a notebook]({path.name}){{download}}")
    return [File.generated(config, str(uri), content="\n\n".join(parts) + "\n"), *figures]


def _as_page(views: list[Any]) -> str:
    """HTML and scripts that a cell displays, as a file for a browser."""
    parts = [
        f"<script>{view.data}</script>" if isinstance(view, Javascript) else view.data
        for view in views
    ]
    return "\n".join(["<!DOCTYPE html>", '<meta charset="utf-8">', *parts, ""])


def executed(path: Path) -> list[tuple[str, str | None, list[Any]]]:
    """Text of each cell; what it prints, None of a text; and what it displays.

    Raises:
        PluginError: a cell fails
    """
    cells: list[tuple[str, str | None, list[Any]]] = []
    names: dict[str, Any] = {}
    shown: list[Any] = []
    with (
        contextlib.chdir(path.parent),
        warnings.catch_warnings(),
        redirect_stderr(io.StringIO()),
        patch("IPython.display.display", shown.append),
    ):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                cells.append((source, None, []))
                continue
            with redirect_stdout(io.StringIO()) as printed:
                try:
                    exec(source, names)
                except Exception as error:
                    raise PluginError(f"{path}: {error!r} in the cell\n{source}") from error
            cells.append((source, printed.getvalue().rstrip(), shown.copy()))
            shown.clear()
    logging.disable(logging.NOTSET)  # a cell may switch messages off; --strict counts them
    return cells
