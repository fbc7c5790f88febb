"""``dc-nmt compare``, and compare-mt's command."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import sys
from dataclasses import asdict
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import sacrebleu
from records import WORDS, spoil, write_run
from scipy.stats import ttest_rel

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import compare as compare_command
from dc_nmt_plugin.laboratory.commands import score as score_command


@pytest.fixture(scope="module")
def texts():
    chooser = random.Random(1)
    reference = [" ".join(chooser.choices(WORDS, k=chooser.randint(5, 35))) for _ in range(60)]
    systems = {"base": spoil(reference, 0.3, 2), "good": spoil(reference, 0.1, 3)}
    return {"ref.en": reference, **systems}


@pytest.fixture
def folder(tmp_path, texts):
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return tmp_path


def compare(folder, flags, capsys):
    """(JSON, printed) of ``dc-nmt compare``."""
    words = [str(folder / w) if (folder / w).exists() or "." in w else w for w in flags.split()]
    reports, own = [], compare_command.compare

    def noted(*arguments):
        reports.append(own(*arguments))
        return reports[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare_command, "compare", noted)
        assert compare_command.main(words) == 0
    return json.loads(json.dumps(asdict(reports[0]))), capsys.readouterr().out


TEXT = "base good --reference ref.en --target-lang en"


def test_scores_and_differences(folder, capsys):
    tokenised = TEXT.replace("--reference", "--tokenized --tokenized-reference")
    report, printed = compare(folder, f"{tokenised} --plot figure.svg", capsys)
    assert "</svg>" in (folder / "figure.svg").read_text()
    assert report["metric"] == "multi-bleu" and "tok:none" in report["signature"]
    base, good = report["comparisons"]
    assert (base["name"], good["name"]) == ("base", "good")
    assert base["difference"] is None and good["difference"] > 10
    assert good["against"]["p_value"] < 0.002 and good["corrected_p"] < 0.002
    assert 0 < good["against"]["interval"][0] < good["difference"]
    assert "10,000 resamples" in report["notes"][0] and report["notes"][0] in printed
    assert "95% interval" in printed and "**" in printed


def test_two_sentences_are_enough_for_the_t_test(folder, texts, capsys):
    for count in (2, 1):
        for name, lines in texts.items():
            (folder / name).write_text("".join(f"{line}\n" for line in lines[:count]))
        if count == 2:
            report, _ = compare(folder, f"{TEXT} --t-test", capsys)
            assert len(report["t_tests"]) == 1
    with pytest.raises(UserError, match="--t-test: 1 sentence is too few"):
        compare(folder, f"{TEXT} --t-test", capsys)


def test_the_t_test_of_a_paper_and_latex(folder, texts, capsys):
    report, printed = compare(folder, f"{TEXT} --t-test", capsys)
    (t_test,) = report["t_tests"]
    scores = [
        [sacrebleu.sentence_bleu(line, [reference], smooth_method="add-k").score
         for line, reference in zip(texts[name], texts["ref.en"], strict=True)]
        for name in ("good", "base")
    ]  # fmt: skip
    expected = ttest_rel(*scores, alternative="greater")
    assert (t_test["name"], t_test["t"]) == ("good", pytest.approx(expected.statistic))
    assert t_test["p_value"] == pytest.approx(expected.pvalue)
    assert "one-tailed paired t-test" in printed
    _, latex = compare(folder, f"{TEXT} --t-test --latex", capsys)
    assert latex.count(r"\begin{tabular}") == 2 and "% over sentence BLEU" in latex
    _, markdown = compare(folder, f"{TEXT} --markdown --columns system,holm,margin", capsys)
    assert markdown.startswith("| against base | ± 95% |\n")  # one p needs no correction


def test_the_printed_command_of_compare_mt_makes_its_page(folder, capsys, monkeypatch):
    words = [str(folder / word) for word in ("base", "good")]
    words += ["--reference", str(folder / "ref.en"), "--target-lang", "en"]
    words += ["--metric", "mteval-v13a-lc", "--texts"]
    assert compare_command.main([*words, str(folder / "texts")]) == 0
    printed = capsys.readouterr()
    (command,) = [line for line in printed.err.splitlines() if "compare-mt" in line]
    monkeypatch.setattr(sys, "argv", shlex.split(command.partition(": ")[2]))
    assert sys.argv[0] == "compare-mt" and "case_insensitive=True" in command
    (program,) = entry_points(group="console_scripts", name="compare-mt")
    program.load()()
    page = (folder / "texts/report/index.html").read_text()
    assert all(part in page for part in ("Aggregate Scores", "Characteristic N-grams", "good"))
    # in vain into a folder with something else
    (folder / "mine").mkdir()
    (folder / "mine/thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="mine exists already"):
        compare_command.main([*words, str(folder / "mine")])
    assert [path.name for path in (folder / "mine").iterdir()] == ["thesis.tex"]


def test_runs_know_their_texts_from_anywhere(folder, texts, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    kinds = {"base": "--paper chrf", "good": "--paper ter --tokenized --tokenizer moses"}
    for name, kind in kinds.items():
        flags = f"{name} {kind} --reference ref.en --target-lang en"
        score_command.main([*flags.split(), "--out", f"runs/{name}/run.json"])
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    capsys.readouterr()
    report, _ = compare(folder, "runs/base runs/good/run.json", capsys)
    assert [c["name"] for c in report["comparisons"]] == ["base", "good"]
    assert report["metric"] == "chrf"
    assert report["notes"][0] == "good: hypotheses moses undone; reference as given"
    # plain text beside a run takes its reference
    report, _ = compare(folder, "runs/base good --metric ter --names one two", capsys)
    assert [c["name"] for c in report["comparisons"]] == ["one", "two"]
    assert report["comparisons"][1]["difference"] < 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("base good --reference ref.en", "base: needs --target-lang"),
        ("misspelt base", "misspelt: cannot be read"),
        (f"{TEXT} --names one", "--names: 1 for 2 systems"),
        ("base runs --reference ref.en --target-lang en", r"no run\.json in it"),
        ("base of_runs --reference ref.en --target-lang en", "of_runs: is a folder of runs; name"),
        ("base of_runs/r/checkpoints --target-lang en", "is a folder of the run .*of_runs/r; name"),
        (f"{TEXT} --columns BLEU", "--columns: 'BLEU' is not one of system, score, margin"),
    ],
)
def test_bad_input(folder, flags, message, capsys):
    (folder / "runs").mkdir()
    (write_run(folder / "of_runs/r") / "checkpoints").mkdir()
    with pytest.raises(UserError, match=message):
        compare(folder, flags, capsys)


def test_a_kept_run_names_the_command_that_makes_its_reference(cwd):
    kept = Path(__file__).parents[3] / "examples/multi30k_en_de/runs"
    for name in ("transformer_standard-s1", "transformer_dc-s1"):
        shutil.copytree(kept / name, cwd / name)
    with pytest.raises(UserError, match="put it there; 'dc-nmt prepare multi30k_en_de' makes it"):
        compare_command.main(["transformer_standard-s1", "transformer_dc-s1"])
