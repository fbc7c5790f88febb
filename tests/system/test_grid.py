"""Several runs: side by side by submitit on this machine, and on a stand-in for Slurm."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import Run
from helpers import toy_text
from records import write_run, write_scored
from submitit.core.utils import DelayedSubmission

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import locked
from dc_nmt_plugin.laboratory.commands import run, runs
from dc_nmt_plugin.laboratory.recipes import grid, plan
from dc_nmt_plugin.laboratory.recipes.execution import Progress
from dc_nmt_plugin.laboratory.recipes.grid import run_here
from dc_nmt_plugin.laboratory.recipes.jobs import file_of, status_table
from dc_nmt_plugin.laboratory.recipes.planned import Experiment, TrainOptions
from dc_nmt_plugin.laboratory.recipes.side_by_side import run_side_by_side
from dc_nmt_plugin.laboratory.recipes.slurm import Cluster, submit
from dc_nmt_plugin.laboratory.steps import Command, Grid, GridRun, Stage, Step

GRID = ["run", "mine", "transformer_standard", "transformer_dc", "--seeds", "1,2"]


@pytest.fixture
def recipe(cwd, monkeypatch, capsys):
    """The folder of a recipe."""
    monkeypatch.setattr(plan, "visible_gpus", lambda: 0)
    for side, code in enumerate(("en", "de")):
        lines = [pair[side] for pair in toy_text("en", "de", 300)]
        (cwd / f"a.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    assert cli.main(["new", "mine", "--train", "a.en", "a.de", "--bpe", "100"]) == 0
    capsys.readouterr()
    return cwd / "mine"


def grid_run(name, *words):
    return GridRun(Path("runs") / name, 1, (Command(words),), lambda: False)


def test_side_by_side_one_fails_and_the_others_go_on(cwd, capsys):
    names = ("a-s1", "b-s1", "c-s1")
    runs = [grid_run(name, "recipe", "list") for name in names]
    runs[1] = grid_run("b-s1", "recipe", "lost")
    failed = run_side_by_side(runs, 2, 0, Progress())
    assert list(failed) == ["b-s1"]
    assert "'lost'" in Path(failed["b-s1"]).read_text()
    printed = [line.partition("] ")[2] for line in capsys.readouterr().out.splitlines()]
    assert printed[:2] == ["a-s1: started, 2 waiting", "b-s1: started, 1 waiting"]
    assert sorted(printed[2:]) == [
        "a-s1: done", "b-s1: failed", "c-s1: done", "c-s1: started, 0 waiting",
    ]  # fmt: skip
    (log,) = Path("runs/jobs/c-s1").glob("*log.out")
    assert "multi30k_en_de" in log.read_text()
    status = status_table(runs).splitlines()
    assert [line.split()[1] for line in status[2:] if line.strip()][:1] == ["failed"]


STRANGERS = ("dc_nmt_plugin", "fairseq", "submitit", "torch", "yaml")


def write_strangers(folder):
    """Writes modules that anybody may have in his folder, and that must not be imported."""
    for name in STRANGERS:
        (folder / f"{name}.py").write_text(f'open("{name} was imported", "w")\n')


def test_no_code_of_the_working_folder_is_run_side_by_side(cwd):
    write_strangers(cwd)
    assert run_side_by_side([grid_run("a-s1", "recipe", "list")], 1, 0, Progress()) == {}
    assert not list(cwd.glob("* was imported"))


def test_one_after_the_other_one_fails_and_the_others_go_on(cwd, capsys):
    made = []

    def run(name, error=None):
        def is_done():
            made.append(name)
            if error:
                raise error
            return True

        folder = Path("runs") / name
        step = Step("train", folder, lambda _: (), is_done=is_done)
        return GridRun(folder, 1, (Command((), Stage(folder, [step])),), bool)

    broken = OSError(17, "File exists", "x")
    runs = [run("a-s1", UserError("no text")), run("b-s1", broken), run("c-s1")]
    assert list(run_here(runs, Progress())) == ["a-s1", "b-s1"] and made == ["a-s1", "b-s1", "c-s1"]
    assert "a-s1 failed: no text\n" in capsys.readouterr().err
    with pytest.raises(UserError, match="no text"):
        run_here(runs[:1], Progress())


def test_a_grid_offers_a_page_of_its_table(monkeypatch, capsys):
    monkeypatch.setattr(grid, "run_here", lambda runs, progress: {})
    monkeypatch.setattr(grid, "run_command", lambda words: 0)
    table = Command(("results", "runs/a b-s1", "--finished"))
    grid.carry_out(Grid([grid_run("a b-s1")], [], table=table), grid.GridOptions(), 0)
    offered = "for a page in the browser: dc-nmt results 'runs/a b-s1' --finished --page runs/page"
    assert capsys.readouterr().err.splitlines() == [offered]


def processes_of(folder):
    """The numbers of the processes that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(process / "cwd") == str(folder):
                found.append(int(process.name))
    return [number for number in found if number != os.getpid()]


