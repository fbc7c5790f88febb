"""scripts/prepare.sh, train.sh, evaluate.sh and the Slurm file, with stand-ins for what they start.

What the recipes plan is real; it is made in this process, because loading torch takes seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from dc_nmt_plugin.recipes.plan import plan_data, plan_evaluation, plan_run
from dc_nmt_plugin.recipes.words import shell
from test_recipes import PROGRAMS, ROOT, Recipe

from dc_nmt_plugin.recipes import launch

STAND_INS = {
    **PROGRAMS,
    "dc-nmt": PROGRAMS["dc-nmt"].replace(
        "case $command in",
        r"""case $command in
          recipe)
            case $1 in
              plan) [ -f "$STATE/plan-$2" ] || { echo "no such task" >&2; exit 1; }
                    cat "$STATE/plan-$2" ;;
              text)
                flag=--to; out=$(value "$@"); mkdir -p "$out/tokenised"
                echo "train: read: 3 pairs"
                [ ! -e "$STATE/bad-text" ] || { echo "x.en has 3 lines"; exit 1; }
                for split in train valid test; do
                  for lang in en vi; do
                    echo "$split $lang" | tee "$out/$split.$lang" >"$out/tokenised/$split.$lang"
                  done
                done ;;
              clean) : ;;
            esac ;;""",
        1,
    ),
    "fairseq-preprocess": r"""
        while [ "$1" != --destdir ]; do shift; done
        printf 'a\nb\n' | tee "$2/dict.en.txt" >"$2/dict.vi.txt" """,
    "srun": r"""while [ "$1" != torchrun ]; do shift; done; "$@" """,
    "torchrun": r"""while [ "$1" != -m ]; do shift; done; shift 2; exec fairseq-train "$@" """,
    "scontrol": "printf 'node7\\nnode8\\n'",
}


class Scripts(Recipe):
    """A checkout with stand-ins; ``task`` is planned for the next calls."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in ("prepare.sh", "train.sh", "evaluate.sh", "cpus.py", "train.slurm"):
            shutil.copy(ROOT / "scripts" / name, folder / "scripts" / name)
        (folder / "dc_nmt_plugin").mkdir()
        shutil.copy(ROOT / "dc_nmt_plugin/machine.py", folder / "dc_nmt_plugin/machine.py")
        for name, body in STAND_INS.items():
            note = f'printf "%s\\n" "{name} $*" >>"$STATE/calls"\n'
            self.executable(self.programs / name, note + body)
        python = self.programs / "python"
        self.executable(python, f'case $1 in *cpus.py) echo 3 ;; *) echo "{self.programs}" ;; esac')

    def plan(self, task: str, arch: str, *run: str) -> None:
        (self.state / "plan-data").write_text(shell(plan_data([task])))
        (self.state / "plan-run").write_text(shell(plan_run([task, arch, *run])))
        self.plan_evaluation(task, arch)

    def plan_evaluation(self, *words: str) -> None:
        (self.state / "plan-evaluation").write_text(shell(plan_evaluation(words)))

    def all_calls(self) -> list[str]:
        return (self.state / "calls").read_text().splitlines()


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "visible_gpus", lambda: 0)
    made = Scripts(tmp_path)
    made.plan("iwslt15_en_vi", "transformer_dc", "--max-update", "9000")
    return made


TASK = ("iwslt15_en_vi", "transformer_dc")
RUN = "runs/iwslt15_en_vi/transformer_dc_iwslt_ff512-s1"


