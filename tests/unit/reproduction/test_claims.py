"""``dc-nmt paper claims``: cells that exist, commands that run, verdicts computed from numbers."""

from __future__ import annotations

import json
import shlex
import shutil
import statistics
from dataclasses import replace

import numpy as np
import pytest
from records import REFERENCE as LINES
from records import write_run, write_scored

from dc_nmt_plugin.commands import evaluate, paper, run
from dc_nmt_plugin.errors import UsageError, UserError
from dc_nmt_plugin.evaluation.chance import Scores
from dc_nmt_plugin.evaluation.run_table import RunTable
from dc_nmt_plugin.papers.document import Claim, Subject
from dc_nmt_plugin.papers.parameter_counts import built_count, fitted_vocabulary
from dc_nmt_plugin.papers.reader import read_file
from dc_nmt_plugin.papers.register import DATA, find_item, read_register
from dc_nmt_plugin.recipes.recipe import load
from dc_nmt_plugin.recipes.settings import settings_of
from dc_nmt_plugin.reproduction import claim_measures
from dc_nmt_plugin.reproduction.claim_chart import draw_claims, drawable
from dc_nmt_plugin.reproduction.claim_commands import commands_of, run_commands
from dc_nmt_plugin.reproduction.claim_measures import kept_runs, measure
from dc_nmt_plugin.reproduction.claims import (
    HOME,
    Compared,
    Measured,
    decided,
    least_of,
    name_of,
    pairs_of,
    stale,
    verdict,
)
from dc_nmt_plugin.runs.records import read_record, write_record

CLAIMS = [claim for document in read_register() for claim in document.claims]
SUBJECTS = list(dict.fromkeys(s for claim in CLAIMS for s in (*claim.ours, *claim.than)))
REFERENCE = 4 * LINES
PLAIN, DUAL = "transformer_standard", "transformer_dc"


def printed(capsys, *words):
    assert paper.main(["claims", *words]) == 0
    return capsys.readouterr().out


# -- the entries -----------------------------------------------------------------------------------


def test_there_are_forty_claims_and_fifteen_are_seen_here():
    assert len(CLAIMS) >= 40
    assert sum(one.verdict != "unmeasured" for one in decided()) >= 15
    assert {claim.document for claim in CLAIMS} == {d.name for d in read_register()}


def test_the_claims_that_one_training_run_decides_are_there():
    """Issue 50: kernel sizes, ranges of layers, masks, MS-2 and MS-3, gates, keys, T, memory."""
    names = set(map(name_of, SUBJECTS))
    assert {f"transformer_dc-dc-kernel-size-{f}" for f in range(3, 9)} <= names
    assert {f"transformer_dc-encoder-self-attention-layers-{r}" for r in ("1-1", "1-2", "3-4")} <= (
        names
    )
    masked = {name.partition(",")[0] for name in names if ", mask" in name}
    assert len(masked) == 8  # M-00 to M-11, S-Agg, Iter-S-Agg, C-Agg, Iter-C-Agg
    assert {"transformer_ms_aux-aux-layers-2", "transformer_ms_aux_aif-aux-layers-2"} <= names
    assert {"transformer_ms_aux_3", "transformer_ms_aux_3_aif"} <= names
    assert {"transformer_ctxaware-ctx-gate-none", "transformer_ctxaware_keys"} <= names
    assert {f"transformer_cross_agg-xagg-iterations-{t}" for t in (4, 5)} <= names
    assert {"transformer_cross_agg_self", "gru_selfattn_residual_memory"} <= names
    assert "gru_selfattn_residual_scope" in names


def test_every_system_has_a_command_that_runs(capsys):
    for words in dict.fromkeys(tuple(w) for subject in SUBJECTS for w in run_commands(subject)):
        main = {"run": run.main, "evaluate": evaluate.main}[words[1]]
        assert main([*words[2:], "--dry-run"]) == 0, shlex.join(words)
        trained, translated = capsys.readouterr().out.split("fairseq-generate")[:2]
        if words[1] == "run":
            assert all(word in shlex.split(trained) for word in words[4 : words.index("--name")])
        else:
            assert all(word in shlex.split(translated) for word in words[-2:])


def test_every_claim_has_a_command():
    for one in decided():
        commands = commands_of(one)
        assert commands and all(command.startswith("dc-nmt ") for command in commands)
        if one.verdict == "unmeasured" and one.claim.by == "score":
            assert commands[-1].endswith("--keep examples/multi30k_en_de/runs/claims")


