"""Settings, GPUs and command lines of the recipes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from dc_nmt_plugin.papers.tables import published_tables
from dc_nmt_plugin.papers.tasks import published_scores, tasks
from dc_nmt_plugin.recipes.pieces import LENGTHS
from dc_nmt_plugin.recipes.plan import plan_data, plan_evaluation, plan_run
from dc_nmt_plugin.recipes.words import shell
from fairseq import options
from hypothesis import given
from hypothesis import strategies as st

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.evaluation.metrics import find_metrics
from dc_nmt_plugin.flags import flag_value
from dc_nmt_plugin.recipes import launch
from dc_nmt_plugin.recipes.launch import Machines, find_machines, share_out
from dc_nmt_plugin.recipes.recipe import Recipe, load
from dc_nmt_plugin.recipes.settings import settings_of, unsized_architectures

FOLDERS = sorted(path.parent.name for path in Path("examples").glob("*/recipe.ini"))
TRAIN, GENERATE = options.get_training_parser, options.get_generation_parser


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch):
    monkeypatch.setattr(launch, "visible_gpus", lambda: 0)
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)


PARSERS = {}


def parse(make, words):
    """What fairseq's own parser reads; a parser is made once for each choice of flags to add."""
    names = ("--task", "--criterion", "--optimizer", "--lr-scheduler")
    kinds = (make, *(flag_value(words, name) for name in names))
    if kinds not in PARSERS:
        PARSERS[kinds] = make()
        options.parse_args_and_arch(PARSERS[kinds], ["data", *words])  # adds the chosen ones' flags
    return PARSERS[kinds].parse_args(["data", *words])


@pytest.mark.parametrize("name", FOLDERS)
def test_fairseq_reads_every_architecture_s_flags(name):
    recipe = load(name)
    decoded = set()
    for arch in unsized_architectures():
        plan = plan_run([name, arch])
        flags = ["--source-lang", recipe.source, "--target-lang", recipe.target]
        flags += [*shlex.split(plan["ARCH_WORDS"]), *plan["TRAIN_FLAGS"]]
        read = parse(TRAIN, [*flags, "--max-update", str(plan["UPDATES"])])
        assert read.arch == plan["ARCH"] and read.seed == 1
        frequency = int(flag_value(plan["TRAIN_FLAGS"], "--update-freq") or 1)
        assert read.max_tokens * frequency == settings_of(recipe, arch).tokens
        task = shlex.split(plan["ARCH_WORDS"])[3]
        if task not in decoded:
            decoded.add(task)
            words = ["--path", "x.pt", "--task", task, *plan["GENERATE_FLAGS"]]
            assert parse(GENERATE, words).beam >= 4
        score = plan["SCORE_FLAGS"]
        find_metrics("--paper", score[score.index("--paper") + 1])
        assert ("--truecased" in score) == (name == "wmt13_es_en")


@pytest.mark.parametrize("task", tasks())
def test_published_numbers_belong_to_architectures_and_their_settings(task):
    recipe = load(task)
    for key, (score, place) in published_scores(recipe.path, recipe.direction).items():
        arch, *flags = key.split()
        assert 15 < score < 45 and place
        plan = plan_run([task, arch, *flags])
        assert plan["ARCH"] == arch
        if flags:
            words = [*shlex.split(plan["ARCH_WORDS"]), *plan["TRAIN_FLAGS"]]
            assert parse(TRAIN, words).aux_layers == flags[1]


@pytest.mark.parametrize("name", FOLDERS)
def test_readmes_have_the_published_numbers(name):
    text = Path(f"examples/{name}/README.md").read_text(encoding="utf-8")
    tables = published_tables(load(name).path)
    if tables:
        assert tables in text
    else:
        assert "<!-- published -->" not in text