@pytest.mark.parametrize(
    "request_to_end",
    [signal.SIGHUP, *(pytest.param(n, marks=pytest.mark.thorough) for n in (2, signal.SIGTERM))],
)
def test_a_request_to_end_also_ends_the_jobs(recipe, request_to_end, cwd, tmp_path_factory):
    """Of two jobs, which wait for a text that another process prepares."""
    (recipe / "data").mkdir()
    words = ["run", "mine", "transformer_standard", "transformer_dc", "--jobs", "2", "--gpus", "0"]
    (recipe / "data/bin").mkdir()
    logs = tmp_path_factory.mktemp("logs")

    def ignore_interrupts():  # as where a shell started it in the background
        if request_to_end != signal.SIGINT:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    with ExitStack() as stack:
        for name in ("transformer_standard-s1", "transformer_dc-s1"):
            (recipe / name).mkdir()
            stack.enter_context(locked(recipe / name / ".lock"))
        parent = Run(logs, "dc-nmt", *words, before=ignore_interrupts)
        jobs = recipe / "jobs"
        for _ in range(600):
            time.sleep(0.1)
            waiting = [log for log in jobs.glob("*/*log.out") if "waiting for" in log.read_text()]
            if len(waiting) == 2:
                break
        assert len(waiting) == 2, parent.files[1].read_text()
        assert len(processes_of(cwd)) > 4
        assert "starting" not in status_of(recipe) and "running" in status_of(recipe)
        os.kill(parent.process.pid, request_to_end)
        assert parent.wait().code == 130
        assert processes_of(cwd) == []


def status_of(recipe):
    """The states of two runs, whose folders are locked."""
    names = ("transformer_standard-s1", "transformer_dc-s1")
    return status_table([GridRun(recipe / name, 1, (), lambda: False) for name in names])


