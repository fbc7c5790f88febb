"""What a CUDA graph computes for all batches of one shape is what each batch needs."""

from argparse import Namespace
from contextlib import nullcontext
from unittest.mock import Mock

import pytest
import torch
from fairseq.nan_detector import NanDetector
from fairseq.optim import FairseqOptimizer
from helpers import build, few, perturb, sample, sentences, task
from variants import MODULES, VARIANTS

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.speed.graphs import PaddedBatch, StepGraphs, fixed_shapes
from dc_nmt_plugin.tasks.translation import JointTranslationTask, TranslationConfig

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
NO_DROPOUT = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), 0.0)


def in_fixed_shape(batch):
    net_input = batch["net_input"]
    tokens = net_input["src_tokens"], net_input["prev_output_tokens"], batch["target"]
    return PaddedBatch.build(*tokens, 1, left=True)


def as_sample(batch):
    """Returns a padded batch as fairseq's."""
    net_input = {
        "src_tokens": batch.source,
        "src_lengths": None,
        "prev_output_tokens": batch.previous,
    }
    return {"net_input": net_input, "target": batch.target, "ntokens": 0}


def padded(batch):
    return as_sample(in_fixed_shape(batch))


def loss_and_gradients(model, batch, keep=False):
    if not keep:
        model.zero_grad()
    loss, _, log = JointLossCriterion(task(), False, 0.1, report_accuracy=True)(model, batch)
    loss.backward()
    return log, {name: each.grad for name, each in model.named_parameters()}


@pytest.mark.parametrize("name", few(VARIANTS, *MODULES))
def test_loss_and_gradients_of_a_padded_batch_are_the_same(name):
    arch, settings = VARIANTS[name]
    model = perturb(build(arch, **{**settings, **NO_DROPOUT})).double().train()
    batch = sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5))
    expected, gradients = loss_and_gradients(model, batch)
    with fixed_shapes():
        actual, others = loss_and_gradients(model, padded(batch))
    numbers = {key for key, value in actual.items() if torch.is_tensor(value)}
    assert {"loss", "nll_loss", "n_correct"} <= numbers
    for key in numbers:
        torch.testing.assert_close(actual[key], expected[key], msg=key)
    for key, gradient in gradients.items():
        torch.testing.assert_close(others[key], gradient, rtol=1e-7, atol=1e-10, msg=key)


@pytest.mark.parametrize("name", few(VARIANTS, *MODULES))
def test_no_operation_waits_for_the_numbers_of_a_batch(name, monkeypatch):
    """A graph cannot record it; on the meta device there are no numbers."""
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())  # knows no such device
    arch, settings = VARIANTS[name]
    batch = padded(sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5)))
    batch["net_input"] = {
        key: value if value is None else value.to("meta")
        for key, value in batch["net_input"].items()
    }
    batch["target"] = batch["target"].to("meta")
    with fixed_shapes():
        loss_and_gradients(build(arch, **settings).train().to("meta"), batch)


def test_shapes_are_multiples_of_eight():
    batch = sample(sentences([9, 3, 5]), sentences([8, 6, 2], seed=5))
    tokens = batch["net_input"]["src_tokens"], batch["net_input"]["prev_output_tokens"]
    source, previous, target = PaddedBatch.build(*tokens, batch["target"], 1, left=True)
    assert source.shape == (8, 16) and previous.shape == target.shape == (8, 8)
    assert (source[:3, :7] == 1).all() and (source[3:] == source[0]).all()
    assert (target[3:] == 1).all() and (previous[3:] == previous[0]).all()
    assert torch.equal(target[:3], batch["target"])


def test_graphs_and_longer_batches_read_the_same_positions():
    model = build("transformer_standard", max_source_positions=13, max_target_positions=13)
    sides = model.encoder.embedding.positions, model.decoder.embedding.positions
    tables = [side.weights for side in sides]
    loss_and_gradients(model, padded(sample(sentences([13]), sentences([13]))))
    assert all(side.weights is table for side, table in zip(sides, tables, strict=True))


