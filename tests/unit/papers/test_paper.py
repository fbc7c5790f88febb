"""``dc-nmt paper``: what it prints, draws and submits, and its answers to wrong input."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

from dc_nmt_plugin.commands import paper
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.figure import save
from dc_nmt_plugin.papers import curve, execute
from dc_nmt_plugin.papers.comparison import Cell
from dc_nmt_plugin.papers.jobs import Options
from dc_nmt_plugin.papers.plan import plan
from dc_nmt_plugin.papers.reader import find_item

OUT = Path("out")


def printed(capsys, *words):
    assert paper.main(list(words)) == 0
    return capsys.readouterr().out


def test_list_says_what_is_reproducible(capsys):
    rows = json.loads(printed(capsys, "list", "--json"))
    assert rows[0]["item"] == "Table 1" and rows[0]["reproducible"] == "reported by other authors"
    text = printed(capsys, "list", "residual-decoder")
    assert "Table 7" in text and "needs the paper's 0.5M training pairs" in text


def test_show_prints_the_published_numbers(capsys):
    shown = printed(capsys, "show", "thesis, tab. 3.4", "--markdown")
    assert "| M-10, n = 5 | 86.4 | 2.76 | 29.12 |" in shown
    assert "to train all rows with one seed: 43 training runs, " in shown
    cells = json.loads(printed(capsys, "show", "dual-context, Table 5", "--json"))["cells"]
    assert cells[7]["value"] == "28.57"
    assert cells[7]["flags"] == {"encoder_self_attention_layers": "4-6"}
    facts = json.loads(printed(capsys, "show", "thesis, Figure 3.6", "--json"))
    assert facts["place"] == "page 60" and facts["note"] == ""
    assert facts["cells"][-1]["against"] == "Transformer"


def test_parameters_of_a_table_and_of_an_architecture(capsys):
    out = printed(capsys, "parameters", "--item", "thesis, Table 4.6a")
    assert out.count("ok") == 7 and "Table 3.2" not in out
    # thesis, Table 3.4, M-10, n = 3
    (row,) = json.loads(printed(capsys, "parameters", "transformer_mlmha", "--source-layers", "3",
                                "--vocabulary", "33300", "--json"))  # fmt: skip
    assert row["built"] == pytest.approx(73.8, abs=0.05)


def test_json_is_alone_on_standard_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "run_here", lambda jobs: print("[1/2] dc-nmt prepare"))
    assert paper.main(["run", "dual-context, Figure 4", "--json"]) == 0  # analyses only
    streams = capsys.readouterr()
    assert streams.out == "[]\n" and "[1/2] dc-nmt prepare" in streams.err
    assert paper.main(["run", "dual-context, Figure 3", "--json"]) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)[0]["published"] == "29.26" and "written: " in streams.err
    listed = json.loads(printed(capsys, "run", "dual-context, Figure 3", "--json", "--dry-run"))
    assert listed[0] == {
        "job": None,
        "command": "dc-nmt prepare wmt14_en_de --bpe default --downloads runs/downloads",
    }


def test_a_plan_names_the_parts_that_it_leaves_out_and_its_size(capsys):
    words = ["run", "cross-aggregation, Table 2", "--dry-run"]
    assert paper.main(words) == 0
    streams = capsys.readouterr()
    assert "wmt14_en_de" in streams.out and "wmt17_zh_en" not in streams.out
    assert streams.out.endswith(
        "# 2 training runs, 200k updates, 4.92G tokens, up to 61.2M parameters\n"
    )
    first, second = streams.err.splitlines()
    assert first.startswith("left out: Transformer-Base, Zh⇒En: needs the papers' 20.6M")
    assert second.startswith("left out: + Cross Aggregation, Zh⇒En: needs the papers' 20.6M")
    assert paper.main([*words, "--any-counts"]) == 0
    assert capsys.readouterr().err == ""


WRONG = [
    ("run 'thesis, Table 3.44' --dry-run", r"thesis has no 'Table 3\.44'\. Did you mean 'Table 3"),
    ("run 'thesis, Table 3.4' --rows 'M-10, n = 7' --dry-run", "Did you mean 'M-10, n"),
    ("run 'dual-context, Table 3' --dry-run", "Table 3: cannot be run: reported by other"),
    ("run 'dual-context, Table 4' --dry-run", r"needs the ten .*SentEval \(--probing DIR\)\."),
    ("run 'cross-aggregation, Table 1' --dry-run", "needs the papers' 20.6M .*--any-counts"),
    ("table 'thesis, Figure 4.8'", "no analysis yet; dc-nmt paper run 'thesis, Figure 4.8'"),
    ("plot 'thesis, Table 3.2'", "its rows are not values of a setting"),
    ("run 'thesis, Table 3.2' --sbatch mem=9", "--sbatch: has an effect with --on slurm only"),
    ("run 'thesis, Table 3.3' --sbatch gpu --on slurm --dry-run", "'gpu' is not NAME=VALUE"),
    (
        "run 'thesis, Table 3.2' --sbatch gpus-per-node=a100 --on slurm",
        "gpus-per-node=a100 is no number of GPUs such as 4 or a100:4",
    ),
    ("parameters --item 'thesis, Table 4.7'", r"Table 4\.7 has no parameter counts"),
    ("parameters transformer_dc --dc-kernel 3", "'--dc-kernel' is no flag .*--dc-kernel-size"),
    ("parameters --dc-kernel-size 3", "flags of a model need an ARCH"),
]


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_wrong_input_gets_one_sentence(line, message, tmp_path, monkeypatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message) as error:
        paper.main(shlex.split(line))
    assert "\n" not in str(error.value)


# -- clusters --------------------------------------------------------------------------------------


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A program sbatch that keeps its options and counts jobs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script = f"""#!/bin/bash
        n=$(( $(cat {tmp_path}/number 2>/dev/null || echo 100) + 1 ))
        echo $n >{tmp_path}/number
        printf '%s\\n' "$@" >{tmp_path}/job-$n
        echo "$n;cluster" """
    (programs / "sbatch").write_text(script)
    (programs / "sbatch").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    return tmp_path


def submitted(slurm, jobs, *options):
    """The options of sbatch of each job."""
    numbers = execute.submit(jobs, slurm / "jobs", execute.sbatch_options(options))
    assert numbers == [str(101 + place) for place in range(len(jobs))]
    return [(slurm / f"job-{number}").read_text().splitlines() for number in numbers]


ROW = ("#5 encoder, deep-global context + deep context",)


def test_slurm_gets_every_job_with_its_dependencies(slurm):
    jobs = plan(find_item("context-aware, Table 1"), ROW, Options(), OUT)
    files = submitted(slurm, jobs, "partition=gpu", "time=600", "constraint=a100")
    for job, options in zip(jobs, files, strict=True):
        before = ":".join(str(101 + place) for place in job.after)
        assert (f"--dependency=afterok:{before}" in options) is bool(before)
        assert {"--partition=gpu", "--constraint=a100", "--time=600"} <= set(options)
        assert "--cpus-per-task=8" in options and "--parsable" in options
        assert ("--gpus-per-node=1" in options) is (job.kind in ("evaluation", "analysis"))
        if job.kind == "training":
            assert "--gpus-per-node=8" in options  # as the paper's eight
            assert options[-1].endswith("--gpus 8 --launcher fairseq")


def test_a_training_uses_the_gpus_that_slurm_is_asked_for(slurm):
    jobs = plan(find_item("context-aware, Table 1"), ROW, Options(), OUT)
    training = [replace(job, after=()) for job in jobs if job.kind == "training"][:1]
    (options,) = submitted(slurm, training, "gpus_per_node=a100:2", "cpus-per-gpu=4")
    assert "--gpus-per-node=a100:2" in options and "--cpus-per-gpu=4" in options
    assert not any(option.startswith("--cpus-per-task") for option in options)
    assert options[-1].endswith("--gpus 2 --launcher fairseq")


def test_a_file_of_an_analysis_is_whole_or_not_there(slurm):
    last = replace(plan(find_item("thesis, Figure 4.6"), (), Options(), OUT)[-1], after=())
    (options,) = submitted(slurm, [last])
    assert options[-1].endswith(
        " > out/lengths.txt.part && mv out/lengths.txt.part out/lengths.txt"
    )


def test_what_slurm_refuses_is_one_sentence(slurm, monkeypatch):
    jobs = plan(find_item("thesis, Table 5.4a"), (), Options(), OUT)[:2]
    (slurm / "bin/sbatch").write_text(
        "#!/bin/bash\necho 'sbatch: error: invalid\npartition' >&2; exit 1\n"
    )
    with pytest.raises(
        UserError, match=r"error: invalid partition: not submitted: dc-nmt"
    ) as error:
        execute.submit(jobs, slurm / "jobs", {})
    assert "\n" not in str(error.value)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="--on slurm: this machine has no sbatch"):
        execute.submit(jobs, slurm / "jobs", {})


# -- figures ---------------------------------------------------------------------------------------


def test_missing_points_are_missing_not_zero(tmp_path, monkeypatch):
    def cell(row, *ours, published=None):
        return Cell(row, "BLEU", "mteval-v13a", published=published, ours=ours)

    cells = [cell("f = 2", 20.0, 21.0, published="29.26"), cell("f = 3"), cell("f = 4", 19.0)]
    figures = []
    monkeypatch.setattr(
        curve, "save", lambda figure, path: figures.append(figure) or save(figure, path)
    )
    paths = curve.draw(cells, "title", tmp_path / "figure", {})
    handles, labels = figures[0].axes[0].get_legend_handles_labels()
    drawn = dict(zip(labels, handles, strict=True))
    published, ours = drawn["published"], drawn["measured"]
    assert list(published.get_xdata()) == list(ours.get_xdata()) == [2, 3, 4]
    assert_array_equal(published.get_ydata(), [29.26, nan, nan])
    assert_array_equal(ours.get_ydata().astype(float), [20.5, nan, 19.0])  # a gap, no line over it
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert cells[0].mean == 20.5 and cells[0].deviation == pytest.approx(0.7071, abs=1e-4)
    other = [replace(cells[0], other_settings=("--max-update 5, in the recipe 9",))]
    curve.draw(other, "title", tmp_path / "other.svg", {})
    assert "measured, other settings" in figures[1].axes[0].get_legend_handles_labels()[1]
