"""Every metric against its definition, and from a user's files to the right text."""

from __future__ import annotations

import json
import random

import pytest
import sacrebleu
from reference.multi_bleu import multi_bleu, split_compounds

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import score as score_command
from dc_nmt_plugin.laboratory.evaluation.generated import check_targets
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS, default_metrics
from dc_nmt_plugin.laboratory.evaluation.systems import files_of
from dc_nmt_plugin.laboratory.evaluation.texts import load_texts
from dc_nmt_plugin.laboratory.finding import Run

VOCABULARY = "Das das Haus Kern-Kraft a-b-c - steht , . Über über x- -x 1-2"
WORDS = VOCABULARY.split()


def corpus(seed, size=40):
    """Tokenised references and translations that share many of their words, none without."""
    chooser = random.Random(seed)
    references = [chooser.choices(WORDS, k=chooser.randint(4, 20)) for _ in range(size)]
    hypotheses = [
        [chooser.choice(WORDS) if chooser.random() < 0.2 else word for word in line][: 4 + seed * 5]
        for line in references
    ]
    return [" ".join(line) for line in hypotheses], [" ".join(line) for line in references]


def test_multi_bleu_is_its_definition():
    hypotheses, references = corpus(1)

    def score(name):
        return METRICS[name].score(hypotheses, references, "de")[0]

    assert score("multi-bleu") == pytest.approx(multi_bleu(hypotheses, references), abs=1e-9)
    split = [[split_compounds(line) for line in side] for side in (hypotheses, references)]
    assert score("compound-split") == pytest.approx(multi_bleu(*split), abs=1e-9)
    assert abs(score("compound-split") - score("multi-bleu")) > 0.1
    # Perl lower-cases ASCII alone, sacreBLEU all of Unicode
    ascii_text = [[line.replace("Ü", "ü") for line in side] for side in (hypotheses, references)]
    expected = multi_bleu(*ascii_text, lowercase=True)
    assert score("multi-bleu-lc") == pytest.approx(expected, abs=1e-9)
    assert score("multi-bleu-lc") > score("multi-bleu") == score("zh-words")


def test_the_other_metrics_are_those_of_sacrebleu():
    hypotheses, references = ["The cat, it sat.", "A dog!"], ["the cat: it sat.", "A dog!"]
    for name, options in (
        ("mteval-v13a", {"tokenize": "13a"}), ("mteval-v13a-lc", {"lowercase": True}),
        ("sacrebleu", {}), ("sacrebleu-tokenized", {}),
    ):  # fmt: skip
        expected = sacrebleu.corpus_bleu(hypotheses, [references], **options)
        assert METRICS[name].score(hypotheses, references, "vi")[0] == expected.score
    chrf, signature = METRICS["chrf"].score(hypotheses, references, "en")
    assert chrf == sacrebleu.corpus_chrf(hypotheses, [references]).score and "nw:0" in signature
    ter, _ = METRICS["ter"].score(hypotheses, references, "en")
    assert ter == sacrebleu.corpus_ter(hypotheses, [references]).score
    chinese, signature = METRICS["zh"].score(["我们 在家"], ["我们在家"], "zh")
    assert chinese == pytest.approx(100) and "tok:zh" in signature
    assert "tok:zh" in METRICS["sacrebleu"].score(["我"], ["我"], "zh")[1]
    for fewer in (references, references[:1]), (references[:1], references):
        with pytest.raises(UserError, match="hypotheses for"):
            METRICS["chrf"].score(*fewer, "en")  # sacreBLEU: 100, of one sentence


def test_defaults_have_both_cases_and_what_the_language_needs():
    german = default_metrics("de", tokenized=True)
    assert german[:4] == ["mteval-v13a", "mteval-v13a-lc", "multi-bleu", "multi-bleu-lc"]
    assert "compound-split" in german and "compound-split" not in default_metrics("en", True)
    assert "sacrebleu-tokenized" in default_metrics("vi", True)
    assert default_metrics("zh", True) == ["zh", "zh-words", "chrf", "ter-char"]
    raw = default_metrics("de", tokenized=False)
    assert not any(METRICS[name].tokenized for name in raw) and raw


