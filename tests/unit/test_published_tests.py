"""The t-test, the samples of 1,000 pairs and the ranking that single papers name."""

from __future__ import annotations

import codecs
import csv

import pytest
from scipy.stats import ttest_rel

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.evaluation.metrics import METRICS
from dc_nmt_plugin.evaluation.published_tests import sampled_tests, t_tests
from dc_nmt_plugin.evaluation.ranking import COLUMNS, tally, write_sheets

REFERENCES = [f"the cat number {n} sits on the mat of house {n % 7} today" for n in range(40)]
WORSE = [line.replace("sits on", "lies at") if n % 2 else line for n, line in enumerate(REFERENCES)]
BAD = [line.replace("the mat", "a rug") if n % 3 else line for n, line in enumerate(WORSE)]


def test_the_t_test_is_one_tailed():
    systems = {"base": BAD, "ours": WORSE, "same": BAD, "oracle": REFERENCES}
    ours, same, oracle = t_tests(systems, REFERENCES, "en", METRICS["mteval-v13a"])
    assert ours.p_value < 0.01 and oracle.p_value < ours.p_value and ours.t > 0
    assert same.p_value == 0.5
    (back,) = t_tests({"base": WORSE, "ours": BAD}, REFERENCES, "en", METRICS["mteval-v13a"])
    assert back.p_value == pytest.approx(1 - ours.p_value) and back.t == pytest.approx(-ours.t)
    assert ttest_rel([2, 3, 5], [1, 3, 3], alternative="greater").pvalue < 0.15


def test_samples_of_a_given_size():
    systems = {"base": BAD, "ours": WORSE}
    (few,) = sampled_tests(systems, REFERENCES, 4, False, resamples=200)
    (many,) = sampled_tests(systems, REFERENCES, 400, False, resamples=200)
    assert (many.left, many.right) == ("base", "ours")
    assert many.right_wins >= few.right_wins and many.p_value <= few.p_value
    assert many.right_wins == 1


def test_sheets_are_blind_and_the_tally_undoes_the_draw(tmp_path):
    systems = {"base": BAD, "ours": WORSE}
    (sheet,) = write_sheets(tmp_path, systems, REFERENCES, None, sentences=10)
    assert sheet.read_bytes().startswith(codecs.BOM_UTF8)  # by which spreadsheets know it
    with open(sheet, newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 10 and "ours" not in sheet.read_text()
    sides = {row["A"] == WORSE[int(row["number"])] for row in rows}
    assert sides == {True, False}  # which one is A changes from row to row
    for place, row in enumerate(rows):  # ours wins 7 times, one tie, 2 times the baseline
        better = "A" if row["A"] == WORSE[int(row["number"])] else "B"
        worse = "B" if better == "A" else "A"
        row[COLUMNS[-1]] = better if place < 7 else "=" if place == 7 else worse.lower()
    with open(sheet, "w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    assert tally(tmp_path) == [("ours", "base", 7, 1, 2)]


def test_wrong_sheets_are_named(tmp_path):
    with pytest.raises(UserError, match="--sentences 60 is too many"):
        write_sheets(tmp_path, {"a": BAD, "b": WORSE}, REFERENCES, None, sentences=60)
    write_sheets(tmp_path, {"a": BAD, "b": WORSE}, REFERENCES, None, sentences=5)
    with pytest.raises(UserError, match=r"sheet-1.csv, line 2: '' is not one of A, B, ="):
        tally(tmp_path)
    (tmp_path / "sheet-1.csv").write_bytes("Straße\n".encode("cp1252"))
    with pytest.raises(UserError, match=r"sheet-1.csv: is not UTF-8 \(byte 0xdf\)"):
        tally(tmp_path)
    with pytest.raises(UserError, match=r"key.json: cannot be read"):
        tally(tmp_path / "elsewhere")
