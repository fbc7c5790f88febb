"""Figures of analyses by the data that they draw; tables by their cells."""

import math
from argparse import ArgumentTypeError
from dataclasses import replace
from importlib import import_module

import pytest
from sacrebleu.metrics import BLEU

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.commands.parser import figure_path
from dc_nmt_plugin.laboratory.evaluation.chance import Difference
from dc_nmt_plugin.laboratory.evaluation.metrics import METRICS
from dc_nmt_plugin.laboratory.evaluation.significance import paired_bootstrap
from dc_nmt_plugin.laboratory.plot import new_figure, save
from dc_nmt_plugin.study.analysis import curves
from dc_nmt_plugin.study.analysis.attention import AttentionSpans, LayerSpans
from dc_nmt_plugin.study.analysis.curves import Curves
from dc_nmt_plugin.study.analysis.dependency import Dependency, LayerDependency, SentenceDependency
from dc_nmt_plugin.study.analysis.divergence import Divergence, LayerDivergence
from dc_nmt_plugin.study.analysis.lengths import LengthGroup, LengthScores, group_bleu, with_gains
from dc_nmt_plugin.study.analysis.matrix import HeadWeights, Matrices
from dc_nmt_plugin.study.analysis.previous_words import PreviousWords
from dc_nmt_plugin.study.analysis.routing import LayerRouting, Routing
from dc_nmt_plugin.study.analysis.source_layers import MaskedLayer, MaskedLayers
from dc_nmt_plugin.study.analysis.trees import SentenceTree, Trees


def drawn(name, results, **options):
    """Panels of the figure, each with names on both axes; and the tables."""
    analysis = import_module(f"dc_nmt_plugin.study.analysis.{name.replace('-', '_')}")
    figure = new_figure()
    analysis.draw(figure, results, **options)
    figure.canvas.draw()
    shown = [each for each in figure.axes if each.get_visible()]
    for each in shown:
        named = each.get_xlabel() and each.get_ylabel()
        assert named or each.get_label() == "<colorbar>" or name == "trees"
    return shown, analysis.tables(results, **options)


def line(axes, label):
    (drawn,) = [line for line in axes.lines if line.get_label() == label]
    return list(map(float, drawn.get_ydata()))


def heights(axes):
    return [patch.get_height() for patch in axes.patches]


def spans(values):
    layers = [
        LayerSpans(
            name=f"encoder.{n}.self",
            layer=n,
            part="",
            label=f"{n}",
            rows=9,
            distance=value,
            distances=[value - 1, value + 1],
            entropy=value / 10,
            entropies=[0.1, value / 5],
        )
        for n, value in enumerate(values, start=1)
    ]
    return AttentionSpans("encoder", "lower", layers)


def test_attention():
    """Heads by layers of one run; lines of several."""
    axes, tables = drawn("attention", {"a": spans([2.0, 3.0])})
    assert axes[0].images[0].get_array().tolist() == [[1, 3], [2, 4]]
    assert axes[0].get_xlabel() == "head" and axes[0].get_ylabel() == "layer"
    assert tables[0].rows[0][:4] == ["a", "encoder.1.self", "2.000", "0.200"]
    assert tables[0].title.endswith("and keys up to the query (j ≤ i, as in the thesis)")
    axes, _ = drawn("attention", {"a": spans([2.0, 3.0]), "b": spans([4.0, 5.0])})
    kind = "(self-attention of the encoder)"
    assert line(axes[0], f"a {kind}") == [2, 3] and line(axes[0], f"b {kind}") == [4, 5]
    assert line(axes[1], f"b {kind}") == pytest.approx([0.4, 0.5])


def divergence(sizes, values):
    layers = [LayerDivergence("encoder", n, value, 9) for n, value in enumerate(values, 1)]
    return Divergence({"encoder": sizes}, layers, {"encoder": sum(values) / len(values)})


def test_divergence():
    """By layer; the mean by kernel size, unless the layers of a run have several."""
    results = {"f3": divergence([3], [0.1, 0.3]), "f2": divergence([2], [0.4, 0.6])}
    (by_layer, by_size), tables = drawn("divergence", results)
    assert line(by_layer, "f3") == [0.1, 0.3]
    assert list(by_size.lines[0].get_xdata()) == [2, 3]
    assert line(by_size, "encoder") == pytest.approx([0.5, 0.2])
    assert tables[0].rows[0] == ["f3", "encoder", "3", "0.2000", "0.1000", "0.3000"]
    results["f23"] = divergence([2, 3], [0.1, 0.3])
    (_, bars), _ = drawn("divergence", results)
    assert heights(bars) == [0.2, 0.5, 0.2]