# -- the command -----------------------------------------------------------------------------


class Folder:
    """A folder of texts, and ``dc-nmt score`` on them."""

    def __init__(self, path, capsys):
        self.path, self.capsys = path, capsys

    def write(self, **texts):
        for name, text in texts.items():
            (self.path / name).write_text(text, encoding="utf-8")

    def score(self, flags, lang="de"):
        """(metric → line of the table, standard error, translation in the record)."""
        words = [str(self.path / w) if (self.path / w).exists() else w for w in flags.split()]
        out = self.path / "out.json"
        words += ["--target-lang", lang, "--out", str(out)]
        assert score_command.main(words) == 0
        printed = self.capsys.readouterr()
        rows = {}  # a wide table goes on below
        for line in printed.out.partition("---")[2].splitlines()[1:]:
            name = line.partition(" ")[0]
            if name in METRICS:
                rows[name] = f"{rows.get(name, '')} {line} "
        return rows, printed.err, json.loads(out.read_text())["decodings"][0]


@pytest.fixture
def folder(tmp_path, capsys):
    folder = Folder(tmp_path, capsys)
    folder.write(
        generated="H-1\t-1\tEin well-known@@ es &quot; Haus &quot; , das gibt .\n"
        "H-1\t-9\tnicht das beste\nH-0\t-1\tD@@ as Haus .\n",
        raw='Das Haus.\nEin well-knownes "Haus", das gibt.\n',
        ref='Das Haus.\nEin well-knownes "Haus", das es gibt.\n',
        tok="Das Haus .\nEin well-knownes &quot; Haus &quot; , das es gibt .\n",
    )
    return folder


def test_one_text_by_four_ways_has_the_same_scores(folder):
    rows, err, result = folder.score("generated --reference ref --tokenizer moses")
    assert err == "" and list(rows)[-7:] == default_metrics("de", True)
    scores = {s["metric"]: s["value"] for s in result["scores"]}
    tokens = ["Das Haus .", "Ein well-knownes &quot; Haus &quot; , das gibt ."]
    tokenised = (folder.path / "tok").read_text().splitlines()
    assert scores["multi-bleu"] == pytest.approx(multi_bleu(tokens, tokenised))
    raw = (folder.path / "raw").read_text().splitlines()
    reference = (folder.path / "ref").read_text().splitlines()
    assert scores["mteval-v13a"] == sacrebleu.corpus_bleu(raw, [reference]).score
    folder.write(hyp="\n".join(tokens) + "\n")
    for flags, steps in (
        ("raw --reference ref", "tokenised by moses;"),
        ("hyp --tokenized --reference ref", "as translated;"),
        ("hyp --tokenized --tokenized-reference tok", "as translated;"),
        ("generated --reference ref --tokenized-reference tok", "as translated, BPE joined;"),
    ):
        _, _, other = folder.score(f"{flags} --tokenizer moses")
        assert {s["metric"]: s["value"] for s in other["scores"]} == scores, flags
        (text,) = [s["text"] for s in other["scores"] if s["metric"] == "multi-bleu"]
        assert text.startswith(f"hypotheses {steps}"), text


def test_without_a_tokenizer_raw_text_has_no_tokenised_score(folder):
    folder.write(hyp="Das Haus .\nEin Haus , das gibt .\n")
    for flags in ("hyp --tokenized --reference ref", "raw --reference ref"):
        rows, _, _ = folder.score(f"{flags} --tokenizer none")
        assert rows and not any(METRICS[name].tokenized for name in rows), flags


