"""``dc-nmt prepare``, ``train``, ``evaluate`` and ``run`` with stand-ins for what they start."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from records import change
from stand_ins import stand_ins  # noqa: F401

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.evaluation import run_table_text
from dc_nmt_plugin.recipes import launch, preparation
from dc_nmt_plugin.runs.record import read_record
from dc_nmt_plugin.steps import Pipeline

TASK = ("iwslt15_en_vi", "transformer_dc")
DATA = "runs/iwslt15_en_vi/data"
RUN = "runs/iwslt15_en_vi/transformer_dc_iwslt_ff512-s1"


def made_up(recipe, sources, work, to, sample, any_counts, say):
    """The text of a task, a line a split."""
    say("train: read: 3 pairs")
    if work.with_name("bad-text").exists():
        raise UserError("x.en has 3 lines")
    for folder in (to, to / "tokenised"):
        folder.mkdir(exist_ok=True)
        for split in recipe.splits:
            for language in recipe.pair:
                (folder / f"{split}.{language}").write_text(f"{split} {language}\n")


@pytest.fixture
def recipes(stand_ins, monkeypatch):  # noqa: F811
    monkeypatch.setattr(launch, "visible_gpus", lambda: 0)
    monkeypatch.setattr(preparation, "make_text", made_up)
    monkeypatch.setattr(preparation, "usable_cpus", lambda: 3)
    return stand_ins


def test_three_steps_and_nothing_is_done_twice(recipes):
    prepared = recipes.run("prepare", TASK[0]).good()
    assert "train: read: 3 pairs" in prepared.output
    assert "train: read: 3 pairs" in (recipes.folder / f"{DATA}/raw.log").read_text()
    assert "dictionary of vi: 2 types, published: about 21000" in prepared.output
    assert f"learn-bpe -s 21000 -i {DATA}/bpe.part/both" in "\n".join(prepared.calls)
    assert not (recipes.folder / f"{DATA}/bpe/both").exists()
    assert sum("--num-workers 3" in call for call in prepared.calls) == 6
    assert f"dc-nmt recipe clean {DATA}/bpe.part en vi 150 9" in prepared.calls
    assert "--joined-dictionary" in prepared.call("fairseq-preprocess")
    assert "dc-nmt check-text" not in prepared.started()
    trained = recipes.run("train", *TASK, "--max-update", "9000").good()
    assert "2,048 tokens per update = 1 x 2,048" in trained.output
    command = trained.call("fairseq-train")
    assert f"--save-dir {RUN}/checkpoints" in command and "--max-update 9000" in command
    assert "data/bin --user-dir" in command and "--arch transformer_dc_iwslt_ff512" in command
    written = (recipes.folder / RUN / "command.txt").read_text()
    assert (
        written.startswith(f"fairseq-train {DATA}/bin --user-dir") and "--save" not in written[-40:]
    )
    scored = recipes.run("evaluate", *TASK, "--beam", "9").good()
    assert "THE SCORE" in scored.output
    score = scored.call("dc-nmt score")
    assert "--paper sacrebleu" in score and "--tokenizer moses" in score
    assert f"--tokenized-reference {DATA}/raw/tokenised/test.vi" in score
    generate = scored.call("fairseq-generate")
    assert "--beam 6 --lenpen 1.1" in generate and generate.endswith("--beam 9")
    for words in (
        ["prepare", TASK[0]],
        ["train", *TASK, "--max-update", "9000"],
        ["evaluate", *TASK, "--beam", "9"],
    ):
        again = recipes.run(*words).good()
        assert "done before" in again.output and again.calls == []


def test_a_run_is_decoded_in_several_ways_side_by_side(recipes):
    recipes.run("prepare", TASK[0]).good()
    recipes.run("train", *TASK).good()
    recipes.run("evaluate", *TASK).good()
    other = recipes.run("evaluate", *TASK, "--as", "aux1", "--decode-with", "aux:1").good()
    assert other.call("fairseq-generate").endswith("--decode-with aux:1")
    score = other.call("dc-nmt score")
    assert f"{RUN}/generate-aux1/generate-test.txt" in score
    assert f"--generate-log {RUN}/generate-aux1.log" in score
    assert f"--detokenized {RUN}/hypotheses-aux1.vi" in score
    assert score.endswith(f"--as aux1 --out {RUN}/run.json")
    main, auxiliary = read_record(recipes.folder / RUN).decodings
    assert (main.way, auxiliary.way) == ("", "aux1")
    assert auxiliary.search == {**main.search, "decode-with": "aux:1"}
    assert recipes.run("evaluate", *TASK).good().output.count("done before") == 3


def test_a_dry_run_prints_the_commands_and_does_nothing(recipes):
    before = sorted(recipes.folder.rglob("*"))
    outputs = {}
    for command in ("prepare", "train", "evaluate"):
        shown = recipes.run(command, *TASK, "--dry-run").good()
        outputs[command] = shown.output
        assert shown.calls == []
    assert "dc-nmt recipe text iwslt15_en_vi --work" in outputs["prepare"]
    assert f"train.vi > {DATA}/bpe/both" in outputs["prepare"]
    assert "subword-nmt learn-bpe -s 21000" in outputs["prepare"]
    assert "fairseq-preprocess --source-lang en --target-lang vi --joined" in outputs["prepare"]
    assert "--adam-betas '(0.9, 0.98)'" in outputs["train"]
    assert f"--save-dir {RUN}/checkpoints" in outputs["train"]
    words = ["dc-nmt average runs", "fairseq-generate", "dc-nmt score runs"]
    assert all(word in outputs["evaluate"] for word in words)
    made = [path for path in sorted(recipes.folder.rglob("*")) if path not in before]
    assert made == [recipes.state / "calls"]


def test_checkpoints_may_go_once_their_mean_is_made(recipes):
    recipes.run("prepare", TASK[0]).good()
    recipes.run("train", *TASK).good()
    recipes.run("evaluate", *TASK).good()
    shutil.rmtree(recipes.folder / RUN / "checkpoints")
    assert recipes.run("evaluate", *TASK).good().output.count("done before") == 3


def test_a_training_that_has_not_finished_is_evaluated_anew_later(recipes):
    recipes.run("prepare", TASK[0]).good()
    recipes.make("kill")
    assert recipes.run("train", *TASK).code == 1
    halfway = recipes.run("evaluate", *TASK).good()
    assert f"the run in {RUN} has not finished" in halfway.errors
    assert "from the last checkpoint on" in recipes.run("train", *TASK).good().output
    assert "fairseq-generate" in recipes.run("evaluate", *TASK).good().started()


def test_the_best_checkpoint_alone_and_codes_apart(recipes):
    task = ("wmt14_en_de", "gru_selfattn_residual")
    prepared = recipes.run("prepare", task[0]).good()
    learnt = [call for call in prepared.calls if "learn-bpe" in call]
    assert len(learnt) == 4
    assert "-i runs/wmt14_en_de/data/raw/tokenised/train.de" in learnt[3]
    binarised = [call for call in prepared.calls if call.startswith("fairseq-preprocess")]
    assert ["--joined-dictionary" in call for call in binarised] == [True, False, False]
    assert [call.split()[-1] for call in binarised] == [
        f"runs/wmt14_en_de/data/bin{suffix}.part" for suffix in ("", "-separate", "-gru")
    ]
    train = recipes.run("train", *task).good().call("fairseq-train")
    assert "data/bin-gru " in train and "--keep-interval-updates 1 " in train
    average = recipes.run("evaluate", *task).good().call("dc-nmt average")
    assert "checkpoints/checkpoint_best.pt" in average


def test_a_run_is_evaluated_on_the_text_that_it_was_trained_for(recipes):
    recipes.run("prepare", TASK[0]).good()
    recipes.run("train", *TASK).good()
    index = next((recipes.folder / DATA / "bin").glob("train.*.idx"))
    before = index.read_bytes()
    index.write_bytes(before + b"newer")
    refused = recipes.run("evaluate", *TASK).refused()
    assert f"{RUN} was trained when {DATA}/bin had other text" in refused
    index.write_bytes(before)
    recipes.run("evaluate", *TASK).good()
    unknown = replace(read_record(recipes.folder / RUN).data, text=None)  # a converted run
    change(recipes.folder / RUN, data=unknown)
    index.write_bytes(before + b"newer")
    recipes.run("evaluate", *TASK).good()


def test_the_first_of_several_machines_keeps_the_books(recipes):
    recipes.run("prepare", TASK[0]).good()
    machines = ["--launcher", "torchrun", "--gpus", 2, "--nodes", 2, "--rendezvous", "n:1"]
    second = recipes.run("train", *TASK, *machines, "--node-rank", 1).good()
    assert "--node-rank=1" in second.call("torchrun")
    assert not (recipes.folder / RUN / "settings.stamp").exists()
    whole = recipes.run("run", *TASK, *machines, "--node-rank", 1).good()
    assert whole.started() == ["torchrun", "fairseq-train"]  # it does not evaluate either
    recipes.run("train", *TASK, *machines, "--node-rank", 0).good()
    assert (recipes.folder / RUN / "training.stamp").exists()


def test_a_task_in_one_call(recipes, monkeypatch):
    monkeypatch.setattr(
        run_table_text,
        "format_runs",
        lambda files: " ".join(map(str, ["TABLE", *files])),
    )  # fmt: skip
    flags = ["transformer_dc", "--warmup-updates", 300, "--lr", "1e-3", "--size", "iwslt"]
    done = recipes.run("run", "multi30k_en_de", *flags, "--dropout", "0.2", "--fp16").good()
    run = "runs/multi30k_en_de/transformer_dc-iwslt-s1"
    assert done.call("fairseq-train").endswith(
        "--seed 1 --encoder-embed-dim 256 --decoder-embed-dim 256 --encoder-ffn-embed-dim 1024 "
        "--decoder-ffn-embed-dim 1024 --warmup-updates 300 --lr 1e-3 --dropout 0.2 --fp16 "
        f"--cpu --distributed-world-size 1 --save-dir {run}/checkpoints"
    )
    assert f"TABLE {run}\n" in done.output
    archs = ["transformer_dc", "transformer_standard", "transformer_dc"]  # one twice
    two = recipes.run("run", TASK[0], *archs, "--gpus", 0).good()
    assert len(two.output.split("TABLE ")[1].split()) == 2
    for flags, named in (
        (["--size", "huge"], "--size huge"),
        (["a", "b", "--name", "x"], "--name: 'x'"),
        (["--max-update", "0"], "--max-update: '0'"),
        (["--seed", "2", "transformr_dc"], "Did you mean 'transformer_dc'"),
    ):
        refused = recipes.run("run", "multi30k_en_de", *flags)
        assert named in refused.refused(2) and refused.calls == []


def test_two_recipes_do_not_work_in_one_run(recipes):
    recipes.run("prepare", TASK[0]).good()
    with Pipeline().alone(recipes.folder / RUN, wait=False):
        assert RUN in recipes.run("train", *TASK).refused()
    recipes.run("train", *TASK).good()
