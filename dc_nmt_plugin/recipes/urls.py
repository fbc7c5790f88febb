"""Checks that the URLs of a recipe's files answer. Asks only for sizes, downloads no file."""

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
TOLERANCE = 0.1  # tolerated difference from an approximate size in a recipe
AT_A_TIME = 8
# no network; a URL that has gone gives an HTTP error
UNREACHABLE = (urllib.error.URLError, OSError, http.client.HTTPException)


@dataclass(frozen=True)
class CheckedUrl:
    """Describes the answer of one URL of a file.

    Attributes:
        name: name of the file
        url: the URL
        expected: size in bytes in the recipe; None if unknown
        bytes: size in bytes in the answer; None if unknown
        status: HTTP status; None without an answer
        problem: reason why there was no answer; "" with an answer
    """

    name: str
    url: str
    expected: int | None
    bytes: int | None
    status: int | None
    problem: str

    @property
    def verdict(self) -> str:
        """Returns ``ok``, or what is wrong in a few words."""
        if self.status is None:
            return f"no answer: {self.problem}"
        if self.status >= 400:
            return f"dead: {self.status} {self.problem}"
        if self.bytes is None or self.expected is None:
            return "ok"
        if abs(self.bytes - self.expected) > TOLERANCE * self.expected:
            return "another size than the recipe's"
        return "ok"


def check_urls(recipe: Recipe) -> Iterator[CheckedUrl]:
    """Yields the answer of every URL of a recipe, in the order of the recipe."""
    urls = [(file, url) for file in recipe.task.files.values() for url in file.urls]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield from pool.map(lambda each: _ask(*each), urls)


def _ask(file: SourceFile, url: str) -> CheckedUrl:
    def answered(size: int | None, status: int | None, problem: str = "") -> CheckedUrl:
        return CheckedUrl(file.name, url, file.bytes, size, status, problem)

    try:
        with _head(url) as answer:
            length = answer.headers.get("Content-Length")
            return answered(int(length) if length and length.isdecimal() else None, answer.status)
    except urllib.error.HTTPError as error:
        return answered(None, error.code, str(error.reason))
    except UNREACHABLE as error:
        return answered(None, None, str(getattr(error, "reason", error)))


def _head(url: str) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "dc-nmt"})
    answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT)
    return answer