def test_truecased_output_begins_with_capitals_in_its_raw_text_only(folder):
    folder.write(out="", hyp="das Haus .\nein Haus , das gibt .\n", tok="das Haus .\nein Haus .\n")
    flags = "hyp --tokenized --reference ref --tokenized-reference tok --tokenizer moses"
    _, _, kept = folder.score(flags)
    _, _, result = folder.score(f"{flags} --truecased --detokenized out")
    texts = {s["metric"]: s["text"] for s in result["scores"]}
    assert (folder.path / "out").read_text() == "Das Haus.\nEin Haus, das gibt.\n"
    assert texts["mteval-v13a"] == "hypotheses detruecased, moses undone; reference as given"
    assert texts["multi-bleu"].startswith("hypotheses as translated")
    scores, before = [{s["metric"]: s["value"] for s in r["scores"]} for r in (result, kept)]
    assert scores["mteval-v13a"] > before["mteval-v13a"]
    assert scores["multi-bleu"] == before["multi-bleu"]
    assert load_texts(files_of(Run.read(folder.path / "out.json"))).raw.hypotheses[0] == "Das Haus."


@pytest.mark.parametrize(
    ("texts", "flags", "message"),
    [
        ({"ref": "Das Haus .\nEin Haus, ja.\n"}, "--reference ref",
         "looks tokenised .1 of 2 lines with free-standing punctuation, as line 1"),
        ({"ref": "Das Haus\nGrün @-@ blau\n"}, "--reference ref",
         "looks tokenised .'@-@' in line 2.* --tokenized-reference"),
        ({"ref": "Das Haus.\nEin <unk>.\n"}, "--reference ref", "<unk> in 1 reference, .* line 2"),
        ({}, "--reference ref --metrics bleu,chrf", "--metrics: 'bleu' is not one of mteval-v13a"),
        ({}, "--reference ref --metrics multi-bleu", "multi-bleu scores tokenised text"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_nothing_written(folder, texts, flags, message):
    folder.write(**texts)
    with pytest.raises(UserError, match=message):
        folder.score(f"raw {flags}")
    assert not (folder.path / "out.json").exists()


@pytest.mark.parametrize(
    ("hypotheses", "warning"),
    [
        ("Das Haus.\n\n", "1 empty hypotheses, the first in line 2"),
        ("<unk> Haus.\nEin <unk>\n", "2 hypotheses with <unk>, the first in line 1"),
        ("Das Haus .\nEin Haus , ja .\n", "look tokenised"),
        ("das haus.\nein haus.\n", "only the hypotheses are lower-cased"),
        ("Das Haus fu\u0308r uns.\nEin Haus.\n", "the hypotheses are in Unicode's form NFD"),
    ],
)
def test_what_may_be_wrong_is_said(folder, hypotheses, warning):
    folder.write(raw=hypotheses, ref="Das Haus für uns.\nEin Haus.\n")
    flags = "raw --reference ref"
    _, err, _ = folder.score(flags)
    assert err.startswith("warning: ") and warning in err


def test_french_spaces_and_single_marks_are_not_taken_for_tokens(folder):
    lines = ["Quoi ?", "Ça alors !", "Il a dit , « oui ».", *["Bien, merci."] * 200, "R &amp; D"]
    folder.write(raw="\n".join(lines), ref="\n".join(lines))
    rows, err, _ = folder.score("raw --reference ref", lang="fr")
    assert err == "" and " 100.00 " in rows["mteval-v13a"]


def test_raw_text_given_as_tokenised_is_noticed(folder):
    """From ten lines with commas or full stops on: fewer may be so by chance."""
    for count in (9, 10):
        lines = ["Das Haus, ja."] * count
        folder.write(raw="\n".join(lines), ref="\n".join(lines))
        _, err, _ = folder.score("raw --tokenized --tokenized-reference ref --metrics multi-bleu")
        assert ("ref: does not look tokenised" in err) is (count == 10), err


def test_lines_of_another_set_are_more_than_half_of_them():
    check_targets("out", ["a", "x"], "ref", ["a", "b"])
    with pytest.raises(UserError, match="2 of 3 T- lines are not lines of ref, the first is T-1"):
        check_targets("out", ["a", "x", "x"], "ref", ["a", "b", "c"])
