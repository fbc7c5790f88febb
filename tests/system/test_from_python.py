"""A run that is loaded in Python, and one of fairseq's own ``transformer``."""

import re
import threading

import pytest
import torch
from commands import ROOT, run
from fairseq import checkpoint_utils, tasks
from systems import SOURCE, STOCK, TARGET, configuration, training

import dc_nmt_plugin
from dc_nmt_plugin.laboratory.inference.model import LoadedModel
from dc_nmt_plugin.laboratory.inference.trained_run import find_runs

SHIPPED = ROOT / "examples/multi30k_en_de/models/transformer_dc_modern-s1"
LINES = ["A dog runs.", "Two young men are playing guitar on the street.", "A man sleeps."]
HARD = "An old goat smiles at a stuffed tiger."  # beam 1 has another translation


@pytest.fixture(scope="module")
def loaded():
    return dc_nmt_plugin.load(SHIPPED, flags=["--cpu"])


def test_threads_translate_at_the_same_time(loaded):
    def translated(beam):
        translations = loaded.translate([*LINES, HARD], beam=beam)
        # in the memory of another thread, sums may be rounded otherwise
        return [(each.hypothesis, round(each.score or 0, 5)) for each in translations]

    alone = {beam: translated(beam) for beam in (1, 2, None)}
    assert alone[1] != alone[None]
    found = {}

    def translate(number):
        beam = (1, 2, None)[number % 3]
        found[number] = translated(beam) == alone[beam]

    threads = [threading.Thread(target=translate, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(6), True)


@pytest.mark.parametrize("more", [[], ["--encoder-normalize-before", "--layernorm-embedding"]])
def test_a_model_of_fairseqs_own_is_analysed(corpus, tmp_path, more):
    task, criterion = STOCK
    words = ["--arch", "transformer", "--task", "translation", "--criterion", criterion, *more]
    run(tmp_path, "train", *training(corpus, tmp_path / "save", *words, "--max-epoch", 2)).good()
    (found,) = find_runs([tmp_path / "save"])
    model = LoadedModel(found, ["--cpu"], recording=True).model
    assert type(model).__module__ == "dc_nmt_plugin.models.transformer.model"
    names = ["--source-lang", SOURCE, "--target-lang", TARGET, "--task", task]
    cfg = configuration(corpus, "--path", found.checkpoint, *names)
    checkpoint = [str(found.checkpoint)]
    (stock,), _ = checkpoint_utils.load_model_ensemble(checkpoint, task=tasks.setup_task(cfg.task))
    assert type(stock).__module__.startswith("fairseq.")
    source, prefix = torch.tensor([[1, 5, 6, 2], [7, 8, 9, 2]]), torch.tensor([[2, 5], [2, 6]])
    with torch.no_grad():
        expected = stock.eval()(source, torch.tensor([3, 4]), prefix)[0]
        torch.testing.assert_close(model(source, None, prefix)[0], expected, atol=1e-5, rtol=1e-5)
    done = run(tmp_path, "dc-nmt", "analyze", "attention", tmp_path / "save", "--cpu").good()
    assert re.search(r"encoder\.2\.self +\d", done.output)