def test_three_steps_and_nothing_is_done_twice(scripts):
    prepared = scripts.run("scripts/prepare.sh", TASK[0])
    assert prepared.returncode == 0, prepared.stderr
    assert "train: read: 3 pairs" in prepared.stdout
    assert "dictionary of vi: 2 types, published: about 21000" in prepared.stdout
    calls = "\n".join(scripts.all_calls())
    assert "learn-bpe -s 21000 -i runs/iwslt15_en_vi/data/bpe.part/both" in calls
    assert calls.count("--num-workers 3") == 6
    assert "recipe clean runs/iwslt15_en_vi/data/bpe.part en vi 150 9" in calls
    assert "--joined-dictionary" in calls and "check-text" not in calls
    trained = scripts.run("scripts/train.sh", *TASK)
    assert trained.returncode == 0, trained.stderr
    assert "2,048 tokens per update = 1 x 2,048" in trained.stdout
    command = scripts.call("fairseq-train")
    assert f"--save-dir {RUN}/checkpoints" in command and "--max-update 9000" in command
    assert "data/bin --user-dir" in command and "--arch transformer_dc_iwslt_ff512" in command
    scored = scripts.run("scripts/evaluate.sh", *TASK, "--", "--beam", "9")
    assert scored.returncode == 0, scored.stderr
    score = scripts.call("dc-nmt score")
    assert "--paper sacrebleu" in score and "--tokenizer moses" in score
    assert "--tokenized-reference runs/iwslt15_en_vi/data/raw/tokenised/test.vi" in score
    assert "--beam 6 --lenpen 1.1" in scripts.call("fairseq-generate")
    assert scripts.call("fairseq-generate").endswith("--beam 9")
    assert (scripts.folder / RUN / "score/result.json").is_file()
    for script in ("prepare", "train", "evaluate"):
        arguments = TASK if script != "prepare" else TASK[:1]
        again = scripts.run(f"scripts/{script}.sh", *arguments, *(("--", "--beam", "9")
                            if script == "evaluate" else ()))  # fmt: skip
        assert again.returncode == 0 and "done before" in again.stdout
        started = {call.split()[0] for call in scripts.all_calls()}
        assert started == {"dc-nmt"} and all("recipe plan" in c for c in scripts.all_calls())


def test_ways_to_decode_a_run_stand_side_by_side(scripts):
    scripts.run("scripts/prepare.sh", TASK[0])
    scripts.run("scripts/train.sh", *TASK)
    plain = scripts.run("scripts/evaluate.sh", *TASK)
    scripts.plan_evaluation(*TASK, "--as", "aux1")
    other = scripts.run("scripts/evaluate.sh", *TASK, "--", "--decode-with", "aux:1")
    assert plain.returncode == other.returncode == 0, other.stderr
    assert scripts.call("fairseq-generate").endswith("--decode-with aux:1")
    score = scripts.call("dc-nmt score")
    assert f"--generated {RUN}/generate-aux1/generate-test.txt" in score
    assert f"--generate-log {RUN}/generate-aux1.log" in score
    assert f"--hypotheses {RUN}/hypotheses-aux1.vi" in score
    for folder in ("score", "score-aux1"):
        assert (scripts.folder / RUN / folder / "result.json").is_file()
    scripts.plan_evaluation(*TASK)
    assert scripts.run("scripts/evaluate.sh", *TASK).stdout.count("done before") == 3


def test_a_dry_run_prints_the_commands_and_does_nothing(scripts):
    before = sorted(scripts.folder.rglob("*"))
    outputs = {}
    for script in ("prepare", "train", "evaluate"):
        shown = scripts.run(f"scripts/{script}.sh", *TASK, "--dry-run")
        assert shown.returncode == 0, shown.stderr
        outputs[script] = shown.stdout
        assert all("recipe plan" in call for call in scripts.all_calls())
    assert "dc-nmt recipe text iwslt15_en_vi --work" in outputs["prepare"]
    assert "subword-nmt learn-bpe -s 21000" in outputs["prepare"]
    assert "fairseq-preprocess --source-lang en --target-lang vi --joined" in outputs["prepare"]
    assert "--adam-betas \\(0.9\\,\\ 0.98\\)" in outputs["train"]
    assert f"--save-dir {RUN}/checkpoints" in outputs["train"]
    words = ["dc-nmt average --dir", "fairseq-generate", "dc-nmt score --generated"]
    assert all(word in outputs["evaluate"] for word in words)
    after = [path for path in sorted(scripts.folder.rglob("*")) if path.name != "calls"]
    assert after == [path for path in before if path.name != "calls"]