def test_a_further_run_has_a_seed_of_the_kept_ones(tmp_path):
    """The recurrent baseline is kept with seed 2 alone."""
    kept = "runs/gru_selfattn_residual_baseline-s2"
    shutil.copytree(HOME / kept, tmp_path / kept)
    claims = decided(["residual-decoder"], tmp_path)
    found = {one.claim.name: commands_of(one, tmp_path) for one in claims}
    assert found["self-attentive RNN is worse"][0] == (
        "dc-nmt run multi30k_en_de gru_selfattn_residual_selfattn "
        "--name gru_selfattn_residual_selfattn-s2 --seed 2 --threads 1"
    )
    mean = "runs/gru_selfattn_residual_mean-s2"
    shutil.copytree(HOME / mean, tmp_path / mean)
    (one,) = (one for one in claims if one.claim.name.startswith("mean residual"))
    assert commands_of(one, tmp_path) == ["dc-nmt paper claims --measure"]


def test_an_analysis_has_what_was_read_off_it(capsys):
    name = "gates of deep contexts stay at one half"
    found = {one.claim.name: one for one in decided(["context-aware"])}[name]
    assert found.verdict == "against" and found.claim.here
    for form in ([], ["--markdown"], ["--json"]):
        assert paper.main(["claims", "context-aware", *form]) == 0
        assert "λ_Q 0.10, 0.05, 0.66" in capsys.readouterr().out


def marks(name, document):
    """Marker → its places in the row of a claim, from left to right."""
    found = [one for one in decided([document]) if one.claim.name == name]
    axes = draw_claims(drawable(found)).axes[0]
    places = [(line.get_marker(), line.get_xdata()) for line in axes.get_lines()[1:]]
    return {
        mark: sorted(round(float(x[0]), 2) for each, x in places if each == mark)
        for mark, _ in places
        if mark != "None"
    }


def test_a_chart_turns_differences_to_the_claimed_side():
    """Without gates a drop is claimed, so a gain is left of zero."""
    assert marks("without gates", "context-aware") == {"s": [-0.16], "D": [5.23]}
    assert marks("Enc-DC improves", "dual-context") == {"s": [0.33], "D": [0.89]}
    ours = marks("S-Agg needs the first and last layer", "thesis")
    assert ours == {"o": [37.84], "v": [-0.0], "D": [0.94, 27.01]}
    equal = marks("Iter-S-Agg does not need the others", "thesis")
    assert equal == {"o": [0.02, 0.03, 0.05]}  # a loss and a difference have opposite signs


