"""MkDocs' hooks: pages made when the site is built, formulas, and links into the source."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import formulas
import notebooks
import source_code
from mkdocs.structure.files import File
from source_code import ROOT

# a link to a file of the repository that is no page
_OUTSIDE = re.compile(r"(?<=\]\()(?:\.\./)+[\w./-]*\w(?=[#)])")
# a link of a Markdown file to another file
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^]]*)\]\((?P<file>[\w./-]*)(?P<anchor>#[\w-]*)?\)")
# a picture that is a paragraph of its own
_PICTURE = re.compile(
    r'<p><img alt="(?P<alt>[^"]*)" src="(?P<src>[^"]*)"(?: title="(?P<title>[^"]*)")? ?/?></p>'
)
_CODE = re.compile(r"<code.*?</code>", re.S)
# in the text of HTML, outside its tags: a flag or name in code, since browsers break lines at its
# hyphens; a value with its interval or deviation
_FLAG = re.compile(r"(?<![\w-])(?:--?[a-z]|\w+-)[\w+-]*(?![^<]*>)")
_INTERVAL = re.compile(r"(?:[+−-]?[\d.]+ )?(?:± [\d.]+|\[[+−-]?[\d.]+, [+−-]?[\d.]+\])(?![^<]*>)")
_NO_SEARCH = "---\nsearch:\n  exclude: true\nhide:\n  - navigation\n  - toc\n---\n\n"


def on_startup(**unused: Any) -> None:
    """Only warnings of the libraries: fairseq turns every one's messages on."""
    for talkative in ("MARKDOWN", "fairseq", "hydra"):
        logging.getLogger(talkative).setLevel(logging.WARNING)


def on_config(config: Any) -> Any:
    """Put the pages that mkdocs.yml does not name into its last section, in alphabetical order."""
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    others = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in named]
    if others:
        config.nav = [*config.nav, {"More": others}]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of notebooks, and a page for every source file that a page speaks of."""
    for file in notebooks.pages(config):
        files.append(file)
    wanted = set()
    for page in files.documentation_pages():
        text = page.content_string
        folder = PurePosixPath("docs", page.src_uri).parent
        wanted |= {_outside(folder, match[0]) for match in _OUTSIDE.finditer(text)} - {None}
    # a page in Markdown is shown as one, and speaks of further files; one step is enough
    wanted |= {
        linked
        for path in sorted(wanted)
        if path.endswith(".md")
        for _, linked in _linked(path)
        if linked.endswith(".md") and not linked.startswith("docs/")
    }
    for path in sorted(wanted):
        uri = source_code.page_of(path)
        content = _markdown_page(path, wanted) if path.endswith(".md") else _file_page(path)
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, **unused: Any) -> str:
    """Turn links to files of the repository into links to pages, and explain terms."""
    uri = page.file.src_uri
    if uri.startswith(f"{source_code.PAGES}/"):
        return markdown
    folder = PurePosixPath("docs", uri).parent
    text = _OUTSIDE.sub(lambda match: _page_link(uri, folder, match[0]), markdown)
    return text if uri.startswith("reference/") else f"{text}\n\n{_abbreviations()}"


@cache
def _abbreviations() -> str:
    """The glossary's terms with their meanings, as tooltips wherever they occur."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    lines = []
    for match in re.finditer(r"^\| ([^|]+) \| ([^|]+) \|", text, re.M):
        meaning = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[2]).replace("`", "").strip()
        lines += [f"*[{term.strip()}]: {meaning}" for term in match[1].split(", ")]
    return "\n".join(line for line in lines if not line.startswith(("*[term]", "*[---")))


def on_page_content(html: str, **unused: Any) -> str:
    """Formulas as MathML; flags and intervals that never break; pictures with their captions."""
    unbroken = r'<span class="whole">\g<0></span>'
    html = _INTERVAL.sub(unbroken, _CODE.sub(lambda code: _FLAG.sub(unbroken, code[0]), html))
    return _PICTURE.sub(_figure, formulas.as_mathml(html))


def _figure(match: re.Match[str]) -> str:
    alt, src = match["alt"], match["src"]
    return (
        f'<figure><a href="{src}"><img alt="{alt}" src="{src}"></a>'
        f"<figcaption>{match['title'] or alt}</figcaption></figure>"
    )


# -- links and source ----------------------------------------------------------------------------


def _outside(folder: PurePosixPath, link: str) -> str | None:
    """The file of the repository that a page in `folder` links to, if it is no page itself."""
    path = os.path.normpath(folder / link)
    return path if (ROOT / path).is_file() and not path.startswith("docs/") else None


def _page_link(uri: str, folder: PurePosixPath, link: str) -> str:
    path = _outside(folder, link)
    return link if path is None else _relative(uri, source_code.page_of(path))


def _relative(uri: str, target: str) -> str:
    return os.path.relpath(target, PurePosixPath(uri).parent)


def _linked(path: str) -> Iterator[tuple[re.Match[str], str]]:
    """The links of a Markdown file of the repository, and the files that they lead to."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for match in _LINK.finditer(text):
        target = os.path.normpath(PurePosixPath(path).parent / match["file"])
        if match["file"] and (ROOT / target).exists():
            yield match, target


def _markdown_page(path: str, pages: Collection[str]) -> str:
    """A Markdown file of the repository; links to files without a page become plain text."""
    text, here = (ROOT / path).read_text(encoding="utf-8"), source_code.page_of(path)
    for match, target in reversed(list(_linked(path))):
        if target.startswith("docs/") and (ROOT / target).is_file():
            link = _relative(here, target.removeprefix("docs/")) + (match["anchor"] or "")
        elif target in pages:
            link = _relative(here, source_code.page_of(target)) + (match["anchor"] or "")
        else:
            link = ""
        shown = f"{match['image']}[{match['text']}]({link})" if link else match["text"]
        text = text[: match.start()] + shown + text[match.end() :]
    return f"---\nsearch:\n  boost: 0.5\n---\n\n{text}"


def _file_page(path: str) -> str:
    text = (ROOT / path).read_text(encoding="utf-8").rstrip()
    language = {".py": "python", ".yaml": "yaml", ".sh": "bash"}.get(
        PurePosixPath(path).suffix, "text"
    )
    return f'{_NO_SEARCH}# {path}\n\n``````{{.{language} linenums="1"}}\n{text}\n``````\n'