def test_the_paper_s_size_and_settings():
    def arch(task, name, size=None):
        return settings_of(load(task), name, size).arch

    assert arch("iwslt14_es_en", "transformer_dc") == "transformer_dc_iwslt_ff512"
    assert arch("iwslt14_es_en", "transformer_mlmha_m_00") == "transformer_mlmha_m_00_iwslt"
    assert arch("iwslt14_es_en", "transformer_dc_tiny") == "transformer_dc_tiny"
    assert arch("wmt14_en_de", "transformer_ctxaware_full") == "transformer_ctxaware_full_unshared"
    assert arch("wmt14_en_de", "transformer_dc", "big") == "transformer_dc_big"
    assert arch("iwslt14_es_en", "transformer_dc", "base") == "transformer_dc"
    wmt = load("wmt14_en_de")
    assert settings_of(wmt, "gru_selfattn_residual_mean").bpe == "gru"
    assert settings_of(wmt, "transformer_ms_aux_13").tokens == 4960
    assert settings_of(wmt, "transformer_cross_agg_self").tokens == 24576
    with pytest.raises(UserError, match=r"'transformer_cd' is not one of .* Did you mean"):
        arch("wmt14_en_de", "transformer_cd")
    with pytest.raises(
        UserError, match="there is no 'transformer_dc_huge'; there are transformer_d"
    ):
        arch("wmt14_en_de", "transformer_dc", "huge")
    with pytest.raises(UserError, match="is a language model"):
        arch("wmt14_en_de", "lstm_lm_selfattn_residual")
    with pytest.raises(UserError, match=r"'wmt14_de_en' is not one of .*Did you mean"):
        load("wmt14_de_en")


def test_the_multi30k_run_is_the_one_that_was_measured():
    """A change here makes finished runs look unfinished."""
    plan = plan_run(["multi30k_en_de", "transformer_dc"])
    assert plan["RUN"] == "runs/multi30k_en_de/transformer_dc-tiny-s1"
    assert " ".join(plan["TRAIN_FLAGS"]) == (
        "--encoder-layers 4 --decoder-layers 4 --encoder-embed-dim 128 --decoder-embed-dim 128 "
        "--encoder-ffn-embed-dim 256 --decoder-ffn-embed-dim 256 --encoder-attention-heads 4 "
        "--decoder-attention-heads 4 --share-all-embeddings --dropout 0.1 --label-smoothing 0.1 "
        "--clip-norm 1.0 --max-tokens 2048 --optimizer adam --adam-betas (0.9, 0.98) --lr 2e-3 "
        "--lr-scheduler cosine --warmup-updates 400 --seed 1"
    )
    assert (plan["UPDATES"], plan["SAVE_EVERY"], plan["AVERAGE"]) == (2800, 140, 5)
    decode = "--beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20"
    assert " ".join(plan["GENERATE_FLAGS"]) == decode
    data = plan_data(["multi30k_en_de"])
    assert data["TOKENIZER"] == "moses" and data["BPE_OPERATIONS"] == ["4000"]
    assert data["BPE_LIMITS"] == ["0 0"] and data["BPE_JOINTS"] == ["yes"]


@given(
    tokens=st.integers(500, 60000), workers=st.integers(1, 64), max_tokens=st.integers(200, 9000)
)
def test_tokens_per_update_are_kept_on_any_number_of_gpus(tokens, workers, max_tokens):
    batch = share_out(tokens, workers, max_tokens)
    assert abs(batch.tokens - tokens) <= workers * batch.update_freq / 2
    assert batch.max_tokens <= max_tokens and batch.workers == workers


def test_update_freq_is_computed_and_said(monkeypatch):
    arguments = ["wmt14_en_de", "transformer_ctxaware"]
    said = plan_run(arguments)["BATCH"]
    assert said == "32,768 tokens per update = 1 x 4,096 (--max-tokens) x 8 (--update-freq)"
    plan = plan_run([*arguments, "--gpus", "4", "--max-tokens", "3000"])
    assert plan["BATCH"].startswith("32,772 tokens per update = 4 x 2,731 (--max-tokens) x 3 ")
    flags = " ".join(plan["TRAIN_FLAGS"])
    assert flags.endswith("--max-tokens 2731 --seed 1 --update-freq 3 --distributed-world-size 4")
    # what only the number of GPUs decides does not make it another training
    assert plan["TRAIN_IDENTITY"] == plan_run(arguments)["TRAIN_IDENTITY"]
    own = plan_run([*arguments, "--update-freq", "2"])["BATCH"]
    assert own.endswith("= 1 x 4,096 (--max-tokens) x 2 (--update-freq); not the recipe's 32,768")
    assert plan_run([*arguments, "--gpus", "1"])["LAUNCHER"] == ["fairseq-train"]
    with pytest.raises(
        UserError, match=r"64 processes would each get 32 .* the longest sentence has 40"
    ):
        share_out(2048, 64, 4096, longest=40)