def test_damaged_files_of_jobs_and_a_job_that_begins(cwd):
    runs = [grid_run(name) for name in ("a-s1", "b-s1", "c-s1")]
    for one, text in zip(runs, ("[]", "5", '{"on": "here", "job": "x"}'), strict=True):
        file_of(one).parent.mkdir(parents=True, exist_ok=True)
        file_of(one).write_text(text)
        one.folder.mkdir()
        line = '| train_inner | {"num_updates": "20", "wall": "nan"}\n'
        (one.folder / "train.log").write_text(line)
    assert status_table(runs).count("not started  0 of 0 updates") == 3
    beginning = subprocess.Popen(["bash", "-c", "sleep 60; : submitit"])
    job = {"on": "here", "job": str(beginning.pid), "log": "x"}
    file_of(runs[0]).write_text(json.dumps(job))
    while b"submitit" not in Path(f"/proc/{beginning.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    assert "starting" in status_table(runs[:1])
    beginning.kill()
    beginning.wait()
    assert "failed or stopped" in status_table(runs[:1])


class Slurm:
    """Programs that take jobs and run none; the test runs them, in any order.

    Attributes:
        jobs: scripts by their numbers, from 1
    """

    PROGRAMS = {  # noqa: RUF012
        "sbatch": 'answer=$(head -n 1 "$SPOOL/answers" 2> /dev/null); '
        'sed -i 1d "$SPOOL/answers" 2> /dev/null; '
        '[[ $answer != *error* ]] || { echo "$answer" >&2; exit 1; }; '
        '[ -z "$answer" ] || { echo "$answer"; exit 0; }; '
        'n=$(($(ls "$SPOOL" | grep -c "sh$") + 1)); cp "$1" "$SPOOL/$n.sh"; '
        'echo "Submitted batch job $n"',
        "srun": "shift; log=${2//%A_%a/${SLURM_ARRAY_JOB_ID:-}_${SLURM_ARRAY_TASK_ID:-}}; "
        "log=${log//%j/$SLURM_JOB_ID}; log=${log//%t/0}; shift 2; "
        'echo $$ > "$SPOOL/pid"; exec "$@" >> "$log" 2>&1',
        "scancel": 'echo "$@" >> "$SPOOL/cancelled"',
        "scontrol": 'echo "$@" >> "$SPOOL/control"',
        "sacct": 'echo "JobID|State|NodeList"; cat "$SPOOL/states"',
    }

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spool = folder / "spool"
        programs = folder / "slurm"
        self.spool.mkdir()
        programs.mkdir()
        for name, body in self.PROGRAMS.items():
            (programs / name).write_text(f"#!/bin/bash\nSPOOL={self.spool}\n{body}\n")
            (programs / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def answers(self, lines: list[str]) -> None:
        """What sbatch says to the next jobs; "" takes one, and an error refuses it."""
        (self.spool / "answers").write_text("".join(f"{line}\n" for line in lines))

    def script(self, job: int) -> dict[str, str]:
        """The words for sbatch in a job's script."""
        text = (self.spool / f"{job}.sh").read_text()
        return dict(re.findall(r"#SBATCH --([\w-]+)=(.+)", text))

    def start(
        self, job: int, task: int | None = None, without: str = ""
    ) -> subprocess.Popen[bytes]:
        names = {"JOB_ID": job, "NTASKS": 1, "PROCID": 0, "LOCALID": 0, "NODEID": 0}
        if task is not None:
            names |= {"JOB_ID": 100 + task, "ARRAY_JOB_ID": job, "ARRAY_TASK_ID": task}
        environment = {f"SLURM_{name}": str(value) for name, value in names.items()}
        words = ["bash", "-e", str(self.spool / f"{job}.sh")]
        environment = {**os.environ, **environment}
        environment.pop(without, None)
        log = open(self.spool / "log", "ab")  # noqa: SIM115
        return subprocess.Popen(words, env=environment, stdout=log, stderr=log)

    def run(self, job: int, task: int | None = None, without: str = "") -> None:
        assert self.start(job, task, without).wait(200) == 0, (self.spool / "log").read_text()


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch):
    return Slurm(tmp_path_factory.mktemp("cluster"), monkeypatch)


def test_jobs_on_slurm_in_any_order_and_one_beyond_its_time_limit(recipe, slurm, capsys):
    runs = [
        grid_run("a-s1", "prepare", "mine", "--out", "waits"),
        grid_run("b-s1", "recipe", "lost"),
        grid_run("c-s1", "recipe", "list"),
    ]
    text = Command(("recipe", "text", "mine", "--work", "work", "--out", "text"))
    table = Command(("recipe", "list"))
    lines = submit(Grid(runs, [text], table=table), Cluster(1, 0))
    assert [line.partition(":")[0] for line in lines] == ["1", "2_0", "2_1", "2_2", "3"]
    slurm.run(1)
    assert Path("text/train.en").is_file()
    slurm.run(2, task=2)
    (slurm.spool / "states").write_text("")  # Slurm's accounts do not know the jobs yet
    assert "waiting" in status_table(runs[:1]) and "failed" not in status_table(runs[:1])
    assert slurm.start(2, task=1).wait(200) != 0
    (slurm.spool / "states").write_text("2_1|FAILED|\n2_[0]|PENDING|\n2_2|COMPLETED|\n")
    states = {line.split()[0]: line.split()[1] for line in status_table(runs).splitlines()[2:]}
    assert (states["a-s1"], states["b-s1"]) == ("waiting", "failed")
    # the first one waits for its text until its time is over
    Path("waits/data").mkdir(parents=True)
    log = Path("runs/jobs/2_0_0_log.out")
    log.touch()
    with locked(Path("waits/data/.lock")):
        job = slurm.start(2, task=0)
        for _ in range(2000):
            time.sleep(0.1)
            if job.poll() is not None or "waiting for another recipe" in log.read_text():
                break
        assert job.poll() is None, log.read_text()
        os.kill(int((slurm.spool / "pid").read_text()), signal.SIGUSR2)
        assert job.wait(30) != 0
    assert (slurm.spool / "control").read_text() == "requeue 2_0\n"
    slurm.run(2, task=0)
    assert Path("waits/data/bin/.stamp").is_file()
    slurm.run(3)


def test_runs_side_by_side_train_on_one_gpu_each(recipe, monkeypatch):
    monkeypatch.setattr(plan, "visible_gpus", lambda: 4)
    for gpus, processes in (("4", 1), ("0", 1), (None, 4)):
        words = ["mine", "transformer_dc", "--jobs", "2", *(["--gpus", gpus] if gpus else [])]
        args, flags = run.parser().parse_with_flags(words)
        planned = runs.plan_of(args, flags, "transformer_dc", 1)
        assert planned.tokens.processes == processes
        assert ("--gpus" in planned.command.words) == (gpus is not None)
        assert "4" not in planned.command.words


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (["sbatch: error: Invalid account"], "sbatch: error: Invalid account"),
        (["", "sbatch: error: too many jobs"], "sbatch: error: too many jobs"),
        (["maintenance at noon"], "maintenance at noon"),
        (None, "this machine has no sbatch"),
    ],
    ids=["refused", "refused later", "nonsense", "no Slurm"],
)
def test_what_slurm_refuses_is_one_sentence_and_leaves_nothing(
    recipe, slurm, answers, said, capsys, monkeypatch
):
    if answers is None:
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    else:
        slurm.answers(answers)
    before = sorted(path.name for path in recipe.iterdir())
    assert cli.main([*GRID, "--on", "slurm"]) == 1
    output, errors = capsys.readouterr()
    assert said in errors and errors.count("\n") == 1 and output.count("\n") == 0, errors
    assert sorted(path.name for path in recipe.iterdir()) == before
    if answers and answers[0] == "":  # the text had been taken
        assert (slurm.spool / "cancelled").read_text().split() == ["1"]


