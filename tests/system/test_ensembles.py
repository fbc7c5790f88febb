"""Ensembles of different architectures on the command line: mean probabilities, beams in order."""

from __future__ import annotations

import pytest
import torch
from commands import run
from fairseq import checkpoint_utils
from fairseq.tasks.translation import TranslationTask
from helpers import few
from systems import SPLITS, generation, task, train

BEAM = 3
# name → (architecture, flags)
MODELS = {
    "plain": ("transformer_standard", []),
    "DC": ("transformer_dc_full", []),
    "aux+AIF": ("transformer_ms_aux_aif", []),
    "m-10": ("transformer_mlmha", ["--source-features", "m-10"]),
    "m-01": ("transformer_mlmha", ["--source-features", "m-01"]),
    "iter-c-agg": ("transformer_mlmha", ["--source-features", "iter-c-agg"]),
}
ENSEMBLES = [
    ["m-10", "iter-c-agg"],
    ["aux+AIF", "plain"],
    ["DC", "m-10"],
    ["plain", "m-01", "iter-c-agg"],
]
FAMILY = {"transformer_dc_full": "transformer_dc"}


@pytest.fixture(scope="module")
def checkpoints(corpus, tmp_path_factory):
    """Name → checkpoint with random parameters, so that hypotheses differ without training."""
    folder = tmp_path_factory.mktemp("ensembles")

    def of(name):
        path = folder / name / "checkpoint_last.pt"
        if not path.exists():
            arch, flags = MODELS[name]
            flags = [*flags, "--max-update", 1, "--disable-validation", "--no-epoch-checkpoints"]
            known = FAMILY.get(arch, arch)
            train(corpus, path.parent, known, *flags, "--arch", arch).good()
            state = torch.load(path, weights_only=True)
            generator = torch.Generator().manual_seed(len(name))
            for value in state["model"].values():
                if value.is_floating_point() and value.dim() > 1:
                    value.add_(0.8 * torch.randn(value.shape, generator=generator))
            torch.save(state, path)
        return path

    return of


@pytest.mark.parametrize("names", few(ENSEMBLES, ENSEMBLES[1]), ids=":".join)
def test_scores_are_mean_probabilities(names, corpus, checkpoints, tmp_path):
    """Of every hypothesis of every beam, in one full forward pass of each model."""
    paths = [str(checkpoints(name)) for name in names]
    flags = ["--beam", BEAM, "--nbest", BEAM]
    flags = generation(corpus, ":".join(paths), "transformer_standard", *flags)
    noted = tmp_path / "noted"
    noted.mkdir()
    run(tmp_path, "generate", *flags, before=lambda: note_hypotheses(noted)).good()
    found = [row for path in noted.iterdir() for row in torch.load(path)]
    assert len(found) == BEAM * SPLITS["test"]
    assert len({tuple(tokens.tolist()) for _, tokens, _ in found}) > 10 * BEAM

    made = task("translation_dc_nmt", corpus)
    models, _ = checkpoint_utils.load_model_ensemble(paths, task=made)
    source, prefix, target = batch(made, found)
    with torch.no_grad():
        each = [torch.softmax(model.eval()(source, None, prefix)[0], dim=-1) for model in models]
    each = [one.gather(2, target[:, :, None])[:, :, 0] for one in each]
    mean = torch.stack(each).mean(dim=0).log()
    for (_, _, scores), row in zip(found, mean, strict=True):
        assert torch.allclose(scores, row[: len(scores)], atol=1e-4)
    real = target.ne(made.target_dictionary.pad())
    assert all((one.log() - mean)[real].abs().max() > 0.1 for one in each)


def note_hypotheses(folder):
    """Keep every batch's hypotheses: what is printed lacks special symbols such as ``<s>``."""
    stock = TranslationTask.inference_step

    def inference_step(self, generator, models, sample, *args, **kwargs):
        found = stock(self, generator, models, sample, *args, **kwargs)
        rows = [
            (number, row["tokens"].clone(), row["positional_scores"].clone())
            for number, beam in zip(sample["id"].tolist(), found, strict=True)
            for row in beam
        ]
        torch.save(rows, folder / str(rows[0][0]))
        return found

    TranslationTask.inference_step = inference_step


def batch(made, found):
    """Source, decoder input and target, one row a hypothesis, all padded on the right."""
    made.load_dataset("test")
    data = made.dataset("test")
    rows = [
        (data[number]["source"], torch.cat([tokens[-1:], tokens[:-1]]), tokens)
        for number, tokens, _ in found
    ]
    pad = made.target_dictionary.pad()
    return [
        torch.nn.utils.rnn.pad_sequence(column, batch_first=True, padding_value=pad)
        for column in zip(*rows, strict=True)
    ]
