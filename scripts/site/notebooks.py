"""Pages made of notebooks, which are run from top to bottom when the site is built."""

from __future__ import annotations

import base64
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from source_code import ROOT

TIMEOUT = 300  # seconds of one cell


def pages(config: Any) -> list[File]:
    """A page and its figures for each notebook in ``docs``.

    Raises:
        PluginError: a cell fails
    """
    return [
        file for path in sorted((ROOT / "docs").rglob("*.ipynb")) for file in _page(config, path)
    ]


def executed(path: Path) -> Any:
    """The notebook with the outputs of its cells.

    Raises:
        PluginError: a cell fails
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(path, as_version=4)
    try:
        NotebookClient(
            notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(path.parent)}}
        ).execute()
    except CellExecutionError as error:
        raise PluginError(f"{path}: {error}") from error
    return notebook


def _page(config: Any, path: Path) -> list[File]:
    uri = PurePosixPath(path.relative_to(ROOT / "docs").as_posix()).with_suffix(".md")
    parts, figures = [], []
    for cell in executed(path).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stdout":
                parts.append(f"```text\n{output.text.rstrip()}\n```")
            elif "image/png" in output.get("data", {}):
                figure = uri.with_name(f"{uri.stem}-{len(figures) + 1}.png")
                content = base64.b64decode(output.data["image/png"])
                figures.append(File.generated(config, str(figure), content=content))
                parts.append(f"![the figure of the cell above]({figure.name})")
    parts.insert(1, f"[This page as a notebook]({path.name}){{download}}")
    return [File.generated(config, str(uri), content="\n\n".join(parts) + "\n"), *figures]