def test_torchrun_and_slurm(monkeypatch):
    several = ["--gpus", "4", "--nodes", "2", "--rendezvous", "node1:2345"]
    first = plan_run(["wmt14_en_de", "transformer_dc", "--launcher", "torchrun", *several,
                      "--node-rank", "1"])  # fmt: skip
    assert " ".join(first["LAUNCHER"]) == (
        "torchrun --nnodes=2 --nproc-per-node=4 --node-rank=1 --master-addr=node1 "
        "--master-port=2345 -m fairseq_cli.train"
    )
    assert first["NODE_RANK"] == 1 and first["BATCH"].startswith(
        "4,960 tokens per update = 8 x 620"
    )
    assert first["TRAIN_FLAGS"][-2:] == ["--distributed-world-size", "8"]
    alone = Machines("torchrun", 2, 1, 0, "")
    assert alone.command()[:4] == ["torchrun", "--nnodes=1", "--nproc-per-node=2", "--standalone"]
    with pytest.raises(UserError, match=r"--launcher srun: this is no Slurm job; use sbatch"):
        find_machines("srun", 4, 2, None, "x:1")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    slurm = plan_run(["wmt14_en_de", "transformer_dc", "--gpus", "4", "--rendezvous", "node1:2345"])
    assert " ".join(slurm["LAUNCHER"]) == (
        "srun --nodes=2 --ntasks-per-node=1 --kill-on-bad-exit=1 torchrun --nnodes=2 "
        "--nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=node1:2345 --rdzv-id=77 "
        "-m fairseq_cli.train"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--launcher", "mpi"], "'mpi' is not one of fairseq, torchrun, srun"),
        (["--nodes", "2"], "--nodes 2: needs --launcher torchrun or srun"),
        (["--launcher", "torchrun"], "--launcher torchrun: needs GPUs"),
        (["--launcher", "torchrun", "--gpus", "2", "--nodes", "2"], "--nodes 2: needs --node-rank"),
        (
            ["--launcher", "torchrun", "--gpus", "2", "--node-rank", "1"],
            "--node-rank 1: is not from 0",
        ),
        (["--gpus", "many"], "--gpus: 'many' is not a whole number from 0 on"),
        (["--seed"], "--seed: needs a value"),
        (["--sample", "3"], "--sample: '3' is not a whole number from 20 on"),
        (["--max-update", "100"], "--max-update 100: --warmup-updates 4000 must be below it"),
        (
            ["--max-update", "3", "--warmup-updates", "1"],
            "--max-update 3: too few for the mean of 5",
        ),
    ],
)
def test_options_that_cannot_work_are_one_sentence(arguments, message):
    with pytest.raises(UserError, match=re.escape(message)) as error:
        plan_run(["wmt14_en_de", "transformer_dc", *arguments])
    assert len(str(error.value).splitlines()) == 1


def test_an_evaluation_does_not_ask_again_what_the_training_was_asked(tmp_path):
    pieces = tmp_path / "data/bpe"
    pieces.mkdir(parents=True)
    (pieces / LENGTHS).write_text('{"train.en": 1500}')
    task = ["iwslt15_en_vi", "transformer_dc", "--out", str(tmp_path)]
    plan_run([*task, "--max-source-positions", "2000"])
    with pytest.raises(UserError, match="longest sentence has 1501 tokens"):
        plan_run(task)
    assert plan_evaluation(task)["RUN"].startswith(str(tmp_path))


