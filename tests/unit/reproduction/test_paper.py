"""``dc-nmt paper``: every item has a state, a plan has each command once, jobs reach a cluster."""

from __future__ import annotations

import json
import re
import shlex
import stat
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
import submitit
from numpy.testing import assert_array_equal

from dc_nmt_plugin.commands import paper
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.papers.register import find_item, read_register
from dc_nmt_plugin.papers.schema import SCORES
from dc_nmt_plugin.recipes import launch
from dc_nmt_plugin.reproduction import curve, execute
from dc_nmt_plugin.reproduction.comparison import Cell
from dc_nmt_plugin.reproduction.curve import draw, save, series
from dc_nmt_plugin.reproduction.jobs import Job, Options
from dc_nmt_plugin.reproduction.plan import plan
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
    assert len(needs) <= 40


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
    assert "Table 7" in text and "needs the paper's 0.5M training pairs" in text
    shown = printed(capsys, "show", "thesis, tab. 3.4", "--markdown")
    assert "| M-10, n = 5 | 86.4 | 2.76 | 29.12 |" in shown
    cells = json.loads(printed(capsys, "show", "dual-context, Table 5", "--json"))["cells"]
    assert cells[7]["value"] == "28.57"
    assert cells[7]["flags"] == {"encoder_self_attention_layers": "4-6"}
    facts = json.loads(printed(capsys, "show", "thesis, Figure 3.6", "--json"))
    assert facts["place"] == "page 60" and facts["note"] == ""
    assert facts["cells"][-1]["against"] == "Transformer"
    assert facts["cells"][-1]["absent"] == "only the picture holds it"


def test_an_item_in_latex_has_comments_around_its_table(capsys):
    text = printed(capsys, "show", "thesis, Table 3.5", "--latex")
    before, _, rest = text.partition("\\begin{tabular}")
    _, _, after = rest.partition("\\end{tabular}")
    lines = [line for line in (before + after).splitlines() if line]
    assert any("Table 3.5" in line for line in lines) and any("caption" in line for line in lines)
    assert all(line.startswith("% ") for line in lines)


def test_a_plan_has_a_text_a_training_and_an_evaluation_once():
    found = jobs("thesis, Table 4.7", "MS-1", seeds=(1, 2))
    kinds = [job.kind for job in found]
    assert kinds.count("text") == 3 and kinds.count("training") == 6
    assert kinds.count("evaluation") == 12  # main and auxiliary decoder
    assert len(set(found)) == len(found)
    for number, job in enumerate(found):
        assert all(place < number for place in job.after)
    aux = [str(job) for job in found if "--as aux1" in str(job)]
    assert len(aux) == 6 and all(text.endswith("aux1 --decode-with aux:1") for text in aux)


def test_tables_share_their_runs():
    one = {str(job) for job in jobs("dual-context, Table 1", "Enc-DC")}
    assert one <= {str(job) for job in jobs("dual-context, Figure 3", "f = 2")} | one
    both = {str(j) for j in jobs("thesis, Table 3.4", "M-10, n = 6") if "mlmha" in str(j)}
    assert both == {str(j) for j in jobs("thesis, Table 3.2", "M-10") if "mlmha" in str(j)}


def test_each_paper_s_baseline_is_trained_with_its_settings():
    own = [
        str(job) for job in jobs("cross-aggregation, Table 2", "Transformer-Base", any_counts=True)
    ]
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


