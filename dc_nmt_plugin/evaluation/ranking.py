"""Human ranking of translations: blind sheets, and the tally of what people wrote into them."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from ..errors import UserError
from ..files import replacing

COLUMNS = ("number", "source", "reference", "A", "B", "better (A, B or =)")
KEY = "key.json"
ANSWERS = {"a": "A", "b": "B", "=": "="}


def write_sheets(
    folder: Path,
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    source: Sequence[str] | None,
    sentences: int = 50,
    seed: int = 1,
) -> list[Path]:
    """A sheet (CSV) for each pair of systems, and the key that no ranker may see.

    Sentences are drawn at random among those that the two translate differently; which one is A is
    drawn for each sentence anew.

    Returns:
        the sheets

    Raises:
        UserError: fewer than two systems, or fewer different translations than asked for
    """
    names = list(systems)
    if len(names) < 2:
        raise UserError("a ranking needs two systems or more")
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(seed)
    key: dict[str, object] = {}
    paths: list[Path] = []
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            left, right = systems[first], systems[second]
            different = [n for n in range(len(references)) if left[n] != right[n]]
            if len(different) < sentences:
                raise UserError(
                    f"{first} and {second} translate {len(different)} sentences differently; "
                    f"--sentences {sentences} is too many"
                )
            path = folder / f"sheet-{len(paths) + 1}.csv"
            sides = []
            with replacing(path) as temporary, _csv(temporary, "w") as out:
                writer = csv.writer(out)
                writer.writerow(COLUMNS)
                for number in sorted(dice.sample(different, sentences)):
                    swapped = dice.random() < 0.5
                    a, b = (right, left) if swapped else (left, right)
                    shown = source[number] if source else ""
                    writer.writerow([number, shown, references[number], a[number], b[number], ""])
                    sides.append("B" if swapped else "A")
            key[path.name] = {"first": first, "second": second, "first is": sides}
            paths.append(path)
    with replacing(folder / KEY) as temporary:
        temporary.write_text(json.dumps(key, indent=1) + "\n", "utf-8")
    return paths


def _csv(path: Path, mode: str) -> IO[str]:
    """With the mark by which spreadsheets know UTF-8; without it they guess."""
    return open(path, mode, encoding="utf-8-sig", newline="")


def tally(folder: Path) -> list[tuple[str, str, int, int, int]]:
    """(second, first, better, equal, worse) of every pair: how often the second one won.

    Raises:
        UserError: no key, a sheet that is missing or changed, or an answer that is none
    """
    try:
        key = json.loads((folder / KEY).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{folder / KEY}: cannot be read: {error}") from error
    found = []
    for name, pair in key.items():
        path = folder / name
        try:
            with _csv(path, "r") as lines:
                rows = list(csv.DictReader(lines))
        except UnicodeDecodeError as error:
            raise UserError(
                f"{path}: is not UTF-8 (byte 0x{error.object[error.start]:02x}): save it from the "
                "spreadsheet as CSV UTF-8"
            ) from error
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from error
        if len(rows) != len(pair["first is"]):
            raise UserError(f"{path}: {len(rows)} rows, and {len(pair['first is'])} were given out")
        count = {"first": 0, "second": 0, "=": 0}
        for line, (row, side) in enumerate(zip(rows, pair["first is"], strict=True), start=2):
            answer = ANSWERS.get((row.get(COLUMNS[-1]) or "").strip().lower())
            if answer is None:
                raise UserError(
                    f"{path}, line {line}: {row.get(COLUMNS[-1])!r} is not one of A, B, ="
                )
            count["=" if answer == "=" else "first" if answer == side else "second"] += 1
        found.append((pair["second"], pair["first"], count["second"], count["="], count["first"]))
    return found