def test_what_waits_or_runs_is_not_submitted_again(recipe, slurm, capsys):
    assert cli.main([*GRID, "--on", "slurm"]) == 0
    (slurm.spool / "states").write_text("2_0|RUNNING|\n2_1|PENDING|\n2_2|FAILED|\n2_3|FAILED|\n")
    capsys.readouterr()
    assert cli.main([*GRID, "--on", "slurm"]) == 0
    printed = capsys.readouterr().out
    assert "transformer_standard-s1: running as job 2_0, and not submitted again" in printed
    assert "scancel 2_1 and remove mine/jobs/transformer_dc-s1.json" in printed
    jobs = recipe / "jobs"
    again = [words_of(jobs / f"5_{task}_submitted.pkl")[0][2] for task in range(2)]
    assert again == ["transformer_standard", "transformer_dc"]
    assert slurm.script(5)["array"].startswith("0-1")


def test_no_code_of_the_working_folder_is_run_on_slurm(cwd, slurm):
    write_strangers(cwd)
    runs = [grid_run("a-s1", "recipe", "list")]
    submit(Grid(runs, table=Command(("recipe", "list"))), Cluster(1, 0))
    # a cluster may not hand the environment on
    for job in (1, 2):
        slurm.run(job, without="PYTHONSAFEPATH")
    assert not list(cwd.glob("* was imported"))


def words_of(path):
    return [line.words[1:] for line in DelayedSubmission.load(path).function.lines]