def test_routing():
    row = LayerRouting(
        layer=1,
        added_norm=2.0,
        vertical_norm=1.0,
        horizontal_norm=1.5,
        zero_vertical=0.5,
        zero_horizontal=0.25,
        entropy=0.3,
        head_weights=[0.9, 0.1],
        by_length={3: (0.6, 2), 4: (0.6, 1), 7: (0.2, 2)},
    )
    (entropy, zeros, norms), _ = drawn("routing", {"a": Routing(5e-4, [row])})
    assert line(entropy, "layer 1") == pytest.approx([1.2 / 3, 0.1])
    assert heights(zeros) == [0.5, 0.25] and heights(norms) == [1.0, 1.5]


def test_a_run_has_one_colour_and_each_series_its_own_marker_or_hatch():
    row = LayerRouting(1, 0.5, 0.25, 2.0, 1.0, 1.5, [0.9, 0.1], 0.3, {3: (0.6, 2), 9: (0.6, 2)})
    runs = {name: Routing(5e-4, [row, replace(row, layer=2)]) for name in ("a", "b")}
    (entropy, zeros, norms), _ = drawn("routing", runs)
    for run in "ab":
        colours = {line.get_color() for line in entropy.lines if line.get_label()[0] == run}
        assert len(colours) == 1
    assert len({line.get_marker() for line in entropy.lines}) == 4
    for axes in (zeros, norms):
        assert len({patch.get_facecolor() for patch in axes.patches}) == 2
        assert len({(patch.get_facecolor(), patch.get_hatch()) for patch in axes.patches}) == 4


def test_a_degenerate_translation_keeps_readable_labels():
    weights = HeadWeights("decoder.source", "", ["x"] * 200, ["y"] * 5, [[0.2] * 5] * 200)
    axes, _ = drawn("matrix", {"a": Matrices(["decoder.source"], [weights])})
    assert 40 <= len(axes[0].get_yticks()) <= 60 and len(axes[0].get_xticks()) == 5
    assert len(axes[0].images[0].get_array()) == 200
    words = SentenceDependency(1, "x", ["y"] * 200, [0.1] * 200)
    layers = [LayerDependency(1, [0.1], 0.1)]
    (_, _, bars), _ = drawn("dependency", {"a": Dependency(1, 0.7, layers, words)})
    assert len(bars.get_xticks()) <= 60 and len(bars.patches) == 200


def test_a_long_name_that_fits_is_not_turned():
    one = {"transformer_dc_modern-s1": divergence([3], [0.1, 0.3])}
    (_, bars), _ = drawn("divergence", one)
    assert bars.get_xticklabels()[0].get_rotation() == 0
    several = {f"transformer_dc_modern-s{n}": divergence([3], [0.1, 0.3]) for n in range(4)}
    (_, bars), _ = drawn("divergence", several)
    assert bars.get_xticklabels()[0].get_rotation() == 20


def test_source_layers():
    masked = []
    for layer, gap, p, holm in ((1, -1.0, 0.001, 0.003), (2, -0.5, 0.03, 0.06), (3, 0.2, 0.4, 0.4)):
        test = Difference(gap, (gap - 0.5, gap + 0.5), p, 0.3, None)
        masked.append(MaskedLayer(layer, 10.0 + gap, gap, test, holm))
    results = {"a": MaskedLayers(text="", signature="nrefs:1", bleu=10.0, masked=masked)}
    (chart,), (table,) = drawn("source-layers", results)
    assert heights(chart) == [-1, -0.5, 0.2]
    assert table.rows[:3] == [
        ["a", "nothing", "10.00", "", "", "", ""],
        ["a", "layer 1", "9.00", "-1.00**", "[-1.50, -0.50]", "0.001", "0.003"],
        ["a", "layer 2", "9.50", "-0.50", "[-1.00, 0.00]", "0.030", "0.060"],
    ]
    assert any("** p < 0.01, two-sided after Holm's" in note for note in table.notes)
    assert table.notes[-1] == "BLEU: nrefs:1"


def test_dependency():
    sentence = SentenceDependency(1, "x", ["y", "<EOS>"], [0.2, 0.4])
    layers = [LayerDependency(1, [0.1], 0.1), LayerDependency(2, [0.3], 0.3)]
    results = {"a": Dependency(1, 0.7, layers, sentence)}
    (by_model, by_layer, words), _ = drawn("dependency", results)
    assert heights(by_model) == [0.7]
    assert line(by_layer, "a") == [0.1, 0.3] and heights(words) == [0.2, 0.4]
    assert [text.get_text() for text in words.get_xticklabels()] == ["y", "<EOS>"]


def test_previous_words():
    results = {"a": PreviousWords(4, [75.0, 25.0]), "b": PreviousWords(1, [100.0])}
    (axes,), tables = drawn("previous-words", results)
    assert line(axes, "a") == [75, 25] and line(axes, "b") == [100, 0]
    assert list(axes.lines[0].get_xdata()) == [-1, -2] and axes.xaxis_inverted()
    assert tables[0].rows[1] == ["-2", "25.00", "0.00"]


