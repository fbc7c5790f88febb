"""Looks at the built pages as a reader sees them; ``scripts/docs.sh --check`` calls it.

Without a browser: every link and anchor leads somewhere, and nothing is loaded from elsewhere. With
one: every page opens from disk at the width of a desk and of a phone, light and dark, and none has
an error in the console, a part wider than the window, code that ends without a scrollbar, or text
over text; and the search finds pages. The screenshots are written for a person to look at.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

WIDTHS = (1280, 390)  # pixels: a desk, a phone
SCHEMES = ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SEARCHED = ("kernel size", "transformer_dc")  # what the search has to find

# What a page does wrong, as sentences.
_FAULTS = """() => {
  const found = [], name = node => (node.textContent || "").trim().slice(0, 40);
  const article = document.querySelector("article") || document.body;
  const root = document.scrollingElement;
  if (root.scrollWidth > window.innerWidth + 1)
    found.push(`the page is ${root.scrollWidth} pixels wide`);
  for (const code of article.querySelectorAll("pre > code, pre")) {
    if (!code.offsetParent || code.scrollWidth <= code.clientWidth + 3) continue;
    if (code.offsetHeight - code.clientHeight < 4) // a bar that takes room is seen
      found.push(`code ends without a scrollbar: ${name(code)}`);
  }
  for (const table of article.querySelectorAll(".highlighttable")) {
    const heights = [".linenodiv pre", "pre > code"].map(part =>
      Math.round(10 * parseFloat(getComputedStyle(table.querySelector(part)).lineHeight)));
    if (heights[0] !== heights[1]) found.push(`numbers of lines are not beside: ${name(table)}`);
  }
  for (const cell of article.querySelectorAll("td, th, .number, figcaption")) {
    if (cell.offsetParent && cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth)
      found.push(`text is cut: ${name(cell)}`);
  }
  for (const cell of article.querySelectorAll("td:first-child"))
    if (/^[-*] /.test(cell.textContent)) found.push(`a list became a table: ${name(cell)}`);
  const boxes = [], walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("math, svg, pre, [hidden], .md-clipboard, .headerlink"))
      continue;
    if (!parent.offsetParent || parent.checkVisibility({checkOpacity: true}) === false) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects())
      if (box.width > 1 && box.height > 1) boxes.push([box, node]);
  }
  boxes.sort((a, b) => a[0].top - b[0].top);
  boxes.forEach(([a, first], i) => {
    for (let j = i + 1; j < boxes.length && boxes[j][0].top < a.bottom - 4; j++) {
      const [b, second] = boxes[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (first !== second && wide > 4 && high > 6)
        found.push(`text over text: "${name(first)}" and "${name(second)}"`);
    }
  });
  return [...new Set(found)];
}"""


class _Links(HTMLParser):
    """The names that a page defines, and what it links to or loads."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect one tag's names and links."""
        values = dict(attributes)
        self.names |= {values[key] or "" for key in ("id", "name") if key in values}
        link = values.get("href") or ""
        if tag == "a" and link:
            self.links.append(link)
        elif tag == "link" and "stylesheet" in (values.get("rel") or ""):
            self.loaded.append(link)
        elif tag in ("script", "img", "iframe", "object") and (values.get("src") or ""):
            self.loaded.append(values["src"] or "")


def read(path: Path) -> _Links:
    """The links of a page."""
    links = _Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


def dead_links(site: Path) -> Iterator[str]:
    """A sentence for every link, file and anchor that is missing, and for all from elsewhere."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    for path, page in pages.items():
        here = path.relative_to(site)
        for link in dict.fromkeys((*page.links, *page.loaded)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    yield f"{here}: loads {link} from elsewhere"
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target = target / "index.html"
            if not target.is_file():
                yield f"{here}: {link} leads nowhere"
            elif parts.fragment:
                names = pages[target].names if target in pages else {parts.fragment}
                if unquote(parts.fragment) not in names:
                    yield f"{here}: {link} has no such anchor"


def pages_of(site: Path) -> list[Path]:
    """The pages that are written, without those that hold a file of the repository."""
    found = sorted(site.rglob("*.html"))
    return [page for page in found if page.relative_to(site).parts[0] not in ("source", "404.html")]


def looked_at(site: Path, out: Path, browser: Any) -> Iterator[str]:
    """A sentence for everything that a browser shows to be wrong; writes the screenshots."""
    errors: list[str] = []

    def said(message: Any) -> None:
        if message.type == "error":
            errors.append(message.text)

    for scheme, width in itertools.product(SCHEMES, WIDTHS):
        view = {"width": width, "height": 900}
        context = browser.new_context(viewport=view, color_scheme=scheme)
        page = context.new_page()
        page.on("console", said)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda asked: errors.append(f"{asked.url} is not loaded"))
        for path in pages_of(site):
            errors.clear()
            here = path.relative_to(site)
            page.goto(path.as_uri())
            page.wait_for_timeout(150)
            if page.evaluate(_FAULTS):  # the page may not be laid out to its end
                page.wait_for_timeout(1000)
            faults = [*page.evaluate(_FAULTS), *errors]
            yield from (f"{here} ({width} pixels, {scheme}): {fault}" for fault in faults)
            name = "-".join(here.with_suffix("").parts)
            page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
        context.close()


def searched(site: Path, browser: Any) -> Iterator[str]:
    """A sentence for each word that the search does not find on a page that is opened from disk."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    for words in SEARCHED:
        page.goto((site / "index.html").as_uri())
        try:
            page.click("[data-md-component=search-query]", timeout=10_000)
            page.keyboard.type(words)
            page.wait_for_selector(".md-search-result__item a", timeout=10_000)
        except Exception:
            yield f"index.html: the search does not find '{words}' when the page is a file"


def main() -> int:
    """Check a folder of pages; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="scripts/docs.sh --check", description=__doc__)
    parser.add_argument("site", type=Path, help="folder of the built pages")
    parser.add_argument("--out", type=Path, default=Path("site-check"), help="for screenshots")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    faults = list(dead_links(site))
    program = next((shutil.which(name) for name in BROWSERS if shutil.which(name)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        program, missing = None, "the package playwright (pip install playwright)"
    else:
        missing = "a browser (on Debian: apt-get install chromium)"
    if program is None:
        print(f"links are checked; to look at the pages, {missing} is needed", file=sys.stderr)
    else:
        arguments.out.mkdir(parents=True, exist_ok=True)
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=program, args=as_root, ignore_default_args=["--hide-scrollbars"]
            )
            faults += [*searched(site, browser), *looked_at(site, arguments.out, browser)]
            browser.close()
    for fault in faults:
        print(fault)
    looked = "" if program is None else f", screenshots in {arguments.out}"
    print(f"{len(pages_of(site))} pages, {len(faults)} faults{looked}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
