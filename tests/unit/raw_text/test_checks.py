"""Checks of text: each kind of problem, in ``check-text`` and in ``new``."""

from __future__ import annotations

import json
import re
from unicodedata import normalize

import pytest

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.raw_text import TextSettings, checks
from dc_nmt_plugin.laboratory.raw_text.checks import (
    SYMBOLS,
    escape_symbols,
    in_form,
    is_decomposed,
    scan_groups,
    scan_lines,
    shared_lines,
    unicode_form,
)
from dc_nmt_plugin.laboratory.raw_text.preparation import tokenise
from dc_nmt_plugin.laboratory.recipes.held_out import lines_that_occur_once

PAIRS = 300


@pytest.fixture
def here(cwd):
    """A folder with 300 clean pairs, and 20 for validation and for test each."""
    for name, pairs in (("a", PAIRS), ("v", 20), ("t", 20)):
        write(cwd / f"{name}.de", [f"Das schöne Haus {name}{n}, am See." for n in range(pairs)])
        write(cwd / f"{name}.en", [f"The nice house {name}{n}, by a lake." for n in range(pairs)])
    return cwd


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")


def read(path):
    return path.read_text("utf-8").split("\n")[:-1]


def changed(path, change):
    """The file, each line through ``change(number, line)``."""
    write(path, [change(number, line) for number, line in enumerate(read(path), start=1)])


def called(capsys, *words):
    code = cli.main(list(map(str, words)))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def once(text):
    """Put in the place of the third line."""
    return lambda number, line: text if number == 3 else line


def each(change):
    return lambda number, line: change(line)


# words of the kind → change of a clean file; whether training is refused
SPOILT = {
    "mark of BPE: sentencepiece": each(lambda line: "▁" + line.replace(" ", " ▁")),
    "mark of BPE": each(lambda line: line.replace("ou", "o@@ u").replace("au", "a@@ u")),
    "read as Latin-1": each(lambda line: f"{line} Größe".encode().decode("latin-1")),
    "looks tokenised": each(lambda line: line.replace(",", " ,").replace(".", " .")),
    "has a tab": each(lambda line: f"{line}\t{line}"),
    "plain sentence: JSON": each(lambda line: json.dumps({"text": line})),
    "plain sentence: IWSLT tags": lambda n, line: f"<talkid>{n}</talkid>" if n % 9 == 1 else line,
    "plain sentence: XML or SGM": lambda n, line: f'<seg id="{n}"> {line} </seg>',
    "plain sentence: TMX": lambda n, line: f"<tu><tuv><seg>{line}</seg></tuv></tu>",
    "fairseq's own symbol": once("x <pad> y"),
    "nothing visible in it": once("\u200b"),
    "several characters": lambda n, line: f"{line} {'é' if n % 2 else 'e' + chr(769)}",
}


CASES = [(kind, "train", "en") for kind in SPOILT]
SETS = ("train", "valid", "test")
CASES += [("mark of BPE", split, side) for split in SETS for side in ("de", "en")]


@pytest.mark.parametrize(("kind", "split", "side"), dict.fromkeys(CASES))
def test_spoilt_text_is_refused_on_either_side_of_every_set(kind, split, side, here, capsys):
    name = {"train": "a", "valid": "v", "test": "t"}[split]
    changed(here / f"{name}.{side}", SPOILT[kind])
    words = ["new", "mine", "--train", "a.de", "a.en", "--valid", "v.de", "v.en"]
    code, out, err = called(capsys, *words, "--test", "t.de", "t.en")
    assert code == 1 and not (here / "mine").exists()
    assert f"--{split}: {name}.{side}, line " in err and err.count("\n") == 1
    named = [line for line in out.splitlines() if line.startswith(f"{name}.{side}, line ")]
    assert any(kind.partition(":")[0] in line for line in named)
    code, _, _ = called(capsys, "check-text", f"{name}.de", f"{name}.en")
    assert code == (kind != "looks tokenised")


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_symbols_of_fairseq_never_become_its_numbers(symbol, here, capsys):
    """Tokenised text is taken as it is: the word would be read as padding or as an end."""
    changed(here / "a.en", once(f"a {symbol} b"))
    code, _, err = called(capsys, "new", "mine", "--tokenized", "--train", "a.de", "a.en")
    assert code == 1 and f"a.en, line 3: has the word {symbol}" in err
    (prepared,) = tokenise([f"a {symbol} b"], "en", TextSettings(tokenizer="none"))
    assert symbol not in prepared.split() and len(prepared.split()) == 3
    assert escape_symbols("x<s> <b> a<pad>b") == "x<s> <b> a<pad>b", "no words of their own"


