"""``examples/blind_sheets.py``: no sheet names a system, and the tally undoes the draw."""

from __future__ import annotations

import csv
import runpy
import sys
from pathlib import Path

from records import write_run, write_scored

SCRIPT = Path(__file__).parents[3] / "examples" / "blind_sheets.py"
REFERENCES = [f"number {n} sits on the mat" for n in range(60)]


def call(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, words)])
    runpy.run_path(str(SCRIPT), run_name="__main__")


def test_sheets_are_blind_and_the_tally_undoes_the_draw(tmp_path, monkeypatch, capsys):
    texts = {"bad": [line.replace("mat", "rug") for line in REFERENCES], "good": REFERENCES}
    (tmp_path / "ref.de").write_text("\n".join(REFERENCES) + "\n")
    for name, lines in texts.items():
        run = write_run(tmp_path / name)
        (run / "out.de").write_text("\n".join(lines) + "\n")
        write_scored(run, "out.de", "../ref.de")
    call(monkeypatch, "sheets", tmp_path / "sheets", tmp_path / "bad", tmp_path / "good")
    sheet = tmp_path / "sheets" / "sheet-1.csv"
    with open(sheet, encoding="utf-8-sig", newline="") as lines:
        header, *rows = list(csv.reader(lines))
    assert len(rows) == 50 and "good" not in sheet.read_text("utf-8")
    assert len({row[2] == row[1] for row in rows}) == 2  # A is now one, now the other
    for row in rows[:40]:
        row[4] = "a" if row[2] == row[1] else "B"
    for row in rows[40:]:
        row[4] = "="
    with open(sheet, "w", encoding="utf-8-sig", newline="") as out:
        csv.writer(out).writerows([header, *rows])
    call(monkeypatch, "tally", tmp_path / "sheets")
    assert capsys.readouterr().out == "good against bad: 80% better, 20% equal, 0% worse\n"
