"""``dc-nmt probe`` on a trained model, with files in SentEval's format."""

import json
import random
from dataclasses import replace

import pytest
import torch
from systems import WORDS, train

from dc_nmt_plugin import cli
from dc_nmt_plugin.laboratory.inference.model import LoadedModel
from dc_nmt_plugin.laboratory.inference.trained_run import find_runs
from dc_nmt_plugin.study.analysis.probing.classifier import SETTINGS
from dc_nmt_plugin.study.analysis.probing.encoding import SentenceEncoder, layer_output
from dc_nmt_plugin.study.analysis.probing.tasks import FILES


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """A run of two encoder layers, its checkpoint and nothing else."""
    folder = tmp_path_factory.mktemp("probed")
    train(corpus, folder, "transformer_standard", "--max-epoch", 1, "--no-epoch-checkpoints").good()
    return folder


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """Surface tasks whose classes are the sentence's first word and its length."""
    folder = tmp_path_factory.mktemp("senteval")
    choice = random.Random(1)
    for name in ("SentLen", "WC"):
        rows = []
        for i in range(1200):
            words = choice.choices(WORDS, k=choice.choice([2, 6]))
            label = str(len(words)) if name == "SentLen" else words[0][:1]
            rows.append(f"{'te' if i % 12 == 0 else 'va' if i % 12 == 1 else 'tr'}\t{label}\t")
            rows[-1] += " ".join(words)
        (folder / FILES[name]).write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture
def probe(capsys, monkeypatch):
    """Run the command; its exit status, output and errors."""

    for name, setting in list(SETTINGS.items()):
        fast = replace(setting, hidden=(100,), dropout=(0.0,), epochs=40)
        monkeypatch.setitem(SETTINGS, name, fast)

    def call(*arguments):
        code = cli.main(["probe", *map(str, arguments), "--cpu"])
        return code, *capsys.readouterr()

    return call


def encoder_of(run, layer=None):
    (found,) = find_runs([run])
    return SentenceEncoder(LoadedModel(found, ["--cpu"]), layer)


def test_the_vectors(run):
    """Means over a sentence alone; of a layer; of embeddings without the end token."""
    lines = ["badun kefar logol", "mifar", "lodun lodun midun kegol"]
    encoder = encoder_of(run)
    found = encoder.encode(lines)
    model, dictionary = encoder.loaded.model, encoder.loaded.task.source_dictionary
    with torch.no_grad():
        for line, vector in zip(lines, found, strict=True):
            tokens = dictionary.encode_line(line, add_if_not_exist=False).long()[None]
            top = model.encoder(tokens).features[0][0]
            assert torch.allclose(vector, top.mean(dim=0), atol=1e-5)
            first = layer_output(model.encoder, tokens, 1)[0]
            lower = encoder_of(run, layer=1).encode([line])[0]
            assert torch.allclose(lower, first.mean(dim=0), atol=1e-5)
            assert not torch.allclose(lower, vector, atol=1e-2)
            bag = encoder.encode([line], "bag")[0]
            words = model.encoder.embed_tokens(tokens)[0, :-1]
            assert torch.allclose(bag, words.mean(dim=0), atol=1e-6)
    random_one = encoder.encode(lines, "random")
    assert not torch.allclose(random_one, found, atol=1e-2)
    assert torch.equal(random_one, encoder_of(run).encode(lines, "random"))


def test_a_table(run, tasks, probe, tmp_path):
    plot = tmp_path / "figure"
    words = ["--tasks", tasks, "--setting", "thesis", "--only"]
    code, output, errors = probe(run, *words, "SentLen", "--json")
    assert code == 0, errors
    report = json.loads(output)
    (found,) = report["runs"].values()
    assert report["setting"]["lr"] == 1e-3 and found["layer"] == 2 and found["unknown"] == 0
    length = found["tasks"]["SentLen"]
    # whether a sentence has two words or six is seen in any mean
    assert length["trained"]["test"] > length["majority"] + 12
    assert {"trained", "random", "bag", "majority", "sentences"} == set(length)
    low, high = length["trained"]["interval"]
    assert length["sentences"] == 100 and 0 <= low <= length["trained"]["test"] <= high <= 100
    code, output, _ = probe(run, *words, "SentLen,WC", "--plot", plot)
    assert code == 0 and "#Avg" in output and "Surface" in output
    assert plot.with_suffix(".svg").is_file()
    assert f"{length['trained']['test']:.2f}" in output