# words of the kind → a line of it, and its example
NAMED = {
    "control characters": [("a house\u2028by a lake", "U+2028"), ("a hou\x00se", "U+0000")],
    "the line is blank": [(" \u3000", "")],
}


@pytest.mark.parametrize("kind", NAMED)
def test_what_can_be_trained_on_is_named_with_its_number(kind, here, capsys):
    for text, example in NAMED[kind]:
        changed(here / "a.en", once(text))
        code, out, _ = called(capsys, "new", f"with-{example[-4:]}", "--train", "a.de", "a.en")
        assert code == 0
        row = next(line for line in out.splitlines() if "a.en, line 3: " in line)
        assert (kind if not example else "which some tools") in row and example in row
        seen = called(capsys, "check-text", "a.de", "a.en")
        assert row in seen[1].splitlines(), "the same sentence"
        assert seen[0] == 1


def test_a_table_of_two_columns_is_named(here, capsys):
    pairs = zip(read(here / "a.de"), read(here / "a.en"), strict=True)
    write(here / "pairs.tsv", map("\t".join, pairs))
    languages = ["--source-lang", "de", "--target-lang", "en"]
    code, _, err = called(capsys, "new", "mine", "--train", "pairs.tsv", "pairs.tsv", *languages)
    assert code == 1 and "cut -f1 pairs.tsv" in err and "cut -f2 pairs.tsv" in err


def test_good_text_of_many_scripts_has_no_finding():
    """Marks of French, capitals before quotation marks, joiners of Persian and Hindi."""
    lines = {
        "fr": "« CAFÉ » : « à l'été », dit-il !", "fa": "او به خانه می‌رود، نه؟",
        "hi": "घर में क्‍या है।", "de": "«Gruß» und »CAFÉ«, 5 < 6 > 4, a@b.de, x@@y, Größe–Maß",
        "th": "ฉันรักเธอ , มาก", "zh": "我们今天下午去公园散步。", "pt": "PÃO E MAÇÃ, SÃO â",
        "vi": "Tôi đã ăn cơm.",
    }  # fmt: skip
    for code, line in lines.items():
        assert scan_lines(code, [f"{line} {n}" for n in range(150)]).findings == [], code


def test_lines_that_are_in_two_sets(here, capsys):
    """They make a score too good; ``new`` leaves them out of training by itself."""
    write(here / "t.de", [*read(here / "t.de")[:19], read(here / "a.de")[8].upper()])
    code, out, _ = called(capsys, "check-text", "a.de", "a.en", "t.de", "t.en")
    assert code == 0 and "t.de: 1 of 20 lines are also in a.de, the first is line 20" in out
    words = ["new", "mine", "--train", "a.de", "a.en", "--valid", "v.de", "v.en"]
    _, out, _ = called(capsys, *words, "--test", "v.de", "v.en")
    assert "v.en: 20 of 20 lines are also in v.en" in out


def test_lower_case_of_turkish(here, capsys):
    """The metrics with -lc make i of I."""
    write(here / "h.tr", ["ışık istanbul'da"])
    write(here / "r.tr", ["Işık İstanbul'da"])
    _, out, err = called(capsys, "score", "h.tr", "--reference", "r.tr", "--target-lang", "tr")
    assert "-lc" not in out and "lower-case both sides" in err


def test_sets_in_different_forms_of_unicode(here, capsys):
    """Consistent text in NFD is as good as in NFC."""
    words = ["--train", "a.de", "a.en", "--valid", "v.de", "v.en"]
    changed(here / "v.de", each(lambda line: normalize("NFD", line)))
    code, out, err = called(capsys, "new", "mine", *words)
    assert code == 1 and "v.de, line 1: has several" in out and "v.de, line 1: has several" in err
    assert not (here / "mine").exists()
    write(here / "r.de", read(here / "v.de"))
    changed(here / "r.de", each(lambda line: normalize("NFC", line)))
    score = ["score", "v.de", "--reference", "r.de", "--target-lang", "de"]
    assert "form NFD, the references in NFC" in called(capsys, *score)[2]
    changed(here / "a.de", each(lambda line: normalize("NFD", line)))
    code, out, _ = called(capsys, "new", "mine", *words)
    assert code == 0 and "for one letter" not in out
    assert "Unicode" not in called(capsys, *score[:2], "--reference", "v.de", *score[4:])[2]
    dictionary = ["Das 3", "scho\u0308n@@ 2", "e 1"]
    form = unicode_form(word for word in dictionary if not word.isascii())
    assert form == "NFD" and in_form("schön", form) == normalize("NFD", "schön")
    assert unicode_form(["a"]) is unicode_form(["é", "e\u0301"]) is None
    # NFC would make two characters of one that Hindi has, and shortens nothing
    assert in_form("\u0958 é", "NFC") == "\u0958 é" and not is_decomposed("\u0958")


