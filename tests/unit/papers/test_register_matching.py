"""A run gets a published number only if everything that the number depends on agrees."""

from __future__ import annotations

import shlex
from decimal import Decimal

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.papers.described_run import DescribedRun
from dc_nmt_plugin.papers.effective_settings import model_settings
from dc_nmt_plugin.papers.matching import differences, nearest, published_for, subtract
from dc_nmt_plugin.papers.register import find_item, read_register

ENTRIES = [entry for document in read_register() for entry in document.entries]
ADAM = "--optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 --label-smoothing 0.1"
WMT = f"{ADAM} --lr-scheduler cosine --max-tokens 4960 --max-update 160000"
IWSLT = f"{ADAM} --lr-scheduler cosine --max-tokens 2048 --max-update 200000"
ROUTED = f"{ADAM} --lr-scheduler inverse_sqrt --max-tokens 24576 --max-update 100000"
CONTEXT = f"{ADAM} --lr-scheduler inverse_sqrt --max-tokens 32768 --max-update 100000"
BEAM_4 = "--beam 4 --lenpen 0.6 --length-penalty wu"
BEAM_6 = "--beam 6 --lenpen 1.1 --length-penalty wu"


def run(arch, training=WMT, search=BEAM_4, task="wmt14_en_de", direction="en-de", **more):
    return DescribedRun.of_commands(
        task,
        direction,
        shlex.split(f"fairseq-train data --arch {arch} {training}"),
        shlex.split(f"fairseq-generate data {search}"),
        **more,
    )


def en_vi(arch, search=BEAM_6):
    return run(arch, IWSLT, search, "iwslt15_en_vi", "en-vi")


def found(run, measure="mteval-v13a"):
    return {str(entry.value) for entry in published_for(run, measure, ENTRIES)}


# what dc-nmt results printed beside runs when it matched by --arch and listed flags alone
WRONG_BEFORE = [
    (run("transformer_dc --encoder-self-attention-layers 1-3"), "29.26", {"28.93"}),
    (run("transformer_dc --dc-kernel-size 3"), "29.26", set()),
    (run("transformer_dc --dc-kernel-size 8"), "29.26", {"28.47"}),
    (run("transformer_mlmha --source-layers 3"), "29.08", {"28.41"}),
    (run("transformer_standard --encoder-layers 10 --decoder-layers 10"), "28.37", {"28.59"}),
    (
        run("transformer_ms_aux --encoder-self-attention dual_context --source-features m-00"),
        "29.07",
        set(),
    ),
    (run("transformer_cross_agg --xagg-iterations 0", ROUTED), "28.04", {"27.43"}),
    (run("transformer_dc --dropout 0.3"), "29.26", set()),
]


@pytest.mark.parametrize(("run", "wrong", "right"), WRONG_BEFORE)
def test_no_other_systems_number(run, wrong, right):
    assert found(run) == right
    assert wrong not in found(run)


def test_auxiliary_layers_not_the_presets():
    assert found(en_vi("transformer_ms_aux_iwslt --aux-layers 3"), "sacrebleu") == {
        "31.03",
        "31.08",
    }
    fused = en_vi("transformer_ms_aux_aif_iwslt --aux-layers 1,2")
    assert found(fused, "sacrebleu") == {"31.47"}
    assert found(fused, "params") == {"21.7"}  # "MS-ij" stands for any two layers


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("transformer_dc", "transformer_dc --dc-kernel-size 2 --encoder-self-attention-layers 1-6"),
        ("transformer_mlmha", "transformer_mlmha --source-layers 6"),
        ("transformer_standard", "transformer_standard --dc-kernel-size 5 --ctx-on keys"),
        ("transformer_ms_aux_13", "transformer_ms_aux --aux-layers 3,1 --aux-weight 1"),
        ("transformer_dc", "transformer_standard --encoder-self-attention dual_context"),
        ("transformer_dc", "transformer_dc --checkpoint-activations --max-source-positions 9999"),
    ],
)
def test_a_default_written_out_is_the_same(short, long):
    first, second = run(short), run(long)
    assert model_settings(first.arch, first.flags) == model_settings(second.arch, second.flags)
    assert found(first) == found(second)


@pytest.mark.parametrize("measure", ["mteval-v13a", "params"])
def test_published_parameters_and_scores_of_every_model_of_chapter_3(measure):
    for entry in find_item("thesis, Table 3.2").entries:
        if entry.measure == measure and not entry.system.other:
            assert str(entry.value) in found(run(entry.system.arch), measure), entry.row


def test_a_size_is_not_decided_by_what_has_no_parameters():
    assert found(run("transformer_dc --dropout 0.3"), "params") == {"73.86", "73.9"}
    assert found(run("transformer_dc --dc-kernel-size 3"), "params") == set()


