"""``dc-nmt paper``: every item has a state, a plan has each command once, jobs reach a cluster."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

from dc_nmt_plugin.commands import paper
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.papers.register import find_item, read_register
from dc_nmt_plugin.papers.schema import SCORES
from dc_nmt_plugin.reproduction import curve, execute
from dc_nmt_plugin.reproduction.comparison import Cell
from dc_nmt_plugin.reproduction.curve import draw, save, series
from dc_nmt_plugin.reproduction.plan import Job, Options, plan
from dc_nmt_plugin.reproduction.system import disagreements

OUT = Path("out")


def printed(capsys, *words):
    assert paper.main(list(words)) == 0
    return capsys.readouterr().out


def jobs(name, *rows, **options):
    return plan(find_item(name), rows, Options(**options), OUT)


def test_every_row_has_a_state_and_most_can_be_made(capsys):
    rows = json.loads(printed(capsys, "list", "--json"))
    assert len(rows) >= 333  # the rows of the map of the papers
    assert sum(row["state"] in ("run", "data") for row in rows) >= 300
    for row in rows:
        assert row["state"] in ("run", "data", "needs") and row["how"], row
    # what stays out says what it needs, and is little
    needs = [row for row in rows if row["state"] == "needs"]
    assert len(needs) <= 20
    assert {row["document"] for row in needs} <= {"residual-decoder", "context-aware"}


def test_recipes_train_and_decode_what_the_documents_print():
    """W1 to W13: no score of the register differs in a setting from our recipe's own commands."""
    wrong = []
    for document in read_register():
        for entry in document.entries:
            scored = entry.measure in SCORES and not entry.system.other and not entry.of
            if scored and entry.task != "un_en_zh":
                wrong += [f"{entry.place}: {found}" for found in disagreements(entry)]
    assert wrong == []


def test_items_in_words(capsys):
    text = printed(capsys, "list", "residual-decoder")
    assert "Table 7" in text and "0.5M training pairs cannot be had" in text
    shown = printed(capsys, "show", "thesis, tab. 3.4", "--markdown")
    assert "| M-10, n = 5 | 86.4 | 2.76 | 29.12 |" in shown
    cells = json.loads(printed(capsys, "show", "dual-context, Table 5", "--json"))["cells"]
    assert cells[7]["value"] == "28.57"
    assert cells[7]["flags"] == {"encoder_self_attention_layers": "4-6"}


def test_a_plan_has_a_text_a_training_and_an_evaluation_once():
    found = jobs("thesis, Table 4.7", "MS-1", seeds=(1, 2))
    kinds = [job.kind for job in found]
    assert kinds.count("text") == 3 and kinds.count("training") == 6
    assert kinds.count("evaluation") == 12  # main and auxiliary decoder
    assert len(set(found)) == len(found)
    for number, job in enumerate(found):
        assert all(place < number for place in job.after)
    aux = [str(job) for job in found if "--as aux1" in str(job)]
    assert len(aux) == 6 and all(text.endswith("-- --decode-with aux:1") for text in aux)


def test_tables_share_their_runs():
    one = {str(job) for job in jobs("dual-context, Table 1", "Enc-DC")}
    assert one <= {str(job) for job in jobs("dual-context, Figure 3", "f = 2")} | one
    both = {str(j) for j in jobs("thesis, Table 3.4", "M-10, n = 6") if "mlmha" in str(j)}
    assert both == {str(j) for j in jobs("thesis, Table 3.2", "M-10") if "mlmha" in str(j)}


def test_each_paper_s_baseline_is_trained_with_its_settings():
    own = [str(job) for job in jobs("cross-aggregation, Table 2", "Transformer-Base")]
    assert "dc-nmt prepare wmt17_zh_en --bpe under50" in own
    assert any("train wmt14_en_de transformer_standard --seed 1 --like cross-agg" in j for j in own)
    big = [str(job) for job in jobs("context-aware, Table 2", "En⇒De, Transformer-Big")]
    assert "dc-nmt train wmt14_en_de transformer_standard_big_unshared --seed 1" in big
    sets = [str(job) for job in jobs("residual-decoder, Table 3", "NMT Baseline")]
    assert sum("--subset newstest201" in text for text in sets) == 2


def test_a_sample_keeps_the_layers_that_rows_name():
    found = [str(job) for job in jobs("dual-context, Table 5", "[5-6]", sample=600)]
    trained = [text for text in found if " train " in text]
    assert all("--encoder-layers 6" in text for text in trained)
    small = [str(job) for job in jobs("thesis, Table 4.1", "MS-1", sample=600)]
    assert not any("--encoder-layers" in text for text in small)  # 4 as it is


def test_an_analysis_follows_its_runs():
    found = jobs("dual-context, Figure 4", "f = 2", "f = 3")
    last = found[-1]
    assert last.kind == "analysis" and last.words[:2] == ("analyze", "divergence")
    assert [found[place].kind for place in last.after] == ["evaluation", "evaluation"]


