"""Reads a page of HTML, and checks that it is whole."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from xml.etree import ElementTree

VOID = ("meta", "img", "link", "br")


class Page(HTMLParser):
    """The elements of a page, and its text without style and script."""

    def __init__(self, path):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(path.read_text("utf-8"))
        self.close()
        assert self.open == []
        self.pictures = []
        for attributes in self.of("img"):
            assert attributes["alt"]
            kind, data = attributes["src"].split(",")
            assert kind == "data:image/svg+xml;base64"
            self.pictures.append(base64.b64decode(data).decode())
            ElementTree.fromstring(self.pictures[-1])

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script") and data.strip():
            self.text.append(data.strip())

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def check(self):
        """Every link leads somewhere, and nothing is fetched."""
        ids = {attributes["id"] for _, attributes in self.elements if "id" in attributes}
        assert {link["href"].removeprefix("#") for link in self.of("a")} <= ids
        for tag, attributes in self.elements:
            assert tag not in ("link", "iframe", "object")
            assert tag == "img" or "src" not in attributes
        assert not any(" href=" in picture.replace('href="#', "") for picture in self.pictures)
        return self