def test_an_evaluation_is_that_of_its_training_and_takes_nothing_that_it_ignores():
    task = ["iwslt15_en_vi", "transformer_dc"]
    shared = ["--seed", "3", "--average", "2", "--out", "x", "--sample", "90"]
    evaluation, training = plan_evaluation([*task, *shared]), plan_run([*task, *shared])
    for name in ("RUN", "BIN", "AVERAGE", "GENERATE_FLAGS", "SCORE_FLAGS", "ARCH_WORDS"):
        assert evaluation[name] == training[name]
    assert evaluation["WAY"] == "" and plan_evaluation([*task, "--as", "aux1"])["WAY"] == "-aux1"
    for words, message in (
        (["--beam", "9"], "'--beam' is no option of scripts/evaluate.sh"),
        (["--max-update", "9"], "'--max-update' is no option of scripts/evaluate.sh"),
        (["--as", "../x"], "--as: '../x' becomes a part of folders' names"),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            plan_evaluation([*task, *words])


def test_arguments_and_flags_of_fairseq_go_apart(tmp_path):
    plan = plan_run(
        ["--seed", "3", "iwslt15_vi_en", "transformer_ms_aux", "--aux-layers", "2", "--fp16",
         "--name=mine", "--dropout", "0.2", "--out", str(tmp_path), "--max-update", "100000"]
    )  # fmt: skip
    assert plan["TRAIN_IDENTITY"][-7:] == [
        "--seed",
        "3",
        "--aux-layers",
        "2",
        "--fp16",
        "--dropout",
        "0.2",
    ]
    assert plan["RUN"] == f"{tmp_path}/mine" and plan["UPDATES"] == 100000
    assert plan["SAVE_EVERY"] == 2000 and (plan["SRC"], plan["TGT"]) == ("vi", "en")
    assert shell({"X": ["--kernel", "a b"], "N": 3}) == "X=(--kernel 'a b')\nN=3"


def test_both_directions_share_the_data():
    plans = [plan_run([name, "transformer_dc"]) for name in ("iwslt15_en_vi", "iwslt15_vi_en")]
    assert plans[0]["WORK"] == plans[1]["WORK"] == "runs/iwslt15_en_vi/data"
    assert plans[1]["RUN"] == "runs/iwslt15_vi_en/transformer_dc_iwslt_ff512-s1"
    sample = plan_run(["iwslt15_vi_en", "transformer_dc", "--sample", "99"])
    assert sample["RUN"].startswith("runs/iwslt15_vi_en-sample99/") and sample["UPDATES"] == 100
    # narrow, and validated with its checkpoints only, not after each of its many small epochs
    for flag, value in (("--encoder-embed-dim", "64"), ("--validate-interval", "1000")):
        assert flag_value(sample["TRAIN_FLAGS"], flag) == value


def test_a_paper_s_own_cutting_is_prepared_for_its_architectures():
    assert plan_data(["wmt14_en_de"])["BPE_NAMES"] == ["", "separate", "gru"]
    gru = plan_data(["wmt14_en_de", "gru_selfattn_residual_mean", "--raw", "x"])
    assert gru["BPE_NAMES"] == ["gru"] and gru["BPE_JOINTS"] == ["no"]
    assert gru["TEXT_COMMAND"][-2:] == ["--raw", "x"]
    assert plan_data(["wmt14_en_de", "--sample", "50"])["BPE_OPERATIONS"] == ["2000"] * 3
    with pytest.raises(UserError, match=r"unknown option '--row'; choose among --out"):
        plan_data(["wmt14_en_de", "--row", "x"])
    with pytest.raises(UserError, match=r"name a task; dc-nmt recipe list shows them"):
        plan_data([])


def test_sentences_longer_than_the_model_s_positions_are_found_before_training(tmp_path):
    folder = tmp_path / "data/bpe"
    folder.mkdir(parents=True)
    lengths = {f"{split}.{la}": 30 for split in ("train", "valid", "test") for la in ("es", "en")}
    (folder / LENGTHS).write_text(str({**lengths, "test.en": 63}).replace("'", '"'))
    words = ["iwslt14_en_es", "transformer_dc", "--out", str(tmp_path)]
    plan_run([*words, "--max-source-positions", "64"])
    with pytest.raises(
        UserError, match=r"bpe/test.en: its longest sentence has 64 tokens and the m"
    ):
        plan_run([*words, "--max-source-positions", "63"])
    (folder / LENGTHS).write_text(str({**lengths, "valid.en": 3000}).replace("'", '"'))
    room = plan_run([*words, "--max-source-positions", "4000"])["TRAIN_FLAGS"]
    assert room[-4:] == ["--max-source-positions", "4000", "--max-tokens-valid", "3001"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("pair = es-en", "pair = spanish"), "[task] pair: 'spanish' is not two language codes"),
        (("[bpe]", "[bpo]"), "section: 'bpo' is not one of"),
        (("max_tokens = 150", "maxtokens = 150"), "[bpe]: 'maxtokens' is not one of operations"),
        (("format = iwslt-tags", "format = tags"), "format: 'tags' is not one of plain"),
        (("like = thesis-iwslt", "like = thesis"), "like: 'thesis' is not one of thesis-iwslt"),
        (("test = tst2014", "test = tst2041"), "[splits] test: 'tst2041' is not one of train"),
        (("operations = 34000", "operations = many"), "[bpe] operations: 'many' is not a whole"),
        (("title = ", "title"), "recipe.ini"),
    ],
)
def test_a_recipe_that_is_wrong_says_where(tmp_path, change, message):
    folder = tmp_path / "iwslt14_es_en"
    folder.mkdir()
    (tmp_path / "papers.ini").write_text(Path("examples/papers.ini").read_text())
    text = Path("examples/iwslt14_es_en/recipe.ini").read_text()
    assert change[0] in text
    (folder / "recipe.ini").write_text(text.replace(*change))
    with pytest.raises(UserError, match=re.escape(message)):
        recipe = Recipe(folder / "recipe.ini")
        assert recipe.parts and recipe.bpe and recipe.split_parts("test")
        settings_of(recipe, "transformer_mlmha")