def test_trees():
    sentence = SentenceTree(1, ["the", "dog", "barks"], [(0, 2), (2, 3)])
    scores = {"attention": {"precision": 0.5, "recall": 0.4, "f1": 0.44},
              "right-branching": {"precision": 0.3, "recall": 0.3, "f1": 0.3}}  # fmt: skip
    (bars,), tables = drawn("trees", {"a": Trees(3, 2, [sentence], sentence, scores)})
    assert heights(bars) == [0.5, 0.3]
    assert tables[0].rows[0] == ["a", "attention", "0.500", "0.400", "0.440"]
    assert tables[2].rows[0] == ["a", "1", "(the dog (barks))"]
    (tree,), _ = drawn("trees", {"a": Trees(3, 2, [sentence], sentence)})
    assert [text.get_text() for text in tree.get_xticklabels()] == ["the", "dog", "barks"]
    leaves = sorted(float(line.get_xdata()[1]) for line in tree.lines if line.get_ydata()[1] == 0)
    assert leaves == [0, 1, 2]


def lengths(*values, words="a b c d"):
    text = [words] * 30 + ["a b c d"] * 30, ["a b c d"] * 60
    groups = [
        LengthGroup(low, None if low else 4, 60, bleu, *text)
        for low, bleu in zip((0, 5), values, strict=True)
    ]
    whole = LengthGroup(0, None, 60, 20.0, *text)
    return LengthScores("words", "", 20.0, "", groups, whole, "de", METRICS["sacrebleu"])


def test_lengths():
    results = {"base": lengths(10.0, 20.0), "new": lengths(12.0, 19.0, words="a b c x")}
    (bleu, gap), tables = drawn("lengths", with_gains(results))
    assert line(bleu, "base") == [10, 20]
    _, compared = paired_bootstrap(
        {label: result.whole.hypotheses for label, result in results.items()},
        ["a b c d"] * 60,
        "de",
        METRICS["sacrebleu"],
    )
    assert line(gap, "new") == [compared.difference] * 2
    interval = "[{:.2f}, {:.2f}]".format(*compared.against.interval)
    gain = f"{compared.difference:.2f}"
    assert tables[0].rows[0] == ["0-4", "60", "10.00", "12.00", gain, interval]
    assert len(gap.collections) == 2  # an interval in each group
    first, second = results["base"].groups
    results["base"] = replace(results["base"], groups=[replace(first, bleu=None), second])
    (bleu, gap), (table,) = drawn("lengths", with_gains(results))
    assert table.rows[0] == ["0-4", "60", "-", "12.00", "-", "-"]
    assert table.notes[0].startswith("-: fewer than 50 sentences")
    assert math.isnan(line(bleu, "base")[0]) and math.isnan(line(gap, "new")[0])
    first, second = results["new"].groups
    results["new"] = replace(results["new"], groups=[replace(first, sentences=9), second])
    with pytest.raises(UserError, match="base and new have other sentences"):
        with_gains(results)


@pytest.mark.parametrize(
    ("text", "scored"),
    [
        (["a b c d"] * 49, False),  # too few
        (["a b c d"] * 50, True),
        (["a b c"] * 50, False),  # perfect, and 0.00 BLEU
    ],
)
def test_a_group_without_4_grams_or_fifty_sentences_has_no_score(text, scored):
    bleu = group_bleu(BLEU(tokenize="none", force=True), text, text)
    assert bleu == (pytest.approx(100) if scored else None)


def test_curves():
    results = {
        "a-s1": Curves({"valid:ppl": [(10, 8.0), (20, 4.0)]}),
        "b-s1": Curves({"valid:ppl": [(10, 9.0)], "valid:dv_encoder": [(2, 0.1)]}),
    }
    (axes,), _ = drawn("curves", results, numbers=["valid:ppl"])
    assert line(axes, "a-s1") == [8, 4]
    (axes,), (table,) = drawn("curves", results)
    assert axes.get_ylabel() == "valid: dv_encoder"
    assert table.rows == [["b-s1", "valid:dv_encoder", "2", "0.1", "0.1", "0.1", "0.1"]]


def test_names_stand_in_a_legend_as_they_are(tmp_path):
    names = ["_u", "a$b{$", "plain"]
    curve = Curves({"valid:ppl": [(10, 800.0), (20, 4.0)]})
    figure = new_figure()
    curves.draw(figure, dict.fromkeys(names, curve), numbers=["valid:ppl"])
    save(figure, tmp_path / "f.svg")
    assert [text.get_text().strip() for text in figure.legends[0].get_texts()] == names


def test_files(tmp_path):
    for name in ("a", "again"):
        figure = new_figure()
        figure.add_subplot().plot([1, 2], marker="o")
        assert [path.suffix for path in save(figure, tmp_path / name)] == [".png", ".svg"]
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    first = (tmp_path / "a.svg").read_text()
    assert "<svg" in first and (tmp_path / "again.svg").read_text() == first
    assert [path.name for path in save(figure, tmp_path / "b.pdf")] == ["b.pdf"]
    with pytest.raises(ArgumentTypeError, match=r"'c.gif' ends in none of .png, .svg, .pdf"):
        figure_path("c.gif")
