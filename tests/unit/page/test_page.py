"""The page of ``--page``: it is whole, fetches nothing, and names and text stand as they are."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from html_pages import Page
from matplotlib.font_manager import fontManager
from sacrebleu.metrics import BLEU

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands import compare as compare_command
from dc_nmt_plugin.laboratory.commands import results as results_command
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS
from dc_nmt_plugin.laboratory.evaluation.rows import ResultTable
from dc_nmt_plugin.laboratory.evaluation.systems import PlainTextOptions, load_systems
from dc_nmt_plugin.study.page.words import Words

EXAMPLES = Path(__file__).parents[3] / "examples"
JAPANESE = 4 * ["<b>猫</b>が庭で寝ている。", "私は川を渡った。", "a$b{$ と _u を読む。", "雨だ。"]


def test_names_and_text_stand_as_they_are(cwd, monkeypatch):
    dejavu = next(font for font in fontManager.ttflist if font.name == "DejaVu Sans")
    noto = replace(dejavu, name="Noto Sans Test")  # some machines have hundreds of these
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist, noto])
    names = ["<b>", "_u", "a$b{$", "日本語 & \x1b[2J"]
    for number, share in enumerate((16, 12, 8, 4)):
        lines = [line if at < share else "雪だ。" for at, line in enumerate(JAPANESE)]
        (cwd / f"{number}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (cwd / "ref.ja").write_text("\n".join(JAPANESE) + "\n", "utf-8")
    words = [*(f"{number}.txt" for number in range(4)), "--names", *names]
    words += ["--reference", "ref.ja", "--target-lang", "ja", "--page", "out"]
    assert compare_command.main(words) == 0
    page = Page(cwd / "out/index.html").check()
    assert list((cwd / "out").iterdir()) == [cwd / "out/index.html"]
    shown = ["<b>", "_u", "a$b{$", r"日本語 & \x1b[2J"]
    assert page.text[page.text.index("95% interval") :].count("_u") > 2
    for name in shown:
        assert name in page.text
    assert JAPANESE[0] in page.text  # of a sentence that differs
    figure = page.pictures[0]
    assert "Noto" not in "".join(page.pictures)
    assert "&lt;b&gt;" in figure and "a$b{$" in figure and "日本語" in figure
    assert str(cwd) not in (cwd / "out/index.html").read_text()
    assert {"Left out: no run is here", "Left out: there is no checkpoint of any system"} <= {
        *page.text
    }
    for refused in (["--page", "out"], ["--page", "new", "--sentences", "3,17"]):
        with pytest.raises(
            UserError, match=r"out exists already|17 is not a sentence from 1 to 16"
        ):
            compare_command.main([*words[:-2], *refused])
    assert not (cwd / "new").exists()


def test_groups_and_examples_are_of_the_words(cwd):
    reference = ["The cat sleeps on the old mat.", *["a b c d e f g h i j k l."] * 11]
    worse = ["The cat sleeps on the mat.", *reference[1:]]
    for name, lines in (("same", reference), ("worse", worse), ("ref", reference)):
        (cwd / name).write_text("\n".join(lines) + "\n")
    options = PlainTextOptions(reference="ref", target_lang="en")
    words = Words(load_systems([cwd / "same", cwd / "worse"], options), METRICS["mteval-v13a"])
    lengths = words.by_length()
    assert lengths.groups == ["<10", "[10,20)"]  # words, the others are empty
    one = BLEU(smooth_method="none").corpus_score(worse[:1], [reference[:1]]).score
    assert lengths.bars == {"same": [100, 100], "worse": [pytest.approx(one), 100]}
    frequencies = words.by_frequency()
    assert frequencies.groups == ["1", "[10,100)"]
    # six of seven words that occur once
    assert frequencies.bars["worse"] == pytest.approx([2 * 6 / (6 + 7), 1])
    (example,) = words.examples()["worse"]
    assert (example.number, list(example.lines)) == (1, ["reference", "same", "worse"])
    assert example.gain < 0 and example.lines["worse"] == worse[0]


PROBE = """
<iframe width="390" height="900" srcdoc="{page}"></iframe>
<script>
onload = () => {{
  const inner = frames[0], page = inner.document, table = page.querySelector(".sorted table");
  const names = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent);
  const found = {{width: page.documentElement.scrollWidth, sorted: []}};
  for (let click = 0; click < 2; click++) {{
    table.querySelectorAll("button")[1].click();
    found.sorted.push(names());
  }}
  found.pictures = [...page.images].map(picture => picture.naturalWidth > 0);
  found.fetched = inner.performance.getEntriesByType("resource").map(entry => entry.name);
  document.body.textContent = JSON.stringify(found);
}};
</script>
"""
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")
def test_a_browser_shows_the_page(cwd):
    """It sorts, fetches nothing, and has no scrolling sideways on a telephone."""
    reference = ["The cat sleeps on the old mat.", *["a b c d e f g h i j k l."] * 11]
    for name, wrong in (("a" * 60, 0), ("bad", 9), ("middling", 4)):
        lines = ["a b d c e f g h." if at < wrong else line for at, line in enumerate(reference)]
        Path(name).write_text("\n".join(lines) + "\n")
    Path("ref").write_text("\n".join(reference) + "\n")
    words = ["a" * 60, "bad", "middling", "--reference", "ref", "--target-lang", "en"]
    assert compare_command.main([*words, "--page", "out"]) == 0
    Path("probe.html").write_text(
        PROBE.format(page=html.escape(Path("out/index.html").read_text()))
    )
    command = f"{CHROMIUM} --headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
    command += " --disable-background-networking --disable-component-update --disable-sync"
    command += f" --user-data-dir={cwd}/profile --enable-logging=stderr --dump-dom"
    done = subprocess.run(
        [*command.split(), f"file://{cwd}/probe.html"], capture_output=True, text=True, timeout=60
    )
    found = json.loads(html.unescape(re.search("<body>(.*)</body>", done.stdout, re.S)[1]))
    assert "CONSOLE" not in done.stderr
    assert found["sorted"] == [["bad", "middling", "a" * 60], ["a" * 60, "middling", "bad"]]
    assert found["width"] <= 390 and found["fetched"] == []
    assert len(found["pictures"]) == 3 and all(found["pictures"])


@pytest.mark.parametrize("stored", ["multi30k_en_de", "multi30k_en_de/runs/modern/results.json"])
def test_a_stored_table_has_a_page_without_text(stored, cwd):
    assert results_command.main([str(EXAMPLES / stored), "--page", "out"]) == 0
    page = Page(cwd / "out/index.html").check()
    assert len(page.pictures) == 2  # results and learning curves
    assert {"--arch", "training speed", "Left out: the text of the test set is not here"} <= {
        *page.text
    }
    assert (cwd / "out/index.html").stat().st_size < 2_000_000


def test_named_runs_without_their_reference_have_a_page(cwd, capsys):
    """Their scores are those of the stored table, which were made from the text."""
    task, systems = EXAMPLES / "multi30k_en_de", ("transformer_standard", "transformer_dc")
    for name in [f"{system}-s{seed}" for system in systems for seed in (1, 2, 3)]:
        shutil.copytree(task / "runs" / name, cwd / "here" / name)
    with pytest.raises(UserError, match=r"its reference .* is not here"):
        results_command.main(["here", "--over-seeds"])
    assert results_command.main(["here", "--over-seeds", "--json", "--page", "out"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    stored = {row.system.label: row for row in ResultTable.read(task / "results.json").rows}
    for row, system in zip(rows, systems, strict=True):
        expected = stored[system].score
        assert row["score"]["value"] == pytest.approx(expected.value, abs=1e-4)
        assert row["score"]["deviation"] == pytest.approx(expected.deviation, abs=1e-4)
        assert row["test"]["difference"] is None and len(row["runs"]) == 3
    shutil.copytree(EXAMPLES / "europarl_en_fr/runs/transformer_dc-s1", cwd / "other")
    with pytest.raises(
        UserError, match="different tests: transformer_standard-s3 and transformer_dc-s1"
    ):
        results_command.main(["here", "other", "--page", "new"])
    copied, kept = (f"here/transformer_dc-s{seed}/train.log" for seed in (2, 1))
    shutil.copy(kept, copied)
    with pytest.raises(UserError, match="have the same learning curve"):
        results_command.main(["here", "--over-seeds", "--page", "new"])
    page = Page(cwd / "out/index.html").check()
    assert len(page.pictures) == 2  # results and learning curves
    assert {
        "scores as recorded, no differences: the text of the test set is not here",
        "Left out: the text of the test set is not here",
    } <= {*page.text}


def test_a_page_needs_the_study(cwd, monkeypatch, capsys):
    monkeypatch.setattr("dc_nmt_plugin.laboratory.commands.page.has_study", lambda: False)
    assert cli.main(["results", "runs", "--page", "out"]) == 2
    assert "--page: needs dc_nmt_plugin/study, which is not installed" in capsys.readouterr().err