def test_the_chart_is_written_beside_the_list(tmp_path, capsys):
    assert paper.main(["claims", "thesis", "--plot", str(tmp_path / "claims")]) == 0
    said = capsys.readouterr()
    assert "thesis, section 4.4: MS-1 improves" in said.out
    assert said.err.splitlines() == [f"written: {tmp_path}/claims.{end}" for end in ("png", "svg")]
    with pytest.raises(UsageError, match="none of these claims compares BLEU"):
        paper.main(["claims", "cross-aggregation", "--verdict", "for", "--plot", "claims"])
    with pytest.raises(UsageError, match="give it alone"):
        paper.main(["claims", "--measure", "--plot", "claims"])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[Table 1 | BLEU | Dec-DC | Tr", "[Table 9 | BLEU | Dec-DC | Tr", "cells: 'Table 9'"),
        ("[Table 1 | BLEU | Dec-DC | Tr", "[Table 1 | TER | Dec-DC | Tr", "Table 1, column: 'TER'"),
        ("[Table 1 | BLEU | Dec-DC | Tr", "[Table 1 | BLEU | Doc-DC | Tr", "Table 1, BLEU: 'Doc-D"),
        ("[Table 1 | BLEU | Dec-DC | Transformer]", "[Table 1 | BLEU]", "with one row or two"),
        ("    than: [transformer_dc_dec]\n", "", "than: is missing; score compares it"),
        ("    analysis: analyze divergence\n", "", "analysis: goes with by: analysis"),
        ("    seen: for\n", "", "here, seen: belong together"),
        ("    by: training\n", "    by: training\n    here: 0.1\n    seen: for\n", "here, seen: b"),
        ("  - name: Dec-DC improves", "  - name: Enc-DC improves", "occurs twice"),
        ("    by: training\n", "    by: speed\n", "'speed'"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(tmp_path, old, new, problem):
    text = (DATA / "dual-context.yaml").read_text("utf-8")
    assert old in text
    (tmp_path / "x.yaml").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(UserError, match=problem):
        read_file(tmp_path / "x.yaml")


# -- the verdict -----------------------------------------------------------------------------------


def claim(expects="more", by="score", evidence=()):
    return Claim("d", "n", "s", "p", by, expects, evidence, (), ())


def score(value, low, high, p_value=1.0):
    return Compared(
        by="score", ours="a", than="b", value=value, interval=(low, high), corrected_p=p_value
    )


@pytest.mark.parametrize(
    ("expects", "seen", "word"),
    [
        ("more", score(1.0, 0.4, 1.6, 0.01), "for"),
        ("more", score(1.0, 0.1, 1.9, 0.2), "undecided"),  # not after Holm's correction
        ("more", score(-0.2, -0.9, 0.49), "against"),
        ("more", score(-0.2, -0.9, 0.51), "undecided"),
        ("more", score(-1.0, -1.6, -0.4, 0.01), "against"),
        ("less", score(-1.0, -1.6, -0.4, 0.01), "for"),
        ("less", score(0.2, -0.49, 0.9), "against"),
        ("less", score(0.2, -0.51, 0.9), "undecided"),
        ("same", score(0.0, -0.4, 0.4), "for"),
        ("same", score(0.0, -0.6, 0.4), "undecided"),
        ("same", score(1.0, 0.6, 1.4, 0.001), "against"),
        ("more", None, "unmeasured"),
    ],
)
def test_a_verdict_of_bleu(expects, seen, word):
    assert verdict(claim(expects), seen) == word


def test_a_smaller_published_difference_is_the_least_that_agrees():
    entries = {entry.row: entry for entry in find_item("thesis, Table 3.2").entries
               if entry.column == "BLEU"}  # fmt: skip
    small = claim(evidence=((entries["M-01"], entries["Transformer"]),))
    assert least_of(small) == pytest.approx(0.17)
    contrary = claim(evidence=((entries["S-Agg"], entries["Transformer"]),))  # -0.13
    assert least_of(contrary) == 0.5
    assert least_of(replace(contrary, expects="less")) == pytest.approx(0.13)
    seen = score(-0.2, -0.6, 0.2)
    assert (verdict(claim(), seen), verdict(small, seen)) == ("against", "undecided")


@pytest.mark.parametrize(
    ("expects", "low", "high", "word"),
    [
        ("less", 0.7, 0.9, "for"), ("less", 1.1, 1.3, "against"), ("less", 0.9, 1.1, "undecided"),
        ("more", 1.1, 1.3, "for"), ("same", 0.95, 1.05, "for"), ("same", 0.8, 1.05, "undecided"),
        ("same", 0.5, 0.6, "against"),
    ],
)  # fmt: skip
def test_a_verdict_of_speed(expects, low, high, word):
    seen = Compared(by="training", ours="a", than="b", value=1.0, interval=(low, high))
    assert verdict(claim(expects, "training"), seen) == word


def test_kept_runs_are_timed_and_their_speeds_decide(tmp_path):
    for name, folder in (("transformer_dc_full", "claims"), ("transformer_dc", "."),
                         ("transformer_dc_dec", "claims")):  # fmt: skip
        place = tmp_path / "runs" / folder / f"{name}-s1"
        place.mkdir(parents=True)
        (place / "hypotheses.de").touch()

    def full():
        found = decided(["dual-context"], tmp_path)
        return next(one for one in found if one.claim.name == "Full-DC trains slowest")

    (command,) = commands_of(full(), tmp_path)
    words, _, file = command.partition(" > examples/multi30k_en_de/")
    assert words.startswith("dc-nmt bench examples/multi30k_en_de/runs/claims/transformer_dc_full")
    rows = [
        {
            "mode": "train",
            "system": system,
            "ratio": r,
            "ratio_low": r - 0.01,
            "ratio_high": r + 0.01,
        }
        for system, r in (
            (None, 1.0),
            ("transformer_dc_full", 0.8),
            ("transformer_dc", 1.0),
            ("transformer_dc_dec", 1.1),
        )
    ]
    (tmp_path / file).write_text(json.dumps({"results": rows}))
    assert full().verdict == "for"
    (command,) = commands_of(full(), tmp_path / "nothing kept")
    assert command.startswith("dc-nmt bench transformer_dc_full_tiny transformer_dc_tiny")


def test_equally_long_lists_are_pairs_and_others_all_combinations():
    one, two, three = (Subject((name,)) for name in (PLAIN, DUAL, "transformer_mlmha"))
    pairs = replace(claim(), ours=(one, two), than=(two, three))
    assert pairs_of(pairs) == [(PLAIN, DUAL), (DUAL, "transformer_mlmha")]
    assert len(pairs_of(replace(pairs, than=(three,)))) == 2


def test_two_translations_of_one_run_differ_by_sentences_alone():
    own, other = Subject(("transformer_mlmha",)), Subject((DUAL,))
    masked = replace(own, decode=("--mask-source-layers", "1"))
    claims = [replace(claim(), ours=(own,), than=(than,)) for than in (masked, other)]
    chance = np.random.default_rng(1)
    names = [name for each in claims for name in pairs_of(each)[0]]
    scores = {name: {"1": Scores(40.0, 40 + chance.normal(size=1000))} for name in names}
    found = claim_measures._of_scores(claims, scores, deviation=10.0, freedom=20)
    widths = [high - low for low, high in (each.interval for each in found)]
    assert widths[0] < 8 < 50 < widths[1]


# -- the stored comparisons ------------------------------------------------------------------------


def test_the_stored_comparisons_are_of_the_kept_runs():
    """`dc-nmt paper claims --measure` makes them equal."""
    assert stale() == []
    stored = Measured.read(HOME)
    scores = {
        name: {seed: run.decoding.score(stored.metric).value for seed, run in runs.items()}
        for name, runs in kept_runs(CLAIMS).items()
    }
    compared = [each for each in stored.compared if each.by == "score"]
    known = {
        pair
        for claim in CLAIMS if claim.by == "score"
        for pair in pairs_of(claim) if all(name in scores for name in pair)
    }  # fmt: skip
    assert {(each.ours, each.than) for each in compared} == known
    for each in compared:
        ours, than = (
            [scores[name][seed] for seed in each.seeds] for name in (each.ours, each.than)
        )
        assert each.value == pytest.approx(
            statistics.fmean(ours) - statistics.fmean(than), abs=1e-3
        )


def test_intervals_are_those_of_the_examples_table():
    table = {row.run.rpartition("/")[2]: row for row in RunTable.read(HOME / "results.json").rows}
    same = [
        each
        for each in Measured.read(HOME).compared
        if each.than == PLAIN and len(each.seeds) > 1 and each.ours in table
    ]
    assert len(same) >= 7
    for each in same:
        test = table[each.ours].against
        assert each.interval == pytest.approx(test.interval, abs=1e-3)
        assert each.p_value == pytest.approx(test.p_value, abs=1e-4)


def test_stored_parameters_are_those_of_built_models():
    stored = {(each.ours, each.than): each.value for each in Measured.read(HOME).compared}
    entries = {(e.row, e.column): e for e in find_item("thesis, Table 4.6a").entries}
    one, two = entries["MS-ij", "#Params (M)"], entries["MS-i", "#Params (M)"]
    size = fitted_vocabulary(two)
    gap = (built_count(one, size) - built_count(two, size)) / 1e6
    names = ("thesis, Table 4.6a, MS-ij", "thesis, Table 4.6a, MS-i")
    assert stored[names] == pytest.approx(gap, abs=1e-3)


# -- measuring -------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Kept runs of the plain model and Enc-DC, two seeds each, and one run of f = 3."""
    monkeypatch.setattr(claim_measures, "_of_parameters", lambda claims: iter(()))
    (tmp_path / "ref.de").write_text("\n".join(REFERENCE) + "\n")
    keep(tmp_path / "runs", PLAIN, 1, 7)
    keep(tmp_path / "runs", PLAIN, 2, 6)
    keep(tmp_path / "runs", DUAL, 1, 0)
    keep(tmp_path / "runs", DUAL, 2, 1)
    keep(tmp_path / "runs/claims", DUAL, 1, 3, "--dc-kernel-size", "3")
    return tmp_path


def keep(folder, arch, seed, wrong, *flags):
    """A kept run of which so many sentences are wrong."""
    settings = settings_of(load("multi30k_en_de"), arch)
    words = [*settings.flags, "--max-update", str(settings.updates), *flags]
    path = folder / f"{name_of(Subject((arch, *flags)))}-s{seed}"
    kept = write_run(path, arch, shlex.join(words), seed=seed)
    translate(kept, wrong)
    return kept


def translate(kept, wrong, way=""):
    """Adds a translation to a kept run; `way` is the name of the decoding."""
    lines = [*(wrong * ["Ein Haus steht am Bach ."]), *REFERENCE[wrong:]]
    name = f"hypotheses{f'-{way}' if way else ''}.de"
    (kept / name).write_text("\n".join(lines) + "\n")
    root = next(parent for parent in kept.parents if (parent / "ref.de").is_file())
    write_scored(kept, name, root / "ref.de", name=way)


def test_kept_runs_are_compared_and_stored(home):
    path = measure(home)
    stored = Measured.read(home)
    assert path == home / "claims.json" and stored.sentences == len(REFERENCE)
    found = {(each.ours, each.than): each for each in stored.compared}
    dual = found[DUAL, PLAIN]
    assert dual.seeds == ("1", "2") and dual.value > 0
    seen = {(one.claim.document, one.claim.name): one for one in decided(home=home)}
    assert seen["dual-context", "Enc-DC improves"].seen == (dual,)
    assert seen["dual-context", "Dec-DC improves"].verdict == "unmeasured"
    assert stale(home) == []
    shutil.rmtree(home / "runs" / f"{DUAL}-s2")
    assert stale(home) == [f"runs/{DUAL}-s2/hypotheses.de"]


def test_a_single_seed_has_the_variation_of_the_others(home):
    measure(home)
    stored = Measured.read(home)
    assert stored.deviation > 0 and stored.freedom == 2
    found = {(each.ours, each.than): each for each in stored.compared}
    assert (DUAL, "transformer_dc-dc-kernel-size-8") not in found
    keep(home / "runs/claims", DUAL, 1, 3, "--dc-kernel-size", "8")
    measure(home)
    one = next(e for e in Measured.read(home).compared if e.than.endswith("kernel-size-8"))
    assert one.seeds == ("1",)
    # t with two degrees of freedom: the seeds alone give 4.3 times the deviation of a difference
    assert one.interval[1] - one.value >= 4.3 * 2**0.5 * stored.deviation


def test_a_masked_translation_is_a_system_of_its_own(home):
    keep(home / "runs", "transformer_mlmha", 1, 11)  # trained before, and worse than every mask
    kept = keep(home / "runs/claims", "transformer_mlmha", 1, 0)
    for layer in range(1, 5):
        translate(kept, 6 + layer % 2, f"mask{layer}")
    measure(home)
    found = [e for e in Measured.read(home).compared if e.ours == "transformer_mlmha, same run"]
    assert {f"transformer_mlmha, mask{layer}" for layer in range(1, 5)} == {e.than for e in found}
    assert all(each.value > 0 for each in found)
    one = next(each for each in decided(home=home) if each.claim.name == "M-10 needs every layer")
    place = "examples/multi30k_en_de/runs/claims/transformer_mlmha-s1"
    masks = " ".join(f"{place}:mask{layer}" for layer in range(1, 5))
    assert commands_of(one, home) == [f"dc-nmt compare {place} {masks}"]


def test_a_kept_run_of_other_settings_is_refused(home):
    shutil.rmtree(home / "runs" / f"{DUAL}-s2")
    other = keep(home / "runs", DUAL, 2, 1, "--dc-kernel-size", "4")
    other.rename(home / "runs" / f"{DUAL}-s2")
    record = read_record(home / "runs" / f"{DUAL}-s2")
    write_record(home / "runs" / f"{DUAL}-s2/run.json", replace(record, system=DUAL))
    with pytest.raises(UserError, match=f"{DUAL}-s2: is not a run of {DUAL}$"):
        measure(home)
    assert not (home / "claims.json").exists()


def test_no_kept_run_is_said(tmp_path):
    with pytest.raises(UserError, match="has no kept run of any claim"):
        measure(tmp_path)
    found = decided(home=tmp_path)
    assert {one.verdict for one in found if not one.claim.analysis} == {"unmeasured"}


# -- the command -----------------------------------------------------------------------------------


def test_the_list_in_words(capsys):
    text = printed(capsys, "dual-context")
    assert "published: Table 1, Enc-DC: 29.26 against 28.37 of Transformer (+0.89)" in text
    assert "here: transformer_dc against transformer_standard: +0.33 [-0.39, 1.04] BLEU" in text
    assert "seeds 1, 2, 3\n  seen: undecided\n  dc-nmt results examples/" in text
    assert "  dc-nmt run multi30k_en_de transformer_dc --dc-kernel-size 8 --name" in text
    assert "\n18 claims: " in text and "M-10" not in text


def test_the_list_as_table_and_json(capsys):
    table = printed(capsys, "--verdict", "against", "--markdown")
    assert (
        "| M-10 improves | thesis, section 3.4 | +0.71 | -0.49 [-1.19, 0.21] | 1, 2, 3 |" in table
    )
    assert "undecided" not in table
    facts = json.loads(printed(capsys, "context-aware", "--json"))
    first = facts[0]
    assert (first["expects"], first["seen"], len(first["here"])) == ("more", "against", 1)
    assert first["published"][0]["against"]["value"] == "27.31"


def test_measuring_goes_alone():
    with pytest.raises(UserError, match="--measure: measures the claims of all documents"):
        paper.main(["claims", "thesis", "--measure"])
    with pytest.raises(UserError, match="document: 'theses'"):
        paper.main(["claims", "theses"])
