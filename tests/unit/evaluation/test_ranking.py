"""``dc-nmt rank``: blind sheets, and what people and their spreadsheets do to them."""

from __future__ import annotations

import codecs
import csv

import pytest
from records import REFERENCE

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.evaluation.ranking import ANSWER, COLUMNS, KEY, NUMBER, tally, write_sheets

REFERENCES = [f"the cat number {n} sits on the mat of house {n % 7} today" for n in range(40)]
WORSE = [line.replace("sits on", "lies at") if n % 2 else line for n, line in enumerate(REFERENCES)]
BAD = [line.replace("the mat", "a rug") if n % 3 else line for n, line in enumerate(WORSE)]
SYSTEMS = {"base": BAD, "ours": WORSE}
FOUND = [("ours", "base", 7, 1, 2)]


def read(sheet):
    with open(sheet, newline="", encoding="utf-8-sig") as lines:
        return list(csv.DictReader(lines))


def save(sheet, rows, delimiter=","):
    """As a spreadsheet does: with quotation marks only where they must be."""
    with open(sheet, "w", newline="", encoding="utf-8-sig") as out:
        writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def filled(tmp_path):
    """Makes a sheet of ten rows: 7 wins of the second system, one tie, 2 wins of the baseline."""
    (sheet,) = write_sheets(tmp_path, SYSTEMS, REFERENCES, None, sentences=10)
    rows = read(sheet)
    for place, row in enumerate(rows):
        better = "A" if row["A"] == WORSE[int(row[NUMBER])] else "B"
        worse = "B" if better == "A" else "A"
        row[ANSWER] = better if place < 7 else "=" if place == 7 else worse.lower()
    save(sheet, rows)
    return sheet


def test_sheets_are_blind_and_the_tally_undoes_the_draw(tmp_path, filled):
    fresh = tmp_path / "fresh"
    (sheet,) = write_sheets(fresh, SYSTEMS, REFERENCES, None, sentences=10)
    assert sheet.read_bytes().startswith(codecs.BOM_UTF8)  # by which spreadsheets know it
    rows = read(sheet)
    assert len(rows) == 10 and "ours" not in sheet.read_text()
    sides = {row["A"] == WORSE[int(row[NUMBER])] for row in rows}
    assert sides == {True, False}  # which one is A changes from row to row
    assert tally(tmp_path) == FOUND


def test_rows_may_be_sorted(filled):
    save(filled, sorted(read(filled), key=lambda row: (row[ANSWER], row["A"])))
    assert tally(filled.parent) == FOUND


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_whatever_a_spreadsheet_separates_cells_with(filled, delimiter):
    save(filled, read(filled), delimiter)
    assert tally(filled.parent) == FOUND


def test_wrong_sheets_are_named(tmp_path):
    write_sheets(tmp_path, SYSTEMS, REFERENCES, None, sentences=5)
    with pytest.raises(UserError, match=r"sheet-1.csv, line 2: '' is not one of A, B, ="):
        tally(tmp_path)
    (tmp_path / "sheet-1.csv").write_bytes("Straße\n".encode("cp1252"))
    with pytest.raises(UserError, match=r"sheet-1.csv: is not UTF-8 \(byte 0xdf\)"):
        tally(tmp_path)
    (tmp_path / "sheet-1.csv").write_text("number|better\n1|A\n")
    with pytest.raises(UserError, match=r"line 1: has no columns 'number' and .* semicolons"):
        tally(tmp_path)
    with pytest.raises(UserError, match=r"key.json: cannot be read"):
        tally(tmp_path / "elsewhere")
    (tmp_path / KEY).write_text("[]")
    with pytest.raises(UserError, match=r"key.json: is not the key"):
        tally(tmp_path)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("999", "line 3: sentence 999 was not given out"),
        (None, "line 3: sentence [0-9]+ occurs twice"),
        ("x", "line 3: 'x' is no number of a sentence"),
    ],
)
def test_changed_numbers_are_named(filled, number, message):
    rows = read(filled)
    rows[1][NUMBER] = number or rows[0][NUMBER]
    save(filled, rows)
    with pytest.raises(UserError, match=message):
        tally(filled.parent)


def test_all_sheets_are_written_or_none(tmp_path):
    almost = [*WORSE[:-3], "x", "y", "z"]
    with pytest.raises(
        UserError, match=r"ours and almost translate 3 .* --sentences 5 is too many"
    ):
        write_sheets(tmp_path / "new", {**SYSTEMS, "almost": almost}, REFERENCES, None, sentences=5)
    assert not (tmp_path / "new").exists()
    with pytest.raises(UserError, match="two systems or more"):
        write_sheets(tmp_path / "new", {"base": BAD}, REFERENCES, None)


@pytest.mark.parametrize("there", [KEY, "sheet-1.csv"])
def test_what_people_filled_in_is_not_written_over(filled, there):
    folder = filled.parent
    (folder / (KEY if there != KEY else "sheet-1.csv")).unlink()
    before = (folder / there).read_bytes()
    with pytest.raises(UserError, match=f"{there}: exists, and its sheets may be filled in"):
        write_sheets(folder, SYSTEMS, REFERENCES, None, sentences=10)
    assert [path.name for path in folder.iterdir()] == [there]
    assert (folder / there).read_bytes() == before


def test_plain_text_takes_the_reference_of_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, lines in (("ref.de", REFERENCE), ("a.txt", REFERENCE), ("b.txt", REFERENCE[::-1])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    words = ["--out", "sheets", "--sentences", "2"]
    assert cli.main(["rank", "sheets", "a.txt", "b.txt", *words]) == 1
    said = capsys.readouterr().err
    assert "a.txt: plain text has no reference" in said and "--" not in said.split("such as")[0]
    plain = ["a.txt", "--reference", "ref.de", "--target-lang", "de"]
    assert cli.main(["score", *plain, "--out", "a.json"]) == 0
    capsys.readouterr()
    assert cli.main(["rank", "sheets", "a.json", "b.txt", *words]) == 0
    assert capsys.readouterr().out.startswith("sheets/sheet-1.csv\n")
