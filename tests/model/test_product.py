"""All axes together: every combination keeps every ground rule; what cannot be combined says so.

{encoder self-attention} × {decoder self-attention} × {source features} × {none, auxiliary,
auxiliary + AIF} × {base block}: all 972 models with ``--all``, otherwise as few as have every pair
of values. The rules are those of test_ground_rules.py, which tests each kind's own options; here
one test a combination shares its forward passes between the rules.
"""

import pytest
import torch
from helpers import build, pad, perturb, sample, sentences, shifted, task
from product import PAIRS, PRODUCT, SMALL, model

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.errors import ConfigError


def pytest_generate_tests(metafunc):
    if "combination" in metafunc.fixturenames:
        combinations = PRODUCT if metafunc.config.getoption("--all") else PAIRS
        metafunc.parametrize("combination", combinations, ids=" ".join)


def test_ground_rules(combination):
    saved = perturb(model(combination, dropout=0.1))
    net = model(combination, seed=9, dropout=0.1)
    source, target = sentences([5, 3]), sentences([4, 2], seed=5)
    with torch.inference_mode():
        full = net_output(saved, source, target)
        check_saving(saved, net, source, target, full)
        check_padding(net, source, target, full)
        check_causality(net, source, target, full)
        check_incremental_decoding(net, source)
    check_gradients(net)


def net_output(net, source, target, left_source=True, left_target=False):
    """Logits, one tensor (T, V) a sentence, without padding."""
    prefix = pad(shifted(target), left=left_target)
    logits, _ = net(pad(source, left=left_source), None, prefix)
    width = prefix.size(1)
    return [
        logits[i, width - len(row) :] if left_target else logits[i, : len(row)]
        for i, row in enumerate(target)
    ]


def check_saving(saved, net, source, target, expected):
    # the file itself, which takes as long as all the rest, is test_ground_rules.py's
    net.load_state_dict(saved.state_dict())
    actual = net_output(net, source, target)
    assert all(torch.equal(a, b) for a, b in zip(actual, expected, strict=True))


def check_padding(net, source, target, expected):
    other_side = net_output(net, source, target, left_source=False, left_target=True)
    alone = net_output(net, source[1:], target[1:])
    for actual, row in zip([*other_side, *alone], [*expected, expected[1]], strict=True):
        assert torch.allclose(actual, row, atol=1e-5)


def check_causality(net, source, target, expected):
    changed = [row.clone() for row in target]
    changed[0][1] = 4 + (changed[0][1] - 3) % 15  # becomes the input of position 2
    before, after = expected[0], net_output(net, source, changed)[0]
    assert torch.allclose(before[:2], after[:2], atol=1e-6)
    assert not torch.allclose(before[2], after[2], atol=1e-4)


def check_incremental_decoding(net, source):
    """Two beams a sentence, exchanged, duplicated and, with a finished sentence, dropped."""
    sentence = torch.arange(2).repeat_interleave(2)
    encoded = net.encoder.reorder_encoder_out(net.encoder(pad(source, left=True)), sentence)
    prefix, state, steps = torch.full((4, 1), 2), {}, []
    for order in (None, [1, 0, 3, 3], [2, 3]):
        if order is not None:
            order = torch.tensor(order)
            prefix, sentence = prefix[order], sentence[order]
            steps = [step[order] for step in steps]
            net.decoder.reorder_incremental_state_scripting(state, order)
            encoded = net.encoder.reorder_encoder_out(encoded, order)
            new = 5 + len(steps) + torch.arange(len(order))[:, None]
            prefix = torch.cat([prefix, new], dim=1)
        step, _ = net.decoder(prefix, encoder_out=encoded, incremental_state=state)
        steps.append(step[:, -1])
    full, _ = net(pad(source, left=True)[sentence], None, prefix)
    assert torch.allclose(torch.stack(steps, dim=1), full, atol=1e-5)


def check_gradients(net):
    """Every parameter takes part in every update: distributed training waits for all of them."""
    net.train()
    batch = sample(sentences([5, 3, 4]), sentences([4, 2, 5], seed=5))
    loss, _, _ = JointLossCriterion(task(), False, 0.1)(net, batch)
    loss.backward()
    for key, parameter in net.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key
        assert parameter.grad.abs().sum() > 0, key


@pytest.mark.parametrize(
    "settings, words",
    [
        (
            {"decoder_self_attention": "cross_aggregation"},
            ["--decoder-self-attention: cross_aggregation", "later ones"],
        ),
        ({"source_features": "top", "source_layers": 2}, ["--source-layers: 2", "top"]),
        ({"source_features": "c-agg", "source_layers": 1}, ["--source-layers: c-agg of 1"]),
        ({"source_features": "m-00", "source_layers": 3}, ["--source-layers: 3", "1-2"]),
        ({"aux_fusion": True}, ["--aux-fusion", "--aux-layers"]),
        ({"aux_layers": "2"}, ["--aux-layers: '2'", "valid: 1-1"]),
        (
            {
                "encoder_self_attention": "context_aware",
                "encoder_self_attention_layers": "1",
                "ctx_context": "deep",
            },
            ["--ctx-context: 'deep'", "layer 1 has none below it"],
        ),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_what_cannot_be_combined_is_refused_by_name(settings, words):
    others = {"encoder_self_attention": "dual_context", "source_features": "m-10"}
    with pytest.raises(ConfigError) as error:
        build("transformer_standard", **{**SMALL, **others, **settings})
    assert len(error.value.problems) == 1
    assert all(word in str(error.value) for word in words)