def test_a_step_out_of_order_says_which_comes_first(scripts):
    early = scripts.run("scripts/train.sh", *TASK)
    assert early.returncode == 1 and len(early.stderr.splitlines()) == 1
    assert "data/bin is not there: prepare the text first" in early.stderr
    scripts.run("scripts/prepare.sh", TASK[0])
    none = scripts.run("scripts/evaluate.sh", *TASK)
    assert none.returncode == 1 and len(none.stderr.splitlines()) == 1
    assert (
        f"{RUN}/checkpoints has no checkpoints: train first, with scripts/train.sh" in none.stderr
    )
    assert not (scripts.folder / RUN).exists()


def test_a_training_that_has_not_finished_is_evaluated_anew_later(scripts):
    scripts.run("scripts/prepare.sh", TASK[0])
    (scripts.state / "kill-train").touch()
    assert scripts.run("scripts/train.sh", *TASK).returncode == 1
    halfway = scripts.run("scripts/evaluate.sh", *TASK)
    assert halfway.returncode == 0 and "has not finished; what is there" in halfway.stderr
    assert "from the last checkpoint on" in scripts.run("scripts/train.sh", *TASK).stdout
    assert "fairseq-generate" in scripts.calls() or (
        scripts.run("scripts/evaluate.sh", *TASK).stdout.count("done before") == 0
    )


def test_unusable_text_stops_and_leaves_no_half_of_it(scripts):
    (scripts.state / "bad-text").touch()
    stopped = scripts.run("scripts/prepare.sh", TASK[0])
    assert stopped.returncode == 1 and "x.en has 3 lines" in stopped.stdout
    assert "subword-nmt" not in scripts.calls()
    assert not (scripts.folder / "runs/iwslt15_en_vi/data/raw").exists()
    (scripts.state / "plan-data").unlink()
    unknown = scripts.run("scripts/prepare.sh", "iwslt15_vi")
    assert unknown.returncode == 1 and unknown.stderr == "no such task\n"


def test_the_best_checkpoint_alone_and_codes_apart(scripts):
    scripts.plan("wmt14_en_de", "gru_selfattn_residual")
    plan = (scripts.state / "plan-data").read_text()
    (scripts.state / "plan-data").write_text(plan.replace("TGT=de", "TGT=vi"))
    assert scripts.run("scripts/prepare.sh", "wmt14_en_de").returncode == 0
    calls = scripts.all_calls()
    learnt = [call for call in calls if "learn-bpe" in call]
    assert len(learnt) == 4 and "-i runs/wmt14_en_de/data/raw/tokenised/train.vi" in learnt[3]
    binarised = [call for call in calls if call.startswith("fairseq-preprocess")]
    assert ["--joined-dictionary" in call for call in binarised] == [True, False, False]
    assert [call.split()[-1] for call in binarised] == [
        f"runs/wmt14_en_de/data/bin{suffix}.part" for suffix in ("", "-separate", "-gru")
    ]
    trained = scripts.run("scripts/train.sh", "wmt14_en_de", "gru_selfattn_residual")
    assert trained.returncode == 0 and "data/bin-gru " in scripts.call("fairseq-train")
    assert "--keep-interval-updates 1" in scripts.call("fairseq-train")
    scripts.run("scripts/evaluate.sh", "wmt14_en_de", "gru_selfattn_residual")
    assert "checkpoints/checkpoint_best.pt" in scripts.call("dc-nmt average")