def test_the_marks_of_the_tokenizer_split_are_scored(here, capsys):
    write(here / "hyp", ["▁A ▁dog , ▁it ▁runs ."])
    write(here / "ref", ["A dog, it runs."])
    words = ["score", "hyp", "--tokenized", "--tokenizer", "split", "--reference", "ref"]
    code, out, err = called(capsys, *words, "--target-lang", "en", "--metrics", "multi-bleu")
    assert code == 0 and "100.00" in out, err


def test_the_report_has_every_line_with_a_problem(here, capsys):
    changed(here / "a.de", once("x\u2028y"))
    english = read(here / "a.en")
    write(here / "a.en", [*english[:4], "", *english[5:8], "<pad>", *english[9:]])
    rows = "a.de\t3\tcontrol\tU+2028\na.en\t5\tblank\t\na.en\t9\tsymbol\t<pad>\n"
    for command in (["check-text"], ["new", "mine", "--train"]):
        assert cli.main([*command, "a.de", "a.en", "--report", "all/problems.tsv"]) == 1
        assert (here / "all/problems.tsv").read_text("utf-8") == rows
        (here / "all/problems.tsv").unlink()


def test_many_lines_are_looked_at_in_blocks(here, monkeypatch):
    """Positions in the text do not depend on the blocks."""
    lines = [f"x {n % 1500} " + "y " * ((7 * n * n) % 40) for n in range(2000)]
    write(here / "a.de", lines)
    write(here / "a.en", [*(line.upper() + "!" for line in lines[1:]), "end"])
    write(here / "t.de", lines[:300:7])
    sides = [here / "a.de", here / "a.en"]

    def found():
        scans, findings = scan_groups([sides, [here / "t.de", here / "t.de"]])
        by_set = {"train": scans[0], "test": scans[1]}
        held_out = lines_that_occur_once(["valid"], by_set)
        return findings, shared_lines(scans), held_out

    whole = found()
    (shifted,) = (finding for finding in whole[0] if finding.kind == "shifted")
    assert shifted.first < 4 and len(whole[1]) and len(whole[2]) == 100
    monkeypatch.setattr(checks, "BLOCK", 97)
    assert found() == whole


def test_a_line_that_is_lost_on_one_side_is_named(here, capsys):
    lengths = [3 + (7 * n * n) % 40 for n in range(2000)]
    write(here / "a.de", [f"Haus {n} " + "x " * length for n, length in enumerate(lengths)])
    english = [f"House {n} " + "y " * length for n, length in enumerate(lengths)]
    write(here / "a.en", english)
    assert cli.main(["check-text", "a.de", "a.en"]) == 0
    lost = [*english[:500], *english[501:], "The end."]
    for_a_while = [*english[:800], "More.", *english[800:1600], *english[1601:]]
    for line, shifted in ((501, lost), (801, for_a_while)):
        write(here / "a.en", shifted)
        assert cli.main(["new", "mine", "--train", "a.de", "a.en"]) == 1
        message = capsys.readouterr().err
        assert "this line and the next ones translate other lines of a.de (" in message
        (named,) = re.findall(r"a\.en, line (\d+)", message)
        assert abs(int(named) - line) <= 3


def test_entities_are_no_tokens(here, capsys):
    write(here / "a.en", [f"A man&#39;s house {n}, &amp; a lake." for n in range(PAIRS)])
    assert cli.main(["new", "mine", "--train", "a.de", "a.en"]) == 1
    message = capsys.readouterr().err
    assert "has the HTML entity &#39; (300 of 300 lines)" in message
    write(here / "a.en", [f"A man &apos;s house {n} , a lake &amp; ." for n in range(PAIRS)])
    assert cli.main(["new", "mine", "--train", "a.de", "a.en"]) == 1
    assert "the text looks tokenised ('&apos;' in line 1)" in capsys.readouterr().err


def test_characters_that_no_training_line_has_are_named(here, capsys):
    write(here / "t.en", [f"“The house {n}” by a lake." for n in range(20)])
    given = ["--train", "a.de", "a.en", "--test", "t.de", "t.en"]
    assert cli.main(["new", "mine", *given]) == 0
    said = "t.en: 20 of 20 lines have characters that a.en never has, which no model of it knows: "
    assert f"{said}“ ”\n" in capsys.readouterr().out