LENGTHS = {
    "thesis, Figure 3.6": ("--unit pieces", "10,20,30,40,50", "wmt14_en_de", "de", "4", "0.6"),
    "thesis, Figure 4.6": ("", "11,21,31,41", "iwslt15_en_vi", "vi", "6", "1.1"),
    "thesis, Figure 5.5": ("--unit pieces", "10,20,30,40,50", "wmt14_en_de", "de", "4", "0.6"),
    "dual-context, Figure 5": ("--unit pieces", "10,20,30,40,50", "wmt14_en_de", "de", "4", "0.6"),
    # ten groups, of words, scored as multi-bleu.perl does
    "context-aware, Figure 5": ("", None, "wmt14_en_de", None, "4", "0.6"),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_length_figures_have_the_papers_groups_search_and_metric(name):
    unit, edges, task, language, beam, lenpen = LENGTHS[name]
    words = jobs(name)[-1].words
    text = f"{shlex.join(words)} "
    assert text.startswith("analyze lengths ")
    assert ("--unit pieces" in text) is bool(unit)
    assert (f"--edges {edges} " in text) if edges else "--edges" not in text
    cut = "moses-a" if task == "wmt14_en_de" else "moses"
    scored = f"--reference runs/{task}/data/raw/test.{language} --tokenizer {cut} "
    assert (scored in text) if language else "--reference" not in text
    assert f"--beam {beam} --lenpen {lenpen} --length-penalty wu " in text


def test_a_baseline_of_another_item_is_trained():
    for name, task in (("a", "iwslt15_en_vi"), ("b", "iwslt14_es_en")):
        found = [str(job) for job in jobs(f"thesis, Table 5.4{name}")]
        assert f"dc-nmt train {task} transformer_standard_iwslt --seed 1" in found


def test_json_is_alone_on_standard_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "run_here", lambda jobs: print("[1/2] dc-nmt prepare"))
    assert paper.main(["run", "dual-context, Figure 4", "--json"]) == 0  # analyses only
    said = capsys.readouterr()
    assert said.out == "[]\n" and "[1/2] dc-nmt prepare" in said.err
    assert paper.main(["run", "dual-context, Figure 3", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)[0]["published"] == "29.26" and "written: " in said.err
    assert paper.main(["run", "dual-context, Figure 3", "--json", "--dry-run"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed[0]["job"], listed[0]["command"]) == (
        None,
        "dc-nmt prepare wmt14_en_de --bpe default --downloads runs/downloads",
    )
    assert [each["cost"]["runs"] for each in listed[:2]] == [0, 1] and listed[-1]["cost"] is None


def test_a_plan_names_the_chosen_parts_that_it_leaves_out(capsys):
    words = ["run", "cross-aggregation, Table 2", "--dry-run"]
    assert paper.main(words) == 0
    said = capsys.readouterr()
    assert "wmt14_en_de" in said.out and "wmt17_zh_en" not in said.out
    lines = said.err.splitlines()
    assert [line.partition(": needs the papers' 20.6M")[0] for line in lines] == [
        "left out: Transformer-Base, Zh⇒En", "left out: + Cross Aggregation, Zh⇒En",
    ]  # fmt: skip
    assert paper.main([*words, "--rows", "+ Cross Aggregation"]) == 0  # the row is in two parts
    assert capsys.readouterr().err.count("left out: ") == 1
    assert paper.main([*words, "--any-counts"]) == 0
    assert capsys.readouterr().err == ""


WRONG = {
    (
        "run",
        "thesis, Table 3.44",
        "--dry-run",
    ): r"thesis has no 'Table 3\.44'\. Did you mean 'Table 3\.4",
    ("run", "theses, Table 3.4", "--dry-run"): "document: 'theses' .* Did you mean 'thesis'",
    ("run", "thesis, Table 3.4", "--rows", "M-10, n = 7", "--dry-run"): "Did you mean 'M-10, n",
    ("run", "dual-context, Table 3", "--dry-run"): "Table 3: cannot be run: nothing of it",
    ("run", "thesis, Table 3.1", "--dry-run"): "Table 3.1: cannot be run: nothing of it",
    ("run", "dual-context, Table 4", "--dry-run"): r"needs the ten .*SentEval \(--probing DIR\)\.",
    ("run", "dual-context, Table 4", "--probing", "x"): "--probing: 'x' does not exist",
    ("run", "residual-decoder, 8.2 ParsEval", "--dry-run"): r"needs .* \(--trees FILE\)\.",
    ("run", "cross-aggregation, Table 1", "--dry-run"): "needs the papers' 20.6M .*--any-counts",
    ("table", "thesis, Figure 4.8"): "no analysis yet; dc-nmt paper run 'thesis, Figure 4.8'",
    (
        "run",
        "residual-decoder, 7.3",
        "--dry-run",
    ): "7.3: cannot be run: needs a decoder with Daniluk",
    ("plot", "thesis, Table 3.2"): "its rows are not values of a setting",
    ("run", "thesis, Table 3.2", "--seeds", "1,x"): "'1,x' is not numbers separated by commas",
    ("run", "thesis, Table 3.2", "--sbatch", "gpu", "--on", "slurm"): "'gpu' is not NAME=VALUE",
    ("run", "thesis, Table 3.3", "--sbatch", "gpu", "--on", "slurm", "--dry-run"): "'gpu' is not",
    (
        "run",
        "thesis, Table 3.2",
        "--sbatch",
        "mem=9",
    ): "--sbatch: has an effect with --on slurm only",
    ("run", "thesis, Table 3.2", "--sbatch", "mem=9", "--on", "submitit-local"): "--sbatch: has",
    (
        "run",
        "thesis, Table 3.2",
        "--sbatch",
        "gpus-per-node=a100",
        "--on",
        "slurm",
        "--dry-run",
    ): "gpus-per-node=a100 is no number of GPUs such as 4 or a100:4",
    ("plot", "dual-context, Figure 3", "--out", "fig.xyz"): r"--out: 'fig\.xyz' ends in none of",
}


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words[1])
def test_wrong_input_gets_one_sentence(words, capsys):
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
    given = execute.sbatch_options(["partition=gpu", "time=600", "constraint=a100"])
    numbers = [place for _, place in execute.submit(found, slurm / "jobs", "slurm", given)]
    assert numbers == [str(101 + place) for place in range(len(found))]
    files = [(slurm / f"job-{place}.sh").read_text() for place in numbers]
    for job, text in zip(found, files, strict=True):
        before = ":".join(str(101 + place) for place in job.after)
        assert ("--dependency" in text) is bool(before)
        assert f"#SBATCH --dependency=afterok:{before}\n" in text or not before
        assert "#SBATCH --partition=gpu\n" in text and "#SBATCH --constraint=a100\n" in text
        assert re.search(r"#SBATCH --time=600\n", text)
        # srun needs the job's options again
        assert "#SBATCH --cpus-per-task=8\n" in text and " --cpus-per-task=8 " in text
    trained = next(text for job, text in zip(found, files, strict=True) if job.kind == "training")
    assert "#SBATCH --gpus-per-node=8\n" in trained  # as the paper's eight
    assert words_of(slurm, "train")[-4:] == ["--gpus", "8", "--launcher", "fairseq"]
    forms = execute.sbatch_options(["time=24:00:00", "gpus-per-node=a100:2", "cpus-per-gpu=9"])
    ((_, number), *_) = execute.submit(
        [replace(found[-1], after=())], slurm / "jobs", "slurm", forms
    )
    text = (slurm / f"job-{number}.sh").read_text()
    assert "#SBATCH --time=24:00:00\n" in text and "#SBATCH --gpus-per-node=a100:2\n" in text
    assert "#SBATCH --cpus-per-gpu=9\n" in text and "cpus-per-task" not in text


def submitted(slurm):
    load = submitit.core.utils.DelayedSubmission.load
    return [load(path).function for path in slurm.glob("jobs/*_submitted.pkl")]


def words_of(slurm, command):
    """Words of a job of a command that was submitted."""
    return next(job.command for job in submitted(slurm) if command in job.command)


@pytest.mark.parametrize(("given", "gpus"), [("4", "4"), ("a100:2", "2")])
def test_a_training_uses_the_gpus_that_slurm_is_asked_for(slurm, given, gpus):
    found = jobs("context-aware, Table 1", "#5 encoder, deep-global context + deep context")
    options = execute.sbatch_options([f"gpus-per-node={given}", "cpus-per-task=4"])
    training = replace(next(job for job in found if job.kind == "training"), after=())
    ((_, number),) = execute.submit([training], slurm / "jobs", "slurm", options)
    text = (slurm / f"job-{number}.sh").read_text()
    assert f"#SBATCH --gpus-per-node={given}\n" in text and "--cpus-per-task=4\n" in text
    assert words_of(slurm, "train")[-4:] == ["--gpus", gpus, "--launcher", "fairseq"]


def test_what_slurm_refuses_is_one_sentence(slurm):
    found = jobs("thesis, Table 5.4a")[:2]
    execute.submit([found[0]], slurm / "jobs", "slurm", {})
    refusing = slurm / "bin/sbatch"
    refusing.write_text("#!/bin/bash\necho 'sbatch: error: invalid partition' >&2; exit 1\n")
    with pytest.raises(UserError, match=r"error: invalid partition: not submitted") as error:
        execute.submit(found, slurm / "jobs", "slurm", {})
    assert "\n" not in str(error.value)


def test_a_file_of_an_analysis_is_whole_or_not_there(slurm):
    last = replace(jobs("thesis, Figure 4.6")[-1], after=())
    execute.submit([last], slurm / "jobs", "slurm", {})
    *_, shell = next(iter(submitted(slurm))).command
    assert shell.endswith(" > out/lengths.txt.part && mv out/lengths.txt.part out/lengths.txt")


class Here:
    """Records the settings of submitit's local executor."""

    fails = False

    def __init__(self, folder):
        self.told, self.words = [], []
        self.paths = submitit.core.utils.JobPaths(folder, "7")
        self.job_id = 7

    def update_parameters(self, **parameters):
        self.told.append(parameters)

    def submit(self, function):
        self.words.append(function.command)
        return self

    def result(self):
        if self.fails:
            raise submitit.core.utils.FailedJobError("two\nlines")


@pytest.mark.parametrize(("visible", "gpus"), [(0, 0), (2, 2), (16, 8)])
def test_submitit_shows_jobs_of_this_machine_its_gpus(tmp_path, monkeypatch, visible, gpus):
    executor = Here(tmp_path)
    monkeypatch.setattr(submitit, "LocalExecutor", lambda folder: executor)
    monkeypatch.setattr(launch, "visible_gpus", lambda: visible)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    found = jobs("context-aware, Table 1", "#5 encoder, deep-global context + deep context")
    execute.submit(found, tmp_path, "local", {})
    given = dict(zip((job.kind for job in found), executor.told, strict=True))
    assert given["training"]["gpus_per_node"] == gpus
    assert given["text"]["gpus_per_node"] == 0
    assert given["evaluation"]["gpus_per_node"] == min(1, visible)
    words = next(words for words in executor.words if "train" in words)
    assert words[-4:] == ["--gpus", str(gpus), "--launcher", "fairseq"]
    assert words[:2] == ["env", "CUDA_VISIBLE_DEVICES=4,5"]  # submitit has 0, 1, …


def test_a_failed_job_of_this_machine_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(submitit, "LocalExecutor", Here)
    monkeypatch.setattr(Here, "fails", True)
    with pytest.raises(UserError, match=r"^failed: dc-nmt recipe .*; its log is .*7_0_log.err$"):
        execute.submit([Job("analysis", ("recipe", "list"))], tmp_path, "local", {})


@pytest.mark.thorough
def test_submitit_s_local_executor_does_the_plan(tmp_path):
    out = tmp_path / "tables.md"
    job = Job("analysis", ("recipe", "published", "wmt13_es_en"), output=out)
    ((_, number),) = execute.submit([job], tmp_path / "jobs", "local", {})
    assert number and "gru_selfattn_residual" in out.read_text()


# -- figures -----------------------------------------------------------------------------------


def cell(row, *ours, published=None):
    return Cell(row, "BLEU", "mteval-v13a", published, None, None, ours, None, None, None, "")


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
    printed, ours = drawn["published"], drawn["measured"]
    assert list(printed.get_xdata()) == list(ours.get_xdata()) == [2, 3, 4]
    assert_array_equal(printed.get_ydata(), [29.26, nan, nan])
    assert_array_equal(ours.get_ydata().astype(float), [20.5, nan, 19.0])  # a gap, no line over it
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert all(path.stat().st_size > 2000 for path in paths)
    assert cells[0].mean == 20.5 and cells[0].deviation == pytest.approx(0.7071, abs=1e-4)
    assert cells[1].mean is None and cells[2].deviation is None
    other = [replace(cells[0], other_settings=("training.updates: 5",))]
    draw(other, "title", tmp_path / "other.svg")
    assert "measured, other settings" in figures[1].axes[0].get_legend_handles_labels()[1]
