"""Human ranking of translations: writes blind sheets, and counts the answers."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import IO, Any

from ..errors import UserError
from ..files import load_json, replacing

NUMBER, ANSWER = "number", "better (A, B or =)"
COLUMNS = (NUMBER, "source", "reference", "A", "B", ANSWER)
KEY = "key.json"
ANSWERS = {"a": "A", "b": "B", "=": "="}
SEPARATORS = ",;\t"  # separators that spreadsheets use, by country


def write_sheets(
    folder: Path,
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    source: Sequence[str] | None,
    sentences: int = 50,
    seed: int = 1,
) -> list[Path]:
    """Writes a sheet (CSV) for each pair of systems, and a key that no ranker may see.

    Sentences are drawn at random among those that the two translate differently; which one is A is
    drawn for each sentence anew.

    Returns:
        the sheets

    Raises:
        UserError: fewer than two systems, fewer different translations than asked for, or a sheet
            or a key that is there already
    """
    pairs = list(combinations(systems, 2))
    if not pairs:
        raise UserError("a ranking needs two systems or more")
    paths = [folder / f"sheet-{number}.csv" for number in range(1, len(pairs) + 1)]
    there = next((path for path in (folder / KEY, *paths) if path.exists()), None)
    if there:
        raise UserError(
            f"{there}: exists, and its sheets may be filled in already: choose another folder"
        )
    different = [
        [n for n in range(len(references)) if systems[first][n] != systems[second][n]]
        for first, second in pairs
    ]
    for (first, second), numbers in zip(pairs, different, strict=True):
        if len(numbers) < sentences:
            raise UserError(
                f"{first} and {second} translate {len(numbers)} sentences differently; "
                f"--sentences {sentences} is too many"
            )
    dice = random.Random(seed)
    key: dict[str, object] = {}
    with ExitStack() as stack:
        for path, (first, second), candidates in zip(paths, pairs, different, strict=True):
            left, right = systems[first], systems[second]
            numbers, sides = sorted(dice.sample(candidates, sentences)), []
            temporary = stack.enter_context(replacing(path))
            with _csv(temporary, "w") as out:
                writer = csv.writer(out)
                writer.writerow(COLUMNS)
                for number in numbers:
                    swapped = dice.random() < 0.5
                    a, b = (right, left) if swapped else (left, right)
                    shown = source[number] if source else ""
                    writer.writerow([number, shown, references[number], a[number], b[number], ""])
                    sides.append("B" if swapped else "A")
            key[path.name] = {
                "first": first, "second": second, "numbers": numbers, "first is": sides,
            }  # fmt: skip
        temporary = stack.enter_context(replacing(folder / KEY))
        temporary.write_text(json.dumps(key, indent=1) + "\n", "utf-8")
    return paths


def _csv(path: Path, mode: str) -> IO[str]:
    """Adds the mark by which spreadsheets recognise UTF-8."""
    return open(path, mode, encoding="utf-8-sig", newline="")


def tally(folder: Path) -> list[tuple[str, str, int, int, int]]:
    """Returns (second, first, better, equal, worse) for every pair: how often the second one won.

    The rows of a sheet may stand in any order: the number identifies the sentence.

    Raises:
        UserError: no key, a sheet that is missing or changed, or an answer that is none
    """
    found = []
    for name, pair in _read_key(folder / KEY).items():
        path = folder / name
        rows = _read_sheet(path)
        if len(rows) != len(pair["first is"]):
            raise UserError(f"{path}: {len(rows)} rows, and {len(pair['first is'])} were given out")
        sides = dict(zip(pair["numbers"], pair["first is"], strict=True))
        seen = set()
        count = {"first": 0, "second": 0, "=": 0}
        for line, number, text in rows:
            if number not in sides or number in seen:
                why = "occurs twice" if number in seen else "was not given out"
                raise UserError(f"{path}, line {line}: sentence {number} {why}")
            seen.add(number)
            answer = ANSWERS.get(text.strip().lower())
            if answer is None:
                raise UserError(f"{path}, line {line}: {text!r} is not one of A, B, =")
            won = "first" if answer == sides[number] else "second"
            count["=" if answer == "=" else won] += 1
        found.append((pair["second"], pair["first"], count["second"], count["="], count["first"]))
    return found


def _read_key(path: Path) -> dict[str, dict[str, Any]]:
    """Returns, by sheet, its two systems, which of them is A, and the sentences.

    Raises:
        UserError: it is missing, or no key
    """
    key = load_json(path)
    needed = {"first", "second", "numbers", "first is"}
    pairs = list(key.values()) if isinstance(key, dict) else [None]
    if not all(isinstance(pair, dict) and needed <= pair.keys() for pair in pairs):
        raise UserError(f"{path}: is not the key that dc-nmt rank sheets wrote")
    return dict(key)


def _read_sheet(path: Path) -> list[tuple[int, int, str]]:
    """Returns (line, sentence number, answer) of every row, for any separator.

    Raises:
        UserError: the file cannot be read, or is no sheet
    """
    try:
        with _csv(path, "r") as lines:
            text = lines.read()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: is not UTF-8 (byte 0x{error.object[error.start]:02x}): save it from the "
            "spreadsheet as CSV UTF-8"
        ) from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    for separator in SEPARATORS:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
        try:
            if {NUMBER, ANSWER} <= set(reader.fieldnames or ()):
                cells = [(reader.line_num, row[NUMBER], row[ANSWER]) for row in reader]
                break
        except csv.Error as error:
            raise UserError(f"{path}, line {reader.line_num}: is no CSV: {error}") from error
    else:
        raise UserError(
            f"{path}, line 1: has no columns {NUMBER!r} and {ANSWER!r}, separated by commas, "
            "semicolons or tabs"
        )
    rows = []
    for line, number, answer in cells:
        try:
            rows.append((line, int(number), answer or ""))
        except ValueError:
            raise UserError(f"{path}, line {line}: {number!r} is no number of a sentence") from None
    return rows
