"""The cost of tables and figures: from counted models and measured rates, without building any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dc_nmt_plugin.commands import paper
from dc_nmt_plugin.commands.paper_costs import hours, short
from dc_nmt_plugin.papers.register import find_item
from dc_nmt_plugin.reproduction import costs
from dc_nmt_plugin.reproduction.costs import (
    Cost,
    cost_of,
    cost_of_runs,
    cost_of_text,
    kind_of,
    rates,
)
from dc_nmt_plugin.reproduction.item_costs import all_trainings, trainings_of
from dc_nmt_plugin.reproduction.jobs import Options
from dc_nmt_plugin.reproduction.model_sizes import size_of
from dc_nmt_plugin.reproduction.plan import plan
from dc_nmt_plugin.reproduction.system import NeededTraining
from dc_nmt_plugin.runs.records import read_record

EXAMPLE = Path(__file__).parents[3] / "examples" / "multi30k_en_de" / "runs"
BASE = NeededTraining("wmt14_en_de", "transformer_standard", None, ())


def printed(capsys, *words):
    assert paper.main(list(words)) == 0
    return capsys.readouterr().out


def test_every_training_run_of_the_papers_has_a_counted_model():
    """`scripts/count_models.py` writes them."""
    assert set(map(str, all_trainings())) == set(costs._sizes())


@pytest.mark.parametrize(
    "training",
    [
        BASE,
        NeededTraining("iwslt15_en_vi", "transformer_ms_aux_123_aif_iwslt", None, ()),
        NeededTraining("wmt14_en_de", "transformer_dc", None, ("--dc-kernel-size", "8")),
        NeededTraining("wmt13_es_en", "gru_selfattn_residual", None, ()),
        NeededTraining("wmt14_en_de", "transformer_ctxaware_unshared", None, ()),
    ],
    ids=str,
)
def test_counted_models_are_those_that_are_built(training):
    size = costs._sizes()[str(training)]
    assert size_of(training) == (size.parameters, size.used)


@pytest.mark.parametrize("arch", rates().kinds)
def test_the_rates_are_those_of_the_kept_benchmark(arch):
    kind = rates().kinds[arch]
    (row,) = [
        row
        for row in json.loads((EXAMPLE / "bench.json").read_text())["results"]
        if (row["mode"], row["system"]) == ("train", arch)
    ]
    assert kind.tokens_per_second == round(row["speed"])
    kept = read_record(next(EXAMPLE.glob(f"{arch}-s[0-9]"))).training.parameters
    assert size_of(NeededTraining("multi30k_en_de", arch, None, ()), 4120) == (kept, kind.used)


def test_architectures_share_the_rate_of_their_kind():
    kinds = rates().kinds
    for arch, name in {
        "transformer_dc_full_iwslt_ff512": "transformer_dc",
        "transformer_mlmha_s_agg_iwslt": "transformer_mlmha_iter_c_agg",
        "transformer_mlmha_m_11": "transformer_mlmha",
        "transformer_ms_aux_3_aif_iwslt": "transformer_ms_aux_aif",
        "transformer_ms_aux_123_iwslt": "transformer_ms_aux",
        "gru_selfattn_residual_mean": "gru_selfattn_residual",
    }.items():
        assert kind_of(arch) is kinds[name]


def test_hours_are_operations_by_rate():
    cost, known = cost_of(BASE), rates()
    assert (cost.runs, cost.updates, cost.tokens) == (1, 160_000, 160_000 * 4960)
    kind, used = known.kinds["transformer_standard"], costs._sizes()[str(BASE)].used
    slow = cost.tokens / kind.tokens_per_second * used / kind.used / 3600
    assert cost.cpu_hours == pytest.approx(slow / known.widths["512"])
    # 12 layers: 1.5 times the operations of 8
    least = 160_000 * 1.5 * kind.operations * known.gpu_operation / 3600
    by_peak = 6 * used * cost.tokens / (known.gpu_peak * known.gpu_share) / 3600
    assert cost.gpu_hours == pytest.approx(max(least, by_peak))
    # the five of the mean, the best and the last, each with two numbers of Adam; and the mean
    assert cost.disk == cost.parameters * 4 * ((5 + 2) * 3 + 1)
    assert cost_of(BASE, 16_000).cpu_hours == pytest.approx(cost.cpu_hours / 10)


def test_runs_count_once_and_their_text_once():
    both = cost_of_runs([BASE, BASE], seeds=3)
    assert (both.runs, both.updates) == (3, 480_000)
    assert both.disk == 3 * cost_of(BASE).disk + cost_of_text("wmt14_en_de").disk
    assert cost_of_runs([]) == Cost()


def test_the_cost_of_a_row_and_of_its_plan_agree():
    item = find_item("thesis, Table 4.7")
    part = next(part for part in item.parts if part.name == "MS-1")
    jobs = plan(item, ["MS-1"], Options((1, 2)), Path("out"))
    planned = sum((job.cost for job in jobs if job.cost), Cost())
    assert planned == cost_of_runs(trainings_of(item, part), 2)
    sampled = plan(item, ["MS-1"], Options(sample=600), Path("out"))
    assert not any(job.cost for job in sampled)


def test_listing_showing_and_planning_print_the_cost(capsys):
    rows = json.loads(printed(capsys, "list", "dual-context", "--json"))
    runs = {row["row"]: row["cost"]["runs"] for row in rows if row["item"] == "Table 1"}
    assert (runs["Enc-DC"], runs["Train"], runs["# Params"]) == (1, 4, 0)
    listed = printed(capsys, "list", "dual-context")
    assert "CPU hours  GPU hours  what it shows" in listed and "NVIDIA A100" in listed
    shown = printed(capsys, "show", "dual-context, Table 2")
    assert "to train all rows with one seed: 32 training runs, 6.40M updates, 13.1G tokens" in shown
    assert "Vi→En        4     800k   1.64G       14.9M" in shown
    assert "training run" not in printed(capsys, "show", "dual-context, Table 3")
    words = ("run", "dual-context, Table 2", "--rows", "Vi→En", "--seeds", "1,2,3", "--dry-run")
    lines = printed(capsys, *words).splitlines()
    assert lines[-2].startswith(
        "# 12 training runs, 2.40M updates, 4.92G tokens, up to 14.9M param"
    )
    assert lines[-1].startswith("# hours: estimated, of training; CPU: Intel(R) Xeon(R)")
    assert "# " not in printed(capsys, *words, "--sample", "600")


def test_numbers_have_three_digits():
    assert [short(n) for n in (999, 1234, 61_199_872, 282_607_048_242)] == [
        "999", "1.23k", "61.2M", "283G",
    ]  # fmt: skip
    assert [hours(n) for n in (0.44, 9.96, 48_562.8)] == ["0.4", "10.0", "48,563"]
