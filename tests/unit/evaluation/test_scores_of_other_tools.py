"""Scores against those of the tools that define them: Moses' scripts and sacreBLEU."""

from __future__ import annotations

import json

import pytest
import sacrebleu
from reference.multi_bleu import multi_bleu, split_compounds
from sacremoses import MosesDetokenizer, MosesDetruecaser, MosesTokenizer

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import score as score_command

# newstest-like German: hyphens that -a splits, quotes that are escaped, sentences in lower case
REFERENCE = [
    "Die 33-Fuß-Jacht der EU-Kommission lag vor der Nord-Ostsee-Küste.",
    'Der Ex-Minister nannte das "Sparpaket" am Mittwoch eine Mogelpackung.',
    "80-Jährige fahren im Durchschnitt 12 Kilometer pro Woche mit dem E-Bike.",
    "Die Preise stiegen um 3,5 Prozent, sagte ein Sprecher der Bank.",
    "Am 11. September-Denkmal legten die Gäste Kränze nieder.",
    "Das Foto-Archiv - rund 20.000 Bilder - wird bis 2014 ins Netz gestellt.",
]
HYPOTHESES = [
    "Die 33-Fuß-Yacht der EU-Kommission lag vor der Nordsee-Küste.",
    'Der ehemalige Minister nannte das "Sparpaket" am Mittwoch ein Mogelpaket.',
    "80-Jährige fahren im Schnitt 12 Kilometer pro Woche mit dem E-Bike.",
    "Die Preise stiegen um 3,5 Prozent, sagte ein Sprecher der Bank.",
    "Am 11. September-Denkmal haben die Gäste Kränze niedergelegt.",
    "Das Foto-Archiv - rund 20.000 Bilder - soll bis 2014 ins Netz gehen.",
]


def moses(lines, aggressive):
    tokenizer = MosesTokenizer(lang="de")
    return [
        tokenizer.tokenize(line, aggressive_dash_splits=aggressive, return_str=True)
        for line in lines
    ]


def truecased(lines):
    """Moses' truecaser on sentences whose first word is mostly written small."""
    return [line[0].lower() + line[1:] for line in lines]


def write(folder, **texts):
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def score(folder, flags, capsys):
    """(metric → score, metric → what was done to the text)."""
    words = [str(folder / w) if (folder / w).exists() else w for w in flags.split()]
    out = folder / "out.json"
    assert score_command.main([*words, "--target-lang", "de", "--out", str(out)]) == 0
    capsys.readouterr()
    scores = json.loads(out.read_text())["decodings"][0]["scores"]
    return {s["metric"]: s["value"] for s in scores}, {s["metric"]: s["text"] for s in scores}


def test_compound_split_is_the_same_with_and_without_aggressive_hyphens(tmp_path, capsys):
    scores = {}
    for name, aggressive in (("moses", False), ("moses-a", True)):
        write(tmp_path, hyp=moses(HYPOTHESES, aggressive), ref=moses(REFERENCE, aggressive))
        flags = f"hyp --tokenized --tokenized-reference ref --tokenizer {name}"
        scores[name], how = score(tmp_path, flags, capsys)
        assert how["compound-split"].endswith("both: @-@ joined, hyphens inside words split")
    assert " @-@ " in moses(REFERENCE, True)[0]
    plain = [
        [split_compounds(line) for line in moses(side, False)] for side in (HYPOTHESES, REFERENCE)
    ]
    expected = multi_bleu(*plain)  # get_ende_bleu.sh tokenises without -a
    assert scores["moses"]["compound-split"] == pytest.approx(expected)
    assert scores["moses-a"]["compound-split"] == pytest.approx(expected)


def test_both_sides_of_truecased_text_are_detruecased(tmp_path, capsys):
    sides = {"hyp": HYPOTHESES, "ref": REFERENCE}
    tokens = {name: truecased(moses(lines, True)) for name, lines in sides.items()}
    write(tmp_path, **tokens)
    flags = "hyp --tokenized --tokenized-reference ref --tokenizer moses-a --truecased"
    scores, how = score(tmp_path, flags, capsys)
    case, join = MosesDetruecaser(), MosesDetokenizer(lang="de")
    raw = {
        name: [join.detokenize(case.detruecase(line), unescape=True) for line in lines]
        for name, lines in tokens.items()
    }
    assert raw["ref"][0].startswith("Die 33-Fuß-Jacht")
    expected = sacrebleu.corpus_bleu(raw["hyp"], [raw["ref"]]).score
    assert scores["mteval-v13a"] == pytest.approx(expected)
    undone = "detruecased, moses-a undone"
    assert how["mteval-v13a"] == f"hypotheses {undone}; reference {undone}"
    # the tokenised lines stay as they are
    assert scores["multi-bleu"] == pytest.approx(multi_bleu(tokens["hyp"], tokens["ref"]))


# -- where text comes from, and what is scored -----------------------------------------------


def test_text_that_somebody_else_has_tokenised_is_scored_as_it_is(tmp_path, capsys):
    """As a recipe of ``dc-nmt new --tokenized`` has it: the references differ in spaces alone."""
    reference = moses(REFERENCE, True)
    spaced = [f"{line.replace(' ', '  ')} " for line in reference]
    write(tmp_path, hyp=moses(HYPOTHESES, True), ref=reference, spaced=spaced)
    words = [tmp_path / "hyp", "--tokenized", "--reference", tmp_path / "spaced"]
    words += ["--tokenized-reference", tmp_path / "ref", "--target-lang", "de"]
    words += ["--tokenizer", "none", "--metrics", "multi-bleu"]
    assert score_command.main([str(word) for word in words]) == 0
    printed = capsys.readouterr()
    assert "look tokenised" not in printed.err and "does not look tokenised" not in printed.err
    with pytest.raises(UserError, match="looks tokenised"):
        words[words.index("none")] = "moses"
        score_command.main([str(word) for word in words])
