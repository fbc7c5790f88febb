"""The published number beside a run: the same task, architecture, decoding and metric."""

from __future__ import annotations

import pytest
from records import tokens_of

from dc_nmt_plugin.flags import recorded_flags, typed_flags
from dc_nmt_plugin.papers.published import differing_settings, published_number
from dc_nmt_plugin.papers.reader import read_documents
from dc_nmt_plugin.papers.systems import has_run, translation_of
from dc_nmt_plugin.recipes.plan import Experiment, TrainOptions, plan_decoding, plan_training


def recipe_s(task, arch, *flags, like=None):
    """The settings of training and of search that a recipe records."""
    options = TrainOptions(flags=flags, gpus=0)
    experiment = Experiment(task, arch, like=like)
    plan, decoding = plan_training(experiment, options), plan_decoding(experiment)
    words = plan.command[plan.command.index("--user-dir") :]
    return recorded_flags(words), typed_flags(decoding.search)


def number(task, arch, *flags, metric="mteval-v13a", search=(), like=None, **changed):
    settings, decode = recipe_s(task, arch, *flags, like=like)
    settings.update({name.replace("_", "-"): value for name, value in changed.items()})
    tokens = tokens_of(settings)
    return published_number(task, arch, metric, settings, tokens, {**decode, **dict(search)})


def test_no_published_number_differs_from_its_recipe():
    """Recipes train and decode what the documents print."""
    seen = {}
    for document in read_documents():
        for entry in document.entries:
            if has_run(entry):
                training = translation_of(entry).training
                if training not in seen:
                    seen[training] = recipe_s(
                        training.task, training.arch, *training.flags, like=training.like
                    )
                settings, search = seen[training]
                assert differing_settings(entry, settings, tokens_of(settings), search) == []


@pytest.mark.parametrize(
    ("arch", "flags", "value", "differs"),
    [
        ("transformer_dc", (), "29.26", ""),
        ("transformer_dc", ("--cuda-graphs",), "29.26", ""),
        ("transformer_dc", ("--encoder-self-attention-layers", "1-3"), "28.93", ""),
        ("transformer_dc", ("--dc-kernel-size", "8"), "28.47", ""),
        ("transformer_mlmha", ("--source-layers", "3"), "28.41", ""),
        (
            "transformer_dc",
            ("--dc-kernel-size", "3"),
            "29.26",
            "--dc-kernel-size 3, in the recipe not given",
        ),
        ("transformer_dc", ("--dropout", "0.3"), "29.26", "--dropout 0.3, in the recipe 0.1"),
    ],
)
def test_the_number_of_the_nearest_settings_says_what_differs(arch, flags, value, differs):
    found = number("wmt14_en_de", arch, *flags)
    assert (str(found.score), found.differs) == (value, differs)


def test_another_decoder_mask_set_or_metric_has_no_number():
    assert number("wmt14_en_de", "transformer_dc", metric="sacrebleu") is None
    assert number("multi30k_en_de", "transformer_dc") is None
    masked = {"mask-source-layers": 1}
    assert number("wmt14_en_de", "transformer_mlmha_s_agg", search=masked) is None
    vietnamese = ("iwslt15_en_vi", "transformer_ms_aux_iwslt")
    assert str(number(*vietnamese, metric="sacrebleu").score) == "31.32"
    auxiliary = number(*vietnamese, metric="sacrebleu", search={"decode-with": "aux:1"})
    assert str(auxiliary.score) == "30.63"
    fused = ("iwslt15_en_vi", "transformer_ms_aux_aif_iwslt")
    scores = [number(*fused, metric="sacrebleu", search=s) for s in ({}, {"no-aux-fusion": True})]
    assert scores[0] is not None and scores[1] is None


def test_search_and_size_of_the_batch_are_settings():
    found = number("wmt14_en_de", "transformer_dc", search={"beam": 5}, max_tokens=2480)
    assert found.differs == (
        "tokens of an update 2480, in the recipe 4960; --beam 5, in the recipe 4"
    )
    assert number("wmt14_en_de", "transformer_dc", max_tokens=2480, update_freq=2).differs == ""
    unknown = published_number("wmt14_en_de", "transformer_dc", "mteval-v13a", {}, None, {})
    assert unknown.differs == "the settings of the run are unknown"


def test_parameters_do_not_depend_on_training():
    found = number("wmt14_en_de", "transformer_dc", metric="params", max_update=5, lr=1)
    assert (str(found.score), found.differs) == ("73.86", "")
    assert found.printed_in == "dual-context, Table 1; Table 5.2 has 73.9"