def test_the_baseline_of_each_paper_is_told_from_the_others_by_its_training():
    assert found(run("transformer_standard")) == {"28.37"}
    assert found(run("transformer_standard", ROUTED)) == {"27.43"}
    unshared = run("transformer_standard_unshared", CONTEXT)
    assert found(unshared, "multi-bleu") == {"27.31"}
    assert found(run("transformer_standard_unshared"), "multi-bleu") == set()


@pytest.mark.parametrize(
    ("training", "search"),
    [
        (WMT.replace("160000", "800"), BEAM_4),
        (WMT.replace("cosine", "inverse_sqrt"), BEAM_4),
        (WMT.replace("4960", "2480"), BEAM_4),
        (WMT, "--beam 5 --lenpen 0.6 --length-penalty wu"),
        (WMT, "--beam 4 --lenpen 0.6"),
        (WMT, BEAM_4 + " --mask-source-layers 1"),
    ],
)
def test_another_training_or_search_has_no_number(training, search):
    assert found(run("transformer_mlmha")) == {"29.08"}
    assert found(run("transformer_mlmha", training, search)) == set()


def test_tokens_of_an_update_are_those_of_all_processes():
    shared = WMT.replace("4960", "1240") + " --update-freq 2"
    assert found(run("transformer_dc", shared + " --distributed-world-size 2")) == {"29.26"}
    assert found(run("transformer_dc", shared)) == set()


def test_decoders_and_subsets_have_their_own_numbers():
    aux = en_vi("transformer_ms_aux_iwslt", BEAM_6 + " --decode-with aux:1")
    assert found(aux, "sacrebleu") == {"30.63"}
    assert found(en_vi("transformer_ms_aux_iwslt"), "sacrebleu") == {"31.32"}
    without = en_vi("transformer_ms_aux_aif_iwslt", BEAM_6 + " --no-aux-fusion")
    assert found(without, "sacrebleu") == set()
    valid = run("transformer_ctxaware_unshared", CONTEXT, subset="valid")
    assert found(valid, "multi-bleu") == {"26.42"}


def test_a_length_groups_score_is_not_the_test_sets():
    assert "25.91" not in found(run("transformer_mlmha_m_11"))
    short = run("transformer_mlmha_m_11")
    short = DescribedRun(**{**vars(short), "of": "<10"})
    assert found(short) == {"25.91"}


def test_the_printed_head_weights_alone_have_the_published_number():
    mean = run("transformer_cross_agg", ROUTED)
    printed = run("transformer_cross_agg --xagg-head-weights sum", ROUTED)
    assert found(mean) == set()
    assert found(printed) == {"28.04"}


def test_numbers_of_different_metrics_are_never_subtracted():
    (entry,) = published_for(run("transformer_dc_full"), "mteval-v13a", ENTRIES)[:1]
    assert subtract(28.611, "mteval-v13a", entry) == Decimal("-0.50")
    assert subtract(28.611, "multi-bleu", entry) is None
    assert found(run("transformer_dc_full"), "multi-bleu") == set()


def test_why_not_says_what_differs():
    ours = run("transformer_dc --dc-kernel-size 4 --dropout 0.2")
    (entry, why), *_ = nearest(ours, "mteval-v13a", ENTRIES)
    assert entry.row in ("f = 2", "Enc-DC", "f = 8")
    assert "model.dropout: 0.2, published with 0.1" in map(str, why)
    assert any(str(d).startswith("model.dc_kernel_size: 4, published with") for d in why)
    assert differences(ours, "mteval-v13a", entry) == why
    other = next(e for e in ENTRIES if e.system.other)
    assert "published with" in str(differences(ours, "bleu", other)[-1])


def test_every_entry_of_ours_is_of_the_run_that_it_describes():
    """The register's own words, given back as a run, find the entry again."""
    for entry in ENTRIES:
        if entry.value is None or entry.system.other or entry.training is None:
            continue
        own = DescribedRun(
            entry.task,
            entry.direction,
            entry.system.arch,
            entry.system.flags,
            entry.training.fixed,
            entry.subset,
            entry.part,
            entry.decoding,
            entry.of,
        )
        if entry.measure != "setting":
            assert differences(own, entry.measure, entry) == [], entry.place


def test_bad_commands_end_with_a_sentence():
    with pytest.raises(UserError, match="'transformer_cd' is not one of"):
        run("transformer_cd").settings()
    with pytest.raises(UserError, match=r"--dc-kernel-size.*'two'"):
        run("transformer_dc --dc-kernel-size two")
    with pytest.raises(UserError, match="no --arch"):
        DescribedRun.of_commands("wmt14_en_de", "en-de", ["fairseq-train"], [])
