"""Settings, GPUs and command lines of the recipes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from fairseq import options
from hypothesis import given
from hypothesis import strategies as st
from records import write_run

from dc_nmt_plugin.errors import UsageError, UserError
from dc_nmt_plugin.flags import flag_value, recorded_flags
from dc_nmt_plugin.laboratory.commands import prepare, train
from dc_nmt_plugin.laboratory.commands.parser import values_of
from dc_nmt_plugin.laboratory.evaluation.metrics import find_metrics
from dc_nmt_plugin.laboratory.recipes import plan, preparation
from dc_nmt_plugin.laboratory.recipes.done import identity
from dc_nmt_plugin.laboratory.recipes.plan import plan_training
from dc_nmt_plugin.laboratory.recipes.planned import Experiment, TrainOptions, share_out
from dc_nmt_plugin.laboratory.recipes.preparation import TextOptions, plan_text
from dc_nmt_plugin.laboratory.recipes.recipe import TASKS, load
from dc_nmt_plugin.laboratory.recipes.scoring import evaluation_stage, plan_decoding
from dc_nmt_plugin.laboratory.recipes.settings import settings_of, variants_of
from dc_nmt_plugin.models.presets import FAMILIES

FOLDERS = sorted(path.stem for path in TASKS.glob("*.yaml"))
UNSIZED = [
    name
    for family in FAMILIES
    if family.task != "language_modeling"
    for name in variants_of(family)
]
TRAIN, GENERATE = options.get_training_parser, options.get_generation_parser


cached_load = cache(load)


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch):
    monkeypatch.setattr(plan, "visible_gpus", lambda: 0)
    monkeypatch.setattr(preparation, "load", cached_load)
    monkeypatch.setattr(plan, "load", cached_load)  # the packaged recipes, read once


def training(*words):
    """The plan of ``dc-nmt train WORDS…``."""
    args, flags = train.parser().parse_with_flags([str(word) for word in words])
    return plan_training(
        values_of(Experiment, args), values_of(TrainOptions, args, flags=tuple(flags))
    )


def flags_of(plan):
    """Those that the recipe and the user give."""
    return plan.words[plan.words.index("--log-interval") + 2 : -2]


def evaluated(decoding):
    """The steps of an evaluation."""
    return evaluation_stage(decoding).steps


def text(*words):
    """The plan of ``dc-nmt prepare WORDS…``."""
    args = prepare.parser().parse_args([str(word) for word in words])
    return plan_text(values_of(TextOptions, args, archs=tuple(args.archs)))


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
    decoded = set()
    for arch in UNSIZED:
        plan = plan_training(Experiment(name, arch), TrainOptions())
        decoding = plan_decoding(Experiment(name, arch))
        task = plan.run.fairseq_task
        read = parse(TRAIN, plan.words[2:])
        assert read.arch == plan.run.arch and read.seed == 1
        frequency = int(flag_value(flags_of(plan), "--update-freq") or 1)
        assert read.max_tokens * frequency == plan.settings.tokens
        if task not in decoded:
            decoded.add(task)
            words = ["--path", "x.pt", "--task", task, *decoding.search]
            assert parse(GENERATE, words).beam >= 4
        find_metrics("--paper", flag_value(decoding.score, "--paper"))
        assert ("--truecased" in decoding.score) == (name in ("wmt13_es_en", "wmt16_en_de"))


def test_the_paper_s_size_and_settings():
    def arch(task, name, size=None):
        return settings_of(load(task), name, size).arch

    assert arch("iwslt14_es_en", "transformer_dc") == "transformer_dc_iwslt_ff512"
    assert arch("iwslt14_es_en", "transformer_mlmha_m_00") == "transformer_mlmha_m_00_iwslt"
    assert arch("iwslt14_es_en", "transformer_dc_tiny") == "transformer_dc_tiny"
    assert arch("iwslt15_en_vi", "transformer_standard") == "transformer_standard_iwslt"
    assert arch("iwslt15_vi_en", "transformer_standard") == "transformer_standard_iwslt_ff512"
    assert arch("wmt14_en_de", "transformer_ctxaware_full") == "transformer_ctxaware_full_unshared"
    assert arch("wmt14_en_de", "transformer_dc", "big") == "transformer_dc_big"
    assert arch("iwslt14_es_en", "transformer_dc", "base") == "transformer_dc"
    wmt = load("wmt14_en_de")
    assert settings_of(wmt, "gru_selfattn_residual_mean").bpe == "gru"
    assert settings_of(wmt, "transformer_ms_aux_13").tokens == 4960
    assert settings_of(wmt, "transformer_dc_big", like="dual-context-iwslt").tokens == 2048
    assert settings_of(wmt, "transformer_dc_big", like="context-aware").like == "context-aware-big"
    assert settings_of(wmt, "transformer_cross_agg_self").tokens == 24576
    with pytest.raises(UserError, match=r"'transformer_cd' is not one of .* Did you mean"):
        arch("wmt14_en_de", "transformer_cd")
    with pytest.raises(UserError, match="--size: 'transformer_dc_huge' is not one of"):
        arch("wmt14_en_de", "transformer_dc", "huge")
    with pytest.raises(UserError, match="is a language model"):
        arch("wmt14_en_de", "lstm_lm_selfattn_residual")
    with pytest.raises(UserError, match=r"'wmt14_de_en' is not one of .*Did you mean"):
        load("wmt14_de_en")


STAMPS = {  # a change here makes prepared texts look as if they were not
    "europarl_en_fr": ("e8721ac0e6fb22af", "2708f3fbfc908ead"),
    "iwslt14_de_en": ("2acc412c613afb44", "0205572cfa1baa5d"),
    "iwslt14_de_en_fairseq": ("5084760c436fbf57", "18d5c597afc90349"),
    "iwslt14_es_en": ("3fa0975b06633a12", "81c5fe101ef32155"),
    "iwslt14_ro_en": ("33d1a264695bf050", "70532342a905dc89"),
    "iwslt15_en_vi": ("c21c3823ae9abafd", "889d564d939639aa"),
    "iwslt15_vi_en": ("c21c3823ae9abafd", "889d564d939639aa"),
    "iwslt15_fr_en": ("1633e652048f4fdd", "e7e8c0cee7562cea"),
    "multi30k_en_de": ("360cb7cd644b1987", "3d4a752864f65ebd"),
    "un_en_zh": ("4bfc616568a91e01", "230c3291efc06f43"),
    "wmt13_es_en": ("2bda0bd5a9f129a2", "e7b644faaa7689c5"),
    "wmt14_en_de": ("cd80dc8175a73ca4", "8d28ee18dacefbf0"),
    "wmt17_zh_en": ("489f4461cdd69025", "252f51a28dd34259"),
}


def test_texts_that_are_prepared_stay_so():
    for task, (full, sample) in STAMPS.items():
        assert text(task).stage.steps[0].stamp == full
        assert text(task, "--sample", 50).stage.steps[0].stamp == sample


def recorded(plan):
    """What makes a training another one, but for its text."""
    return identity(recorded_flags(plan.words), None, any_precision=True)


@given(
    tokens=st.integers(500, 60000), workers=st.integers(1, 64), max_tokens=st.integers(200, 9000)
)
def test_tokens_per_update_are_kept_on_any_number_of_gpus(tokens, workers, max_tokens):
    batch = share_out(tokens, workers, max_tokens)
    assert abs(batch.tokens - tokens) <= workers * batch.update_freq / 2
    assert batch.max_tokens <= max_tokens and batch.processes == workers


def test_a_size_of_the_task_is_flags_before_the_user_s():
    words = ["--size", "iwslt", "--encoder-embed-dim", 128]
    flags = flags_of(training("multi30k_en_de", "transformer_dc", *words))
    sizes = [flag_value(flags, f"--{side}-embed-dim") for side in ("encoder", "decoder")]
    assert sizes == ["128", "256"]


def test_a_cpu_that_multiplies_bfloat16_does(monkeypatch):
    arguments = ["multi30k_en_de", "transformer_standard"]
    plain = training(*arguments)
    monkeypatch.setenv("DC_NMT_BFLOAT16", "1")
    plan = training(*arguments)
    assert "--amp" in plan.words
    said = "linear layers multiply in bfloat16 on this CPU; --fp32: in float32"
    assert plan.notes[-1] == said
    assert recorded(plan) == recorded(plain), "a run goes on in either"
    for words in (["--fp32"], ["--gpus", 1], ["--bf16"]):
        assert "--amp" not in training(*arguments, *words).words
    with pytest.raises(UsageError, match="--fp32: contradicts --bf16"):
        training(*arguments, "--fp32", "--bf16")
    with pytest.raises(UsageError, match="--gpus 1: this machine has 0"):
        train.main([*arguments, "--gpus", "1"])


@pytest.mark.parametrize(("flag", "is_compared"), [(["--fp32"], True), ([], False)])
def test_a_run_in_bfloat16_is_not_the_one_in_float32(flag, is_compared, tmp_path):
    plan = training("multi30k_en_de", "transformer_standard", "--out", tmp_path, *flag)
    write_run(plan.run.folder, "transformer_standard", "--amp --max-update 3", updates=3)
    with pytest.raises(UserError, match="other data or settings") as error:
        plan.is_done()
    assert ("amp given there, not given now" in str(error.value)) == is_compared


def test_update_freq_is_computed_and_said():
    arguments = ["wmt14_en_de", "transformer_ctxaware"]
    plain = training(*arguments)
    described = str(plain.tokens)
    assert described == "32,768 tokens per update = 1 x 4,096 (--max-tokens) x 8 (--update-freq)"
    plan = training(*arguments, "--gpus", 4, "--max-tokens", 3000)
    described = str(plan.tokens)
    assert described == "32,772 tokens per update = 4 x 2,731 (--max-tokens) x 3 (--update-freq)"
    flags = " ".join(flags_of(plan))
    assert "--max-tokens 2731 --update-freq 3" in flags
    assert flags.endswith("--seed 1 --distributed-world-size 4")
    # what only the number of GPUs decides does not make it another training
    assert recorded(plan) == recorded(plain)
    assert recorded(training(*arguments, "--seed", 2)) != recorded(plain)
    own = str(training(*arguments, "--update-freq", 2).tokens)
    assert own.endswith("= 1 x 4,096 (--max-tokens) x 2 (--update-freq); not the recipe's 32,768")
    assert training(*arguments, "--gpus", 1).words[0] == "fairseq-train"
    on_the_cpu = flags_of(training(*arguments, "--gpus", 0))
    assert on_the_cpu[-3:] == ["--distributed-world-size", "1", "--cpu"]
    with pytest.raises(UserError, match=r"--gpus, --max-tokens: a process would get 32 .* 40"):
        share_out(2048, 64, 4096).check(longest=40)
    with pytest.raises(UserError, match=r"a process would get 30 .* sentence has 40"):
        share_out(2048, 1, 30).check(longest=40)


def test_a_short_training_has_a_warm_up_as_much_shorter():
    plan = training("wmt14_en_de", "transformer_dc", "--max-update", 100)
    full = training("wmt14_en_de", "transformer_dc")
    updates = full.settings.updates
    assert flag_value(flags_of(full), "--warmup-updates") == "4000" and len(full.notes) == 2
    assert flag_value(flags_of(plan), "--warmup-updates") == str(4000 * 100 // updates)
    assert plan.notes[1].startswith(f"--warmup-updates {4000 * 100 // updates}, not the recipe's")


@pytest.mark.parametrize("updates", [100, 150, 1000, 9600])
def test_the_last_checkpoint_of_another_number_of_updates_is_that_of_the_last(updates):
    command = training("multi30k_en_de", "transformer_dc", "--max-update", updates).words
    assert updates % int(flag_value(command, "--save-interval-updates")) == 0


def test_another_number_of_updates_ends_linear_decay_there():
    words = ["iwslt14_de_en", "transformer_dc", "--like", "thesis-iwslt, linear decay"]
    flags = flags_of(training(*words, "--max-update", 10000))
    assert flag_value(flags, "--total-num-update") == "10000"
    assert flag_value(flags_of(training(*words)), "--total-num-update") == "200000"


def test_an_evaluation_is_that_of_its_training():
    task = ["iwslt15_en_vi", "transformer_dc"]
    words = ["--seed", 3, "--average", 2, "--out", "x", "--sample", 90]
    same = Experiment(*task, seed=3, average=2, out=Path("x"), sample=90)
    assert plan_decoding(same).run == training(*task, *words).run
    assert plan_decoding(Experiment(*task, decoding="aux1")).suffix == "-aux1"
    own = plan_decoding(same)
    folders = [step.folder for step in evaluated(own)]
    assert folders == [own.run.folder / name for name in ("average", "generate", "")]
    other = plan_decoding(
        Experiment(*task, average=2, decoding="x")
    )  # leaves the run's own mean alone
    steps = evaluated(other)
    assert [step.folder.name for step in steps[:2]] == ["average-2", "generate-x"]
    assert str(steps[0].folder / "checkpoint.pt") in steps[1].lines(Path("to"))[0].words
    with pytest.raises(UserError, match=r"--as: '\.\./x'"):
        plan_decoding(Experiment(*task, decoding="../x"))


def test_both_directions_share_the_data():
    runs = [training(task, "transformer_dc").run
            for task in ("iwslt15_en_vi", "iwslt15_vi_en")]  # fmt: skip
    assert runs[0].text.binarised == runs[1].text.binarised == Path("runs/iwslt15_en_vi/data/bin")
    assert str(runs[1].folder) == "runs/iwslt15_vi_en/transformer_dc_iwslt_ff512-s1"
    sample = training("iwslt15_vi_en", "transformer_dc", "--sample", 99)
    assert sample.run.folder.parent.name == "iwslt15_vi_en-sample99"
    assert sample.settings.updates == 40
    # narrow, and validated with its checkpoints only, not after each of its many small epochs
    for flag, value in (("--encoder-embed-dim", "64"), ("--validate-interval", "1000")):
        assert flag_value(flags_of(sample), flag) == value


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("pair: es-en", "pair: spanish"), "pair: 'spanish'"),
        (("directions: [es-en", "directions: [es-fr"), "directions: 'es-fr' is not one of es-en"),
        (("  default:", "  ../default:"), "'../default' names a file or folder: use letters"),
        (("bpe:\n", "bpo:\n"), "bpo: 'bpo' is not one of title, pair"),
        (("format: iwslt-tags", "format: tags"), "format: 'tags' is not one of plain, iwslt-tags"),
        (("like: thesis-iwslt", "like: thesis"), "settings.all.like: 'thesis' is not one of thes"),
        (("test: [tst2014]", "test: [tst2041]"), "splits.test: 'tst2041' is not one of train"),
        (
            ("  tst2014:\n", "  tst2014:\n    tag: <t>\n"),
            "parts.tst2014: tag and repeat are for training text",
        ),
        (("pair: es-en\n", ""), "missing required field `pair`"),
        (("pair: es-en", "pair: es-es"), "pair: 'es-es' is not two language codes"),
        (("test: [tst2014]", "test: []"), "splits.test: Expected `array` of length >= 1"),
        (
            ("test: [tst2014]", "test_lines: many\n  test: [tst2014]"),
            "splits.test_lines: Expected `str` matching regex",
        ),
        (("valid: [", "valid: [every 0, "), "splits.valid: 'every 0' is not one of train"),
        (
            ("all:\n", "all:\n    average: -1\n"),
            "settings.all.average: Expected `int` >= 0, not '-1'",
        ),
        (("paper: multi-bleu", "paper: bleu"), "settings.all.paper: 'bleu' is not one of mteval"),
        (
            ("all:\n", "all:\n    metrics: chrf,x\n"),
            "settings.all.metrics: 'x' is not one of mteval",
        ),
        (
            ("all:\n", "all:\n    decode: --path x\n"),
            "settings.all.decode: --path is set by dc-nmt",
        ),
        (("all:\n", "all:\n    flags: --max-update=3\n"), "flags: --max-update is set by updates"),
        (
            ("all:\n", "all:\n    flags: --max-tokens 9\n"),
            "--max-tokens is set by max_tokens; leave",
        ),
        (("archs: [transformer_dc, ", "archs: [] # ["), "archs: Expected `array` of length >= 1"),
    ],
)
def test_a_recipe_that_is_wrong_says_where(tmp_path, change, named):
    path = tmp_path / "recipe.yaml"
    content = (TASKS / "iwslt14_es_en.yaml").read_text()
    assert change[0] in content
    path.write_text(content.replace(*change, 1))
    with pytest.raises(UserError, match=re.escape(named)) as error:
        settings_of(load(str(path)), "transformer_mlmha")
    assert str(path) in str(error.value) and len(str(error.value).splitlines()) == 1


def test_a_precision_in_a_recipe_is_the_users_choice(tmp_path, monkeypatch):
    """Not --bf16 of the recipe and --amp of this CPU."""
    monkeypatch.setattr("dc_nmt_plugin.machine.multiplies_bfloat16", lambda: True)
    path = tmp_path / "recipe.yaml"
    content = (TASKS / "multi30k_en_de.yaml").read_text()
    path.write_text(content.replace("--dropout 0.1", "--bf16 --dropout 0.1"))
    command = training(path, "transformer_standard").words
    assert "--bf16" in command and "--amp" not in command
    assert "--amp" in training("multi30k_en_de", "transformer_standard").words


def test_fairseqs_own_transformer_is_trained_by_the_same_recipe():
    recipe = load("multi30k_en_de")
    stock, ours = settings_of(recipe, "transformer"), settings_of(recipe, "transformer_standard")
    assert (stock.arch, stock.criterion) == ("transformer", "label_smoothed_cross_entropy")
    assert (stock.flags, stock.updates, stock.decode) == (ours.flags, ours.updates, ours.decode)
    with pytest.raises(UserError, match="transformer_iwslt"):  # its sizes are flags
        settings_of(load("iwslt14_es_en"), "transformer")
