"""Scores of text that is written without spaces between words, whatever its code says."""

from __future__ import annotations

import json

import pytest

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.evaluation.metrics import default_bleu, default_metrics
from dc_nmt_plugin.text.languages import SPACELESS, is_spaceless

# code → a sentence, and the same with another word
TEXTS = {
    "th": ("วันนี้เราไปเดินเล่นที่สวนสาธารณะ", "วันนี้เราไปวิ่งที่สวนสาธารณะ"),
    "lo": ("ຂ້ອຍຮັກເຈົ້າຫຼາຍທີ່ສຸດ", "ຂ້ອຍຮັກເຈົ້າໜ້ອຍທີ່ສຸດ"),
    "my": ("မင်္ဂလာပါခင်ဗျာနေကောင်းလား", "မင်္ဂလာပါခင်ဗျာစားပြီးပြီလား"),
    "km": ("ខ្ញុំទៅផ្ទះឥឡូវនេះ", "ខ្ញុំទៅសាលាឥឡូវនេះ"),
    "bo": ("ང་རང་ལ་དགའ་པོ་ཡོད།", "ང་རང་ལ་སྐྱིད་པོ་ཡོད།"),
    "dz": ("ང་རང་ལ་དགའ་པོ་ཡོད།", "ང་རང་ལ་སྐྱིད་པོ་ཡོད།"),
    "ja": ("私は昨日新しい本を買いました。", "私は昨日古い本を買いました。"),
    "zh": ("他昨天买了一本新书。", "他昨天买了一本旧书。"),
    "yue": ("佢琴日買咗一本新書。", "佢琴日買咗一本舊書。"),
    "shn": ("ၵႂၢမ်းတႆးပဵၼ်ၽႃႇသႃႇ", "ၵႂၢမ်းမၢၼ်ႈပဵၼ်ၽႃႇသႃႇ"),
}
UNKNOWN = "qq"  # a code that no table has


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("code", TEXTS)
def test_a_perfect_translation_has_the_whole_score_and_another_does_not(
    code, known, tmp_path, capsys
):
    right, other = TEXTS[code]
    reference = write(tmp_path / "ref", right, right)
    for hypothesis, perfect in ((right, True), (other, False)):
        path = write(tmp_path / "hyp", hypothesis, right)
        lang = code if known else UNKNOWN
        words = [path, "--reference", reference, "--target-lang", lang]
        assert cli.main(["score", *words, "--out", str(tmp_path / "out.json")]) == 0
        scores = json.loads((tmp_path / "out.json").read_text("utf-8"))["decodings"][0]["scores"]
        values = {score["metric"]: score["value"] for score in scores}
        bleu, chrf, ter = values.values()
        assert list(values) == [default_bleu(lang, [right]), "chrf", "ter-char"]
        assert (round(bleu), round(chrf), ter) == (100, 100, 0) if perfect else True
        assert perfect or (30 < bleu < 99 and 30 < chrf < 99 and 0 < ter < 40), values
    for metric in ("mteval-v13a", "mteval-v13a-lc", "ter"):
        assert cli.main(["score", *words, "--metrics", metric]) == 1
        printed = capsys.readouterr().err
        assert f"{metric}: splits text at spaces" in printed and "use " in printed
    if not known:  # sacreBLEU's default for a language that it does not know is 13a
        assert cli.main(["score", *words, "--metrics", "sacrebleu"]) == 1


def test_compare_and_results_count_characters_too(tmp_path, capsys):
    right, other = TEXTS["th"]
    good, bad = write(tmp_path / "good", *[right] * 30), write(tmp_path / "bad", *[other] * 30)
    for lang in ("th", UNKNOWN):
        words = ["--reference", good, "--target-lang", lang]
        assert cli.main(["compare", bad, good, *words]) == 0
        printed = capsys.readouterr().out
        assert all(text in printed for text in ("tok:char", " 100.00 ", " 69.75 "))
        assert cli.main(["compare", bad, good, *words, "--metric", "mteval-v13a"]) == 1
        assert "splits text at spaces" in capsys.readouterr().err
    for path in (bad, good):
        assert cli.main(["score", path, *words, "--out", f"{path}.json"]) == 0
    capsys.readouterr()
    assert cli.main(["results", f"{bad}.json", f"{good}.json", "--metric", "ter-char"]) == 0
    printed = capsys.readouterr().out
    assert printed.split()[:2] == ["run", "TER"] and "TER: lower is better" in printed


def test_languages_with_spaces_are_as_they_were():
    spaced = {
        "de": "Das Haus.", "ko": "나는 학생입니다.", "vi": "Tôi ăn cơm.", "hi": "घर में है।",
        "ar": "البيت الكبير", UNKNOWN: "a house",
    }  # fmt: skip
    for code, line in spaced.items():
        assert not is_spaceless(code, [line]) and default_bleu(code, [line]) == "mteval-v13a"
    assert default_metrics("de", False) == ["mteval-v13a", "mteval-v13a-lc", "chrf", "ter"]
    assert {*TEXTS, "wuu", "ii"} <= SPACELESS and not {"ko", "vi"} & SPACELESS


@pytest.mark.parametrize("code", ["ja", "ko"])
def test_what_mecab_would_be_is_named(code, tmp_path, capsys, monkeypatch):
    class Missing:
        def __init__(self, **options):
            raise RuntimeError("\nJapanese tokenization requires extra dependencies\n")

    monkeypatch.setattr("sacrebleu.metrics.BLEU", lambda **options: Missing(**options))
    path = write(tmp_path / "text", "a b c d")
    words = [path, "--reference", path, "--target-lang", code]
    assert cli.main(["score", *words, "--metrics", "sacrebleu"]) == 1
    assert f"pip install 'sacrebleu[{code}]'" in capsys.readouterr().err
