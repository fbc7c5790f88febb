"""``dc-nmt analyze`` on trained models: exact whatever the batching, one sentence for errors."""

import json
import math

import pytest
import torch
from commands import run
from helpers import few
from records import write_run
from reference import attention_spans as spans
from reference import dependency
from systems import train

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.inference.attention import ForcedBatch, recorded_batch
from dc_nmt_plugin.laboratory.inference.trained_run import find_runs
from dc_nmt_plugin.laboratory.plot import new_figure
from dc_nmt_plugin.runs.record import Data
from dc_nmt_plugin.study.analysis import ANALYSES, trees
from dc_nmt_plugin.study.analysis.dependency import without_fusion
from dc_nmt_plugin.study.analysis.forced import samples
from dc_nmt_plugin.study.analysis.subject import Subject
from dc_nmt_plugin.study.analysis.text_score import TextScore

OPTIONS = ["--cpu", "--num-workers", "0", "--max-len-b", "12", "--beam", "2"]
WIDER = ["--max-epoch", 4, "--save-interval", 4, "--dropout", 0]


@pytest.fixture(scope="module")
def models(corpus, tmp_path_factory):
    """Architecture → a run's folder as recipes leave it: data beside it, command and log in it."""
    root = corpus.parent / "runs"

    def of(arch):
        folder = root / arch
        if not folder.is_dir():
            save = folder / "checkpoints"
            if arch.startswith("gru"):
                result = run(save, "train", corpus, "--save-dir", save, *gru(arch))
            else:
                result = train(corpus, save, arch, *WIDER)
            result.good()
            data = Data("xx", "yy", f"../../{corpus.name}")
            write_run(folder, arch, data=data, written_in="/gone")
            (folder / "train.log").write_text(result.output)
        return folder

    return of


def gru(arch):
    return [
        *("--cpu", "--seed", 5, "--optimizer", "adam", "--lr", 0.01, "--max-tokens", 80),
        *("--num-workers", 0, "--log-format", "json", "--log-interval", 1, "--arch", arch),
        *("--task", "gru_selfattn_residual", "--criterion", "gru_selfattn_residual"),
        *("--embed-dim", 8, "--hidden-dim", 12, "--weight-init", "xavier", *WIDER),
    ]


@pytest.fixture
def analyze(capsys):
    """Run the command; its exit status, output and errors."""

    def call(what, *arguments):
        code = cli.main(["analyze", what, *map(str, [*arguments, *OPTIONS])])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def measured(analyze):
    """What one run's analysis found, as JSON."""

    def call(what, folder, *arguments):
        code, output, errors = analyze(what, folder, "--json", *arguments)
        assert code == 0, errors
        report = json.loads(output)
        assert report["analysis"] == what
        (found,) = report["runs"].values()
        return found

    return call