def test_a_grid_is_submitted_without_what_is_finished(recipe, slurm, capsys):
    done = recipe / "transformer_dc-s2"
    options = TrainOptions(flags=("--lr", "1e-3"), gpus=4)
    planned = plan.plan_training(Experiment("mine", done.name[:-3], seed=2), options).words
    flags = shlex.join(planned[planned.index("--task") :])
    write_run(done, "transformer_dc", flags, updates=600, tokens=2048)
    write_scored(done, "x", "y")
    words = [*GRID, "--on", "slurm", "--partition", "p", "--time", "2-12", "--gpus", "4", "--lr"]
    assert cli.main([*words, "1e-3", "--sbatch", "account=x"]) == 0
    printed = capsys.readouterr().out
    assert "transformer_dc-s2: done before" in printed
    assert "--gpus 4: a batch fills 1; more do not make a run faster" in printed
    expected = {"partition": "p", "time": str(60 * 60), "account": "x"}
    text, array, table = (slurm.script(number) for number in (1, 2, 3))
    for script in (text, array, table):
        assert expected.items() <= script.items()
    assert array["gpus-per-node"] == "4" and array["array"] == "0-2%3"
    assert array["dependency"] == "afterok:1" and table["dependency"] == "afterany:2"
    jobs = recipe / "jobs"
    assert words_of(jobs / "1_submitted.pkl") == [("prepare", "mine", "--bpe", "default")]
    asked = [words_of(jobs / f"2_{task}_submitted.pkl") for task in range(3)]
    assert asked[1] == [
        ("train", "mine", "transformer_dc", "--seed", "1", "--gpus", "4", "--", "--lr", "1e-3"),
        ("evaluate", "mine", "transformer_dc", "--seed", "1"),
    ]
    assert [evaluation[-1] for _, evaluation in asked] == ["1", "1", "2"]
    assert words_of(jobs / "3_submitted.pkl")[-1][-1] == "--over-seeds"
    # with other settings it is another run
    assert cli.main([*GRID, "--on", "slurm", "--lr", "2e-3"]) == 1
    assert "transformer_dc-s2 has a run with other data or settings (lr" in capsys.readouterr().err
    assert cli.main([*GRID, "--status", "--lr", "2e-3"]) == 0
    assert "has another run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--time", "90"], "--time: goes with --on slurm"),
        (["--on", "slurm", "--jobs", "2"], "--jobs 2: is for this machine"),
        (["--on", "slurm", "--time", "soon"], "--time: 'soon' is not a time"),
        (["--on", "slurm", "--sbatch", "account"], "--sbatch: 'account' is not NAME=VALUE"),
        (
            ["--dry-run", "--on", "slurm"],
            "--dry-run: prints a script; leave out --on",
        ),
        (
            ["--dry-run", "--jobs", "2"],
            "--dry-run: prints a script; leave out --jobs",
        ),
        (
            ["--dry-run", "--status"],
            "--dry-run: prints a script; leave out --status",
        ),
        (["--dry-run", "--partition", "p"], "--partition: goes with --on slurm"),
        (["--on", "slurm", "--time", "0"], "--time: '0' is not between a minute and a year"),
        (["--on", "slurm", "--partition", "a\n#SBATCH"], "--partition: 'a\\n#SBATCH': use"),
        (
            ["--estimate", "--on", "slurm"],
            "--estimate: trains a little on this machine; leave out --on",
        ),
        (["--jobs", "0"], "--jobs: '0' is not a whole number from 1"),
        (["--seed", "3"], "--seed 3: contradicts --seeds"),
        (["--name", "x"], "--name: 'x' is for one"),
    ],
)
def test_refused_in_one_sentence(recipe, words, named, capsys):
    assert cli.main([*GRID, *words]) == 2
    output, errors = capsys.readouterr()
    assert output == "" and errors.count("\n") == 1 and named in errors
    assert sorted(path.name for path in recipe.iterdir()) == ["recipe.yaml", "text"]


def test_a_grid_without_submitit(recipe, slurm, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "submitit", None)
    assert cli.main([*GRID, "--on", "slurm"]) == 1
    assert "pip install 'dc_nmt_plugin[slurm]'" in capsys.readouterr().err