def test_without_memory_for_a_graph_a_batch_runs_as_usual(monkeypatch):
    class Graph:
        capturing = False

        def capture_begin(self, **options):
            Graph.capturing = True

        def capture_end(self):
            Graph.capturing = False
            raise RuntimeError("capture was invalidated")

    stream = Mock()
    for name, twin in {
        "CUDAGraph": Graph,
        "Stream": lambda: stream,
        "current_stream": lambda: stream,
        "stream": nullcontext,
        "mem_get_info": lambda: (1, 1),
    }.items():
        monkeypatch.setattr(torch.cuda, name, twin)
    always, sometimes = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))

    def step(batch):
        if Graph.capturing:
            recordings.append(batch)
            raise torch.OutOfMemoryError
        used = always if batch.source[0, 0] == 0 else always * sometimes
        used.sum().backward()
        return used.sum().detach()[None]

    recordings = []
    graphs = StepGraphs(step, [always, sometimes])
    for number in range(8):
        graphs(PaddedBatch(*[torch.full((8, 8), number % 2)] * 3))
        assert always.grad.tolist() == [number + 1] * 2
        assert number == 0 or sometimes.grad.tolist() == [(number + 1) // 2] * 2
    assert len(recordings) == 2  # the third batch of the shape, and the third after it


@pytest.mark.parametrize("dummy", [True, False])
def test_nan_is_looked_for_without_a_graph(dummy, caplog):
    """fairseq's trainer looks for its origin with hooks, which run in no graph."""
    model = build("transformer_standard")
    training = object.__new__(JointTranslationTask)
    training.cfg = TranslationConfig(cuda_graphs=True)
    criterion, batch = JointLossCriterion(task(), False, 0.1), sample(*[sentences([3, 5])] * 2)
    arguments = batch, model, criterion, FairseqOptimizer(None), 0
    if dummy:
        assert training.train_step(*arguments, ignore_grad=True)[0] == 0
        return
    torch.nn.init.constant_(model.encoder.layers[1].fc1.bias, torch.nan)
    with caplog.at_level("WARNING"), NanDetector(model):
        training.train_step(*arguments)
    assert "NaN detected in output of encoder.stack.layers.1.fc1" in caplog.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cuda": False}, "needs one GPU"),
        ({"distributed_world_size": 2}, "needs one GPU"),
        ({"arch": "gru_selfattn_residual"}, "is for this plugin's Transformers"),
        ({"encoder_layerdrop": 0.1}, "does not go with --encoder-layerdrop"),
        (
            {"encoder_layers_of": "standard*2 cross_aggregation(checkpoint=true)"},
            "does not go with --xagg-checkpoint, or checkpoint=true in --encoder-layers-of",
        ),
        ({"fp16": True}, "does not go with --fp16"),
        ({"quantization_config_path": "a"}, "does not go with --quantization-config-path"),
        ({"left_pad_target": True}, "does not go with --left-pad-target"),
        (
            {"_name": "label_smoothed_cross_entropy_with_alignment"},
            "does not go with --criterion label_smoothed_cross_entropy_with_alignment",
        ),
        (
            {"_name": "label_smoothed_cross_entropy", "report_accuracy": True},
            "does not go with --report-accuracy of label_smoothed_cross_entropy",
        ),
        ({"_name": "cross_entropy"}, None),
        ({"report_accuracy": True}, None),
    ],
)
def test_what_a_graph_cannot_do_is_refused(changes, words):
    usual = {"cuda": True, "distributed_world_size": 1, "arch": "transformer_standard"}
    off = dict.fromkeys(("fp16", "amp", "left_pad_target", "quantization_config_path"))
    values = {**usual, **off, **changes}
    flags = Namespace(**{"_name": "transformer_dc", "cuda_graphs": True, **values})
    parts = ("task", "model", "criterion", "distributed_training")
    trainer = Namespace(
        cfg=Namespace(common=values, **dict.fromkeys(parts, flags)),
        cuda=values["cuda"],
        get_model=lambda: build(values["arch"], encoder_layers_of=values.get("encoder_layers_of")),
    )
    training = object.__new__(JointTranslationTask)
    training.cfg = TranslationConfig(cuda_graphs=True)
    with pytest.raises(ConfigError) if words else nullcontext() as error:
        training.check_training(trainer)
    assert not words or str(error.value) == f"--cuda-graphs: {words}; leave the flag out."


def graphs_of(model):
    """Steps of a model on the GPU, which log its loss."""

    def step(batch):
        log, _ = loss_and_gradients(model, as_sample(batch), keep=True)
        return log["loss"][None]

    return StepGraphs(step, list(model.parameters()))


def batch_on_gpu(number, short=False):
    lengths = ([4, 3, 5], [4, 6, 2]) if short else ([17, 3, 5], [14, 6, 2])
    rows = [sentences(each, seed=3 + number) for each in lengths]
    return PaddedBatch(*(tokens.cuda() for tokens in in_fixed_shape(sample(*rows))))


@GPU
@pytest.mark.parametrize("name", few(VARIANTS, *MODULES))
def test_replayed_steps_are_those_of_the_model(name):
    arch, settings = VARIANTS[name]
    if settings.get("xagg_checkpoint"):
        pytest.skip("--cuda-graphs refuses --xagg-checkpoint")
    model = perturb(build(arch, **{**settings, **NO_DROPOUT})).cuda().train()
    graphs = graphs_of(model)
    for number in range(10):
        batch = batch_on_gpu(number, short=number % 2)
        with fixed_shapes():
            expected, gradients = loss_and_gradients(model, as_sample(batch))
        gradients = {key: value.clone() for key, value in gradients.items() if value is not None}
        model.zero_grad()
        times = 1 + number % 3  # gradients of several batches add up
        for _ in range(times):
            (loss,) = graphs(batch)
        torch.testing.assert_close(loss, expected["loss"], rtol=1e-4, atol=1e-4)
        for key, gradient in gradients.items():
            actual = dict(model.named_parameters())[key].grad
            torch.testing.assert_close(actual, times * gradient, rtol=1e-3, atol=1e-4, msg=key)
        with torch.no_grad():  # as an optimizer's step
            for parameter in model.parameters():
                parameter.mul_(0.99)
    assert len(graphs._recorded) == 2


@GPU
def test_dropout_of_a_graph_is_new_each_time_and_follows_the_seed():
    model = build("transformer_standard", dropout=0.5).cuda().train()
    graphs = graphs_of(model)
    batch = batch_on_gpu(1)
    losses = []
    for seed in [1, 2, 3, 4, 5, 6, 5, None, None, 5]:
        if seed is not None:
            torch.manual_seed(seed)
        losses.append(graphs(batch).item())
    assert losses[4] == losses[6] == losses[9]
    assert len(set(losses)) == len(losses) - 2