def same(one, other):
    """Equal but for rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-5)
    return one == other


def subject_of(folder, subset="test"):
    (found,) = find_runs([folder])
    return Subject(found, [*OPTIONS, "--batch-size", "1"], subset)


def one_by_one(subject, text="reference"):
    """A batch without any padding for each sentence, and what all modules recorded."""
    return [
        (ForcedBatch.of(subject, sample), recorded_batch(subject, sample))
        for sample in samples(subject, text)
    ]


MEASURED = {
    "attention": ("transformer_mlmha", []),
    "divergence": ("transformer_dc", []),
    "gates": ("transformer_ctxaware", []),
    "parts-of-speech": ("transformer_ctxaware", []),
    "routing": ("transformer_cross_agg", []),
    "source-layers": ("transformer_mlmha", []),
    "dependency": ("transformer_ms_aux_aif", []),
    "previous-words": ("gru_selfattn_residual", []),
    "trees": ("gru_selfattn_residual", []),
    "lengths": ("transformer_mlmha", ["--edges", "5,10"]),
}


def tag_file(corpus, tmp_path, lang="xx"):
    lines = (corpus.parent / "text" / f"test.{lang}").read_text().splitlines()
    path = tmp_path / "tags"
    path.write_text("".join(" ".join(w[:1].upper() for w in line.split()) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("what", few(MEASURED, "dependency"))
def test_the_batching_does_not_matter(what, models, measured, corpus, tmp_path):
    arch, flags = MEASURED[what]
    if what == "parts-of-speech":
        flags = ["--tags", tag_file(corpus, tmp_path)]
    folder = models(arch)
    together = measured(what, folder, *flags, "--max-tokens", 4000)
    alone = measured(what, folder, *flags, "--batch-size", 1)
    assert same(together, alone)


def test_dependency_is_that_of_loops(models, measured):
    folder = models("transformer_ms_aux_aif")
    found = measured("dependency", folder, "--subset", "test1", "--index", 2)
    subject = subject_of(folder, "test1")
    outputs, layers = [], []
    with torch.no_grad():
        for sample in samples(subject, "greedy"):
            main = recorded_batch(subject, sample)
            logits, _ = subject.model(**sample["net_input"])
            with without_fusion(subject.model):
                own = recorded_batch(subject, sample)
                own_logits, _ = subject.model(**sample["net_input"])
            outputs.append(dependency.output_dependency(logits[0], own_logits[0]))
            name = "decoder.stack.layers.0.encoder_attn"
            pair = (records[name]["weights"][0] for records in (main, own))
            layers.append(dependency.layer_dependency(*pair))
    assert found["output"] == pytest.approx(sum(outputs) / 5, rel=1e-3) and len(outputs) == 5
    assert found["layers"][0]["mean"] == pytest.approx(sum(layers) / 5, rel=1e-3)
    assert min(outputs) > 0
    shown = found["sentence"]
    assert shown["index"] == 2 and shown["pieces"][-1] == "<EOS>"
    assert len(shown["pieces"]) == len(shown["dependency"])


def test_attention_is_that_of_loops(models, measured):
    folder = models("transformer_mlmha")
    records = [each for _, each in one_by_one(subject_of(folder, "test1"))]
    own = [each["encoder.stack.layers.0.self_attn"]["weights"][0] for each in records]
    source = [each["decoder.stack.layers.0.encoder_attn"]["weights"][0, 0] for each in records]
    lower = ["--keys", "lower"]
    for of, number, reference, weights, keys in (
        ("encoder", "distances", spans.mean_distance, own, lower),
        ("encoder", "distances", spans.mean_distance, own, []),
        ("encoder", "entropies", spans.mean_entropy, own, []),
        ("source", "entropies", spans.mean_entropy, source, []),
    ):
        words = ["--subset", "test1", "--of", of, *keys]
        found = measured("attention", folder, *words)["layers"][0]
        expected = [reference(weights, head, keys[1] if keys else "all") for head in (0, 1)]
        assert found[number] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("side", "lang"), [("encoder", "xx"), ("decoder", "yy")])
def test_words_of_a_part_of_speech(side, lang, models, measured, corpus, tmp_path):
    """Tags that are the words' first letters: each word's gate, averaged by hand."""
    folder = models("transformer_ctxaware_full")
    tags = tag_file(corpus, tmp_path, lang)
    found = measured("parts-of-speech", folder, "--tags", tags, "--side", side)
    lines = (corpus.parent / "text" / f"test.{lang}").read_text().splitlines()
    values = {}
    for batch, records in one_by_one(subject_of(folder)):
        (number,) = batch.numbers
        layers = [records[name]["lambda_q"][0, :, 0] for name in records
                  if name.startswith(side) and "lambda_q" in records[name]]  # fmt: skip
        # a decoder reads the begin token before the words, an encoder the end after them
        words = slice(0, -1) if side == "encoder" else slice(1, None)
        gates = (sum(layers) / len(layers))[words]
        for word, gate in zip(lines[number].split(), gates, strict=True):
            values.setdefault(word[0].upper(), []).append(float(gate))
    assert found["tags"].keys() == values.keys()
    for tag, own in values.items():
        assert found["tags"][tag]["words"] == len(own)
        assert found["tags"][tag]["lambda_q"] == pytest.approx(sum(own) / len(own), rel=1e-4)


def test_a_sample_has_its_own_references_and_a_group_its_lengths(models, measured, corpus):
    folder, texts = models("transformer_mlmha"), corpus.parent / "text"
    (found,) = find_runs([folder])
    subject = Subject(found, OPTIONS, "test", 9)
    score = TextScore(subject)
    target = (texts / "test.yy").read_text().splitlines()
    own = score.references(dict.fromkeys(subject.numbers))
    assert own == [target[number] for number in subject.numbers] != target[:9]
    lengths = [len(line.split()) for line in (texts / "test.xx").read_text().splitlines()]
    edge = sorted(set(lengths))[1]
    groups = measured("lengths", folder, "--edges", edge)["groups"]
    shorter = sum(length < edge for length in lengths)
    assert [group["sentences"] for group in groups] == [shorter, len(lengths) - shorter]


def test_a_sentence_of_ones_own(models, measured):
    folder = models("gru_selfattn_residual")
    found = measured("matrix", folder, "--sentence", "badun kefar")
    assert found["attentions"] == ["decoder.source", "decoder.words"]
    source, words = found["matrices"]
    assert source["keys"] == ["badun", "kefar", "</s>"]
    assert ["<s>", *source["queries"]] == [*words["keys"], "</s>"]
    for matrix in (source, words):
        sums = [sum(row) for row in matrix["weights"]]
        assert sums == pytest.approx([1] * len(words["keys"]), abs=1e-5)
    dc = measured("matrix", models("transformer_dc"), "--of", "encoder.*.local", "--heads", "all")
    names = [(matrix["attention"], matrix["head"]) for matrix in dc["matrices"]]
    assert names == [(f"encoder.{n}.self.local", f"head {h}") for n in (1, 2) for h in (1, 2)]


def test_the_sentence_that_was_asked_for_is_shown(models, measured, analyze):
    """Also where it is none of --sentences, whose means do not change."""
    fusion, gru_run = models("transformer_ms_aux_aif"), models("gru_selfattn_residual")
    used = ["--sentences", 5]
    plain, shown = (
        measured("dependency", fusion, *used, *index) for index in ([], ["--index", 30])
    )
    assert shown["sentence"]["index"] == 30 != plain["sentence"]["index"]
    assert same(plain["layers"], shown["layers"]) and same(plain["output"], shown["output"])
    code, output, errors = analyze("trees", gru_run, *used, "--index", 30)
    assert code == 0, errors
    _, table = output.split("trees of the first 5 sentences, and of the one of --index")
    rows = [row.split()[:2] for row in table.splitlines()]
    numbers = [row[1] for row in rows if row[:1] == ["gru_selfattn_residual"]]
    assert len(numbers) == 6 and numbers[-1] == "30"
    subject = subject_of(gru_run)
    subject.use(subject.dataset, 5)
    found = trees.measure(subject, index=30)
    figure = new_figure()
    trees.draw(figure, {"a": found})
    assert figure.axes[0].get_title() == "a, sentence 30" and len(found.sentences) == 5


def test_several_runs_side_by_side(models, analyze, tmp_path):
    runs = [models("transformer_dc"), models("transformer_ctxaware")]
    plot = tmp_path / "figure"
    code, output, errors = analyze(
        "attention", *runs, "--names", "one", "two", "--sentences", 20, "--plot", plot
    )
    assert code == 0, errors
    assert "test: 20 sentences" in output and "encoder.2.self.local" in output
    assert plot.with_suffix(".png").is_file() and plot.with_suffix(".svg").is_file()
    code, output, errors = analyze("curves", *runs)
    assert code == 2 and "--cpu: dc-nmt analyze curves has no such option" in errors
    assert cli.main(["analyze", "curves", *map(str, runs)]) == 0


@pytest.mark.parametrize("what", ["attention", "lengths"])
def test_raw_text_gives_the_numbers_of_the_same_binarised_text(what, models, analyze, corpus):
    folder = models("transformer_mlmha")
    source, target = (corpus.parent / "text" / f"test.{lang}" for lang in ("xx", "yy"))
    scored = ["--reference", target] if what == "lengths" else []
    text = ["--source", source, "--reference", target, "--tokenizer", "none"]
    (own,), (subset,) = (
        json.loads(analyze(what, folder, *words, "--sentences", 30, "--json")[1])["runs"].values()
        for words in (text, ["--subset", "test", *scored])
    )
    assert same(own, subset)
    code, output, errors = analyze(what, folder, "--source", source, "--tokenizer", "none")
    if what == "lengths":  # which scores
        assert code == 2 and "--reference" in errors
        return
    assert code == 0 and f"{source}, with the model's own translations: 50 sentences" in output
    alone = analyze(what, folder, "--source", source, "--tokenizer", "none", "--json")[1]
    whole = analyze(what, folder, *text, "--json")[1]  # no target side changes the encoder
    assert same(*(list(json.loads(found)["runs"].values()) for found in (alone, whole)))


def test_bad_input_is_one_sentence(models, analyze, corpus, tmp_path):
    gru_run = models("gru_selfattn_residual")
    lines = (corpus.parent / "text" / "test.xx").read_text().splitlines()
    short, wrong = tmp_path / "short", tmp_path / "wrong"
    short.write_text("A\n")
    wrong.write_text("A\n" * len(lines))
    ctx = models("transformer_ctxaware")
    for arguments, words in (
        (["divergence", gru_run], ["has no dual-context self-attention"]),
        (["parts-of-speech", ctx, "--tags", short], ["--tags", "1 line for 50 sentences"]),
        (["parts-of-speech", ctx, "--tags", wrong], ["line 1", "1 tag for the", "words"]),
        (
            ["previous-words", gru_run, "--longest", "0"],
            ["--longest: '0' is not a whole number"],
        ),
    ):
        code, output, errors = analyze(*arguments)
        assert code in (1, 2) and not output, arguments
        assert errors.count("\n") == 1 and "Traceback" not in errors, errors
        for word in words:
            assert word in errors, (arguments, errors)


def test_every_analysis_is_tried_here():
    assert set(ANALYSES) == {*MEASURED, "matrix", "curves"}
