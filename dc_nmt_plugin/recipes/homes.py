"""Whether the addresses of a recipe's files still answer: their sizes are asked for, no file."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .recipe import Recipe
from .schema import SourceFile

TIMEOUT = 20  # seconds without an answer
TOLERANCE = 0.1  # of a size that a recipe knows roughly
AT_A_TIME = 8
# no network, as opposed to a home that has gone
UNREACHABLE = (urllib.error.URLError, OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Home:
    """One address of a file.

    Attributes:
        name: of the file
        url: the address
        expected: bytes that the recipe has; None where it does not say
        bytes: what the address says; None where it does not
        status: of HTTP; None without an answer
        problem: why there was no answer; "" for one
    """

    name: str
    url: str
    expected: int | None
    bytes: int | None
    status: int | None
    problem: str

    @property
    def verdict(self) -> str:
        """In a word or a few; nothing but ``ok`` is good."""
        if self.status is None:
            return f"no answer: {self.problem}"
        if self.status >= 400:
            return f"dead: {self.status} {self.problem}"
        if self.bytes is None or self.expected is None:
            return "ok"
        if abs(self.bytes - self.expected) > TOLERANCE * self.expected:
            return "another size than the recipe's"
        return "ok"


def check_homes(recipe: Recipe) -> Iterator[Home]:
    """Ask every address of a recipe's files, several at a time; in the recipe's order."""
    homes = [(file, url) for file in recipe.task.files.values() for url in file.urls]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield from pool.map(lambda home: _ask(*home), homes)


def _ask(file: SourceFile, url: str) -> Home:
    def home(size: int | None, status: int | None, problem: str = "") -> Home:
        return Home(file.name, url, file.bytes, size, status, problem)

    try:
        with _head(url) as answer:
            length = answer.headers.get("Content-Length")
            return home(int(length) if length and length.isdecimal() else None, answer.status)
    except urllib.error.HTTPError as error:
        return home(None, error.code, str(error.reason))
    except UNREACHABLE as error:
        return home(None, None, str(getattr(error, "reason", error)))


def _head(url: str) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "dc-nmt"})
    answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT)
    return answer
