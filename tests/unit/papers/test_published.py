"""The published number beside a run: the same task, architecture, decoding and metric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from records import tokens_of

from dc_nmt_plugin.flags import recorded_flags, typed_flags
from dc_nmt_plugin.laboratory.finding import Run
from dc_nmt_plugin.laboratory.recipes.plan import plan_training
from dc_nmt_plugin.laboratory.recipes.planned import Experiment, TrainOptions
from dc_nmt_plugin.laboratory.recipes.scoring import plan_decoding
from dc_nmt_plugin.runs.record import Data, Decoding, Record, Training
from dc_nmt_plugin.study.papers.published import differing_settings, published_number
from dc_nmt_plugin.study.papers.reader import find_item, read_documents
from dc_nmt_plugin.study.papers.systems import has_run, translation_of


def run_of_recipe(task, arch, *flags, search=(), like=None, **changed):
    """A run as a recipe records it, with changed settings and search."""
    experiment = Experiment(task, arch, like=like)
    command = plan_training(experiment, TrainOptions(flags=flags, gpus=0)).words
    settings = recorded_flags(command[command.index("--user-dir") :])
    settings |= {name.replace("_", "-"): value for name, value in changed.items()}
    search = typed_flags(plan_decoding(experiment).search) | dict(search)
    training = Training(tokens=tokens_of(settings))
    data = Data("en", "de")
    record = Record(1, "r", "r", data, task, arch, settings=settings, training=training)
    return Run(Path("run.json"), record, Decoding(search=search))


def number(*words, metric="mteval-v13a", **changed):
    return published_number(run_of_recipe(*words, **changed), metric)


def test_no_published_number_differs_from_its_recipe():
    """Recipes train and decode what the documents print."""
    seen = {}
    for document in read_documents():
        for entry in document.entries:
            if has_run(entry):
                training = translation_of(entry).training
                if training not in seen:
                    words = (training.task, training.arch, *training.flags)
                    seen[training] = run_of_recipe(*words, like=training.like)
                assert differing_settings(entry, seen[training]) == []


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
    run = run_of_recipe("wmt14_en_de", "transformer_dc")
    unknown = replace(run, record=replace(run.record, settings={}))
    assert published_number(unknown, "mteval-v13a").differs == "the settings of the run are unknown"


def test_parameters_do_not_depend_on_training():
    entry = next(e for e in find_item("dual-context, Table 1").entries if e.measure == "params")
    run = run_of_recipe(entry.task, entry.arch, max_update=5, lr=1)
    assert differing_settings(entry, run) == []


def test_other_values_that_are_printed_for_the_same_system_are_named():
    found = number("wmt14_en_de", "transformer_mlmha_c_agg")
    assert found.printed_in == "thesis, Table 3.2; Table 3.4 has 28.15"