WRONG = {
    ("run", "thesis, Table 3.44", "--dry-run"): r"thesis has no 'Table 3\.44'; .* Table 3\.4",
    ("run", "theses, Table 3.4", "--dry-run"): "document: 'theses' .* Did you mean 'thesis'",
    ("run", "thesis, Table 3.4", "--rows", "M-10, n = 7", "--dry-run"): "Did you mean 'M-10, n",
    ("run", "dual-context, Table 3", "--dry-run"): "Table 3: cannot be run: nothing of it",
    ("run", "residual-decoder, 7.3", "--dry-run"): "7.3: cannot be run: a decoder with Daniluk",
    ("run", "residual-decoder, Table 6", "--dry-run"): "Table 6: cannot be run: the Wikipedia",
    ("plot", "thesis, Table 3.2"): "its rows are not values of a setting",
    ("run", "thesis, Table 3.2", "--seeds", "1,x"): "'1,x' is not numbers separated by commas",
    ("run", "thesis, Table 3.2", "--sbatch", "gpu", "--on", "slurm"): "'gpu' is not NAME=VALUE",
}


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words[1])
def test_wrong_input_gets_one_sentence(words, capsys):
    if "--seeds" in words:  # argparse's own refusal
        with pytest.raises(SystemExit) as left:
            paper.main(list(words))
        assert left.value.code == 2 and WRONG[words] in capsys.readouterr().err
        return
    with pytest.raises(UserError, match=WRONG[words]) as error:
        paper.main(list(words))
    assert "\n" not in str(error.value)


# -- clusters ----------------------------------------------------------------------------------


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Programs of Slurm that keep what they are given and count jobs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    number = tmp_path / "number"
    script = (
        f"#!/bin/bash\nn=$(cat {number} 2>/dev/null || echo 100)\necho $((n + 1)) > {number}\n"
        f'cp "$1" {tmp_path}/job-$((n + 1)).sh\necho "Submitted batch job $((n + 1))"\n'
    )
    for name, text in {"sbatch": script, "srun": "#!/bin/bash\n", "sacct": "#!/bin/bash\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return tmp_path


def test_slurm_gets_a_job_file_a_job_with_dependencies(slurm, monkeypatch):
    found = jobs("context-aware, Table 1", "#5 encoder, deep-global context + deep context")
    given = {"partition": "gpu", "time": "600", "constraint": "a100", "cpus-per-task": "4"}
    numbers = [place for _, place in execute.submit(found, slurm / "jobs", "slurm", given)]
    assert numbers == [str(101 + place) for place in range(len(found))]
    files = [(slurm / f"job-{place}.sh").read_text() for place in numbers]
    for job, text in zip(found, files, strict=True):
        before = ":".join(str(101 + place) for place in job.after)
        assert ("--dependency" in text) is bool(before)
        assert f"#SBATCH --dependency=afterok:{before}\n" in text or not before
        assert "#SBATCH --partition=gpu\n" in text and "#SBATCH --constraint=a100\n" in text
        assert re.search(r"#SBATCH --time=600\n", text)
    trained = next(text for job, text in zip(found, files, strict=True) if job.kind == "training")
    assert "#SBATCH --gpus-per-node=8\n" in trained  # as the paper's eight
    forms = {"time": "24:00:00", "gpus-per-node": "a100:2"}
    ((_, number), *_) = execute.submit(
        [replace(found[-1], after=())], slurm / "jobs", "slurm", forms
    )
    text = (slurm / f"job-{number}.sh").read_text()
    assert "#SBATCH --time=24:00:00\n" in text and "#SBATCH --gpus-per-node=a100:2\n" in text


@pytest.mark.thorough
def test_submitit_s_local_executor_does_the_plan(tmp_path):
    out = tmp_path / "tables.md"
    job = Job("analysis", ("recipe", "published", "wmt13_es_en"), output=out)
    ((_, number),) = execute.submit([job], tmp_path / "jobs", "local", {})
    assert number and "gru_selfattn_residual" in out.read_text()


# -- figures -----------------------------------------------------------------------------------


def cell(row, *ours, published=None):
    return Cell(row, "BLEU", "mteval-v13a", published, None, None, ours, None, None, "")


def test_missing_points_are_missing_not_zero(tmp_path, monkeypatch):
    cells = [cell("f = 2", 20.0, 21.0, published="29.26"), cell("f = 3"), cell("f = 4", 19.0)]
    setting, curves = series(cells)
    assert setting == "f" and [x for x, _ in curves["BLEU"]] == [2, 3, 4]
    figures = []
    monkeypatch.setattr(
        curve, "save", lambda figure, path: figures.append(figure) or save(figure, path)
    )
    paths = draw(cells, "title", tmp_path / "figure")
    handles, labels = figures[0].axes[0].get_legend_handles_labels()
    drawn = dict(zip(labels, handles, strict=True))
    printed, ours = drawn["published"], drawn["ours"].lines[0]
    assert list(printed.get_xdata()) == list(ours.get_xdata()) == [2, 3, 4]
    assert_array_equal(printed.get_ydata(), [29.26, nan, nan])
    assert_array_equal(ours.get_ydata().astype(float), [20.5, nan, 19.0])  # a gap, no line over it
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert all(path.stat().st_size > 2000 for path in paths)
    assert cells[0].mean == 20.5 and cells[0].deviation == pytest.approx(0.7071, abs=1e-4)
    assert cells[1].mean is None and cells[2].deviation is None