@pytest.mark.parametrize("nodes", [1, 2])
def test_the_slurm_file_starts_one_torchrun_a_node(scripts, monkeypatch, nodes):
    scripts.run("scripts/prepare.sh", TASK[0])
    slurm = {
        "SLURM_SUBMIT_DIR": str(scripts.folder),
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_JOB_NODELIST": "node[7-8]",
        "SLURM_GPUS_PER_NODE": "h100:4",
    }
    for name, value in slurm.items():
        monkeypatch.setenv(name, value)
    # what the file adds, and so what is planned
    added = ["--launcher", "srun", "--gpus", "4", "--rendezvous", "node7:24711"]
    scripts.plan(*TASK, *added)
    path = f"{scripts.programs}{os.pathsep}{os.environ['PATH']}"
    done = scripts.run("scripts/train.slurm", *TASK, "--fp16", **slurm, PATH=path)
    assert done.returncode == 0, done.stderr
    calls = scripts.all_calls()
    assert f"dc-nmt recipe plan run {' '.join(TASK)} --fp16 {' '.join(added)}" in calls
    torchrun = next(call for call in calls if call.startswith("torchrun"))
    assert f"--nnodes={nodes} --nproc-per-node=4" in torchrun
    assert ("--rdzv-endpoint=node7:24711 --rdzv-id=4711" in torchrun) == (nodes == 2)
    share = {1: "4 x 512", 2: "8 x 256"}[nodes]
    assert f"2,048 tokens per update = {share} (--max-tokens) x 1 (--update-freq)" in done.stdout
    assert f"--distributed-world-size {4 * nodes}" in scripts.call("fairseq-train")


def test_the_slurm_file_has_directives_first_and_refuses_other_folders(tmp_path):
    path = ROOT / "scripts/train.slurm"
    lines = path.read_text().splitlines()
    directives = [n for n, line in enumerate(lines) if line.startswith("#SBATCH")]
    assert directives and all(line.startswith("#") for line in lines[: directives[-1]])
    assert os.access(path, os.X_OK)
    wrong = subprocess.run(
        ["bash", str(path), *TASK],
        env={**os.environ, "SLURM_SUBMIT_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert wrong.returncode == 1 and "call sbatch in the checkout" in wrong.stderr


def test_multi30k_in_one_call(scripts):
    example = scripts.folder / "examples/multi30k_en_de"
    example.mkdir(parents=True)
    shutil.copy(ROOT / "examples/multi30k_en_de/run.sh", example)
    scripts.plan("multi30k_en_de", "transformer_dc")
    plan = (scripts.state / "plan-data").read_text()
    (scripts.state / "plan-data").write_text(plan.replace("TGT=de", "TGT=vi"))
    arguments = ["--arch", "transformer_dc", "--lr", "1e-3", "--size", "iwslt", "--", "--fp16"]
    done = scripts.run("examples/multi30k_en_de/run.sh", *arguments)
    assert done.returncode == 0, done.stderr
    _, training, evaluation = [call for call in scripts.all_calls() if "recipe plan" in call]
    assert "--name transformer_dc-iwslt-s1 --lr 1e-3 --encoder-embed-dim 256" in training
    assert training.endswith("--decoder-ffn-embed-dim 1024 -- --fp16")
    assert evaluation.endswith("--seed 1 --name transformer_dc-iwslt-s1")
    assert "THE TABLE runs/multi30k_en_de/transformer_dc-iwslt-s1/score/result.json" in done.stdout
    for arguments, message in (
        (["--size", "huge"], "--size 'huge' is unknown; choose tiny or iwslt"),
        (["--arch", "a b", "--name", "x"], "--name 'x' goes with one architecture"),
        (["--updates", "0"], "--updates '0' is not a whole number above zero"),
        (["--arch", " "], "--arch is empty"),
    ):
        refused = scripts.run("examples/multi30k_en_de/run.sh", *arguments)
        assert refused.returncode == 1 and message in refused.stderr and not scripts.all_calls()
