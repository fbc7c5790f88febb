"""What every model must keep: padding, causality, incremental decoding, saving, gradients.

The cases are each kind's own options (variants.py), and combinations of {encoder self-attention} ×
{decoder self-attention} × {source features} × {none, auxiliary, auxiliary + AIF} × {base block}: as
few as have every pair of values, or with ``--all`` every one. A case shares its forward passes.
"""

import pytest
import torch
from helpers import build, few, pad, perturb, sample, sentences, task
from product import PAIRS, PRODUCT, SMALL, settings
from variants import MODULES, VARIANTS

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.laboratory.ground_rules import (
    check,
    check_causality,
    check_decoding,
    check_padding,
    logits_of,
)
from dc_nmt_plugin.modules.core.recording import recording
from dc_nmt_plugin.modules.core.self_attention import SelfAttention
from dc_nmt_plugin.modules.mechanisms import SELF_ATTENTIONS, SelfAttentionKind

LENGTHS = [7, 3, 5]
SOME = few(VARIANTS, *MODULES)
CASES = {
    **VARIANTS,
    **{" ".join(each): ("transformer_standard", {**SMALL, **settings(each)}) for each in PRODUCT},
}
CHOSEN = few(CASES, *VARIANTS, *(" ".join(each) for each in PAIRS))


def model(name, **more):
    arch, settings = CASES[name]
    return perturb(build(arch, **{**settings, **more}))


@pytest.mark.parametrize("name", CHOSEN)
@torch.inference_mode()
def test_ground_rules(name):
    saved = model(name)
    arch, settings = CASES[name]
    net = build(arch, seed=9, **settings)
    source, target = sentences(LENGTHS), sentences([4, 6, 2], seed=5)
    expected = logits_of(saved, source, target)
    # the file itself, which takes as long as all the rest, is the system tests'
    net.load_state_dict(saved.state_dict())
    outputs = logits_of(net, source, target)
    assert all(torch.equal(a, b) for a, b in zip(outputs, expected, strict=True))
    check_padding(net)
    check_causality(net)
    check_decoding(net)


@pytest.mark.parametrize("name", CHOSEN)
def test_every_parameter_gets_a_finite_gradient(name):
    """Distributed training waits for each; with checkpointed activations it is the same one."""
    inputs = sample(sentences(LENGTHS), sentences([4, 6, 2], seed=5))
    gradients = []
    for checkpointed, seed in ((False, 1), (True, 1), (False, 2)):
        net = model(name, checkpoint_activations=checkpointed, dropout=0.1).train()
        torch.manual_seed(seed)
        runs = []
        net.encoder.layers[0].register_forward_pre_hook(lambda *_, runs=runs: runs.append(1))
        JointLossCriterion(task(), False, 0.1)(net, inputs)[0].backward()
        assert len(runs) == 1 + checkpointed
        gradients.append({key: parameter.grad for key, parameter in net.named_parameters()})
        if name not in VARIANTS:
            break
    for key, gradient in gradients[0].items():
        assert gradient is not None, key
        assert torch.isfinite(gradient).all(), key
        assert gradient.abs().sum() > 0, key
    if name in VARIANTS:
        plain, again, otherwise = gradients
        assert any(not torch.allclose(plain[key], otherwise[key], atol=1e-4) for key in plain)
        assert all(torch.allclose(plain[key], again[key], atol=1e-6) for key in plain)


class OwnLogits(SelfAttention):
    """A kind that changes logits: a learned temperature, a distance bias and a mix of heads."""

    def __init__(self, *, num_heads, **options):
        super().__init__(num_heads=num_heads, **options)
        self.scale = torch.nn.Parameter(torch.tensor(0.7))
        self.mix = torch.nn.Parameter(torch.eye(num_heads) - 0.4)

    def logits(self, query, key, flow):
        there = torch.arange(key.size(-2), device=key.device)
        here = flow.first_position + torch.arange(query.size(-2), device=key.device)[:, None]
        logits = super().logits(query, key, flow) * self.scale - 0.3 * (here - there).abs()
        return torch.einsum("gh,bhts->bgts", self.mix.to(logits), logits)


def test_logits_of_a_new_kind_are_used_everywhere(monkeypatch):
    kind = SelfAttentionKind("own", OwnLogits)
    monkeypatch.setitem(SELF_ATTENTIONS, "own", kind)
    assert [(rule, problem) for rule, problem in check(kind) if problem] == []


class NewAttention(torch.nn.Module):
    """A kind of attention to the source that nothing of the package names."""

    def forward(self, x, flow):
        source = flow.source
        real = source.features[0].masked_fill(source.padding[:, :, None], 0)
        return x + real.sum(dim=1).repeat_interleave(source.beam, dim=0)[:, None, : x.size(-1)]


@torch.no_grad()
def test_a_new_attention_to_the_source_decodes():
    net = build("transformer_standard")
    for layer in net.decoder.stack.layers:
        layer.encoder_attn = NewAttention()
    source, prefix = pad(sentences(LENGTHS), left=True), torch.tensor([[2, 5], [2, 6], [2, 7]])
    full, _ = net(source, None, prefix)
    state, encoded = {}, net.encoder(source)
    net.decoder(prefix[:, :1], encoder_out=encoded, incremental_state=state)
    step, _ = net.decoder(prefix, encoder_out=encoded, incremental_state=state)
    assert torch.allclose(step[:, -1], full[:, -1], atol=1e-5)


@pytest.mark.parametrize("precision", ["autocast", "half"])
@pytest.mark.parametrize("name", SOME)
def test_half_precision_is_close(name, precision):
    """As --amp and --fp16 have it: no module may meet tensors of two types, or sum in half."""
    inputs = sample(sentences(LENGTHS), sentences([4, 6, 2], seed=5))
    criterion = JointLossCriterion(task(), False, 0.1)
    net = model(name, dropout=0.0).train()
    exact = float(criterion(net, inputs)[0].detach())
    net = net.half() if precision == "half" else net
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "autocast"):
        loss, _, _ = criterion(net, inputs)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(
        exact, rel=2e-2 if precision == "autocast" else 3e-3
    )
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())


@pytest.mark.parametrize("name", SOME)
@torch.no_grad()
def test_alignment_weights_on_request(name):
    net = model(name)
    inputs = sample(sentences(LENGTHS), sentences([4, 6, 2], seed=5))["net_input"]
    before, extra = net(**inputs)
    assert extra["attn"] == [None]
    outputs = [net(**inputs, **asked) for asked in ({"need_attn": True}, {"alignment_layer": -1})]
    lower, _ = net.decoder.layers[0], net.make_generation_fast_(need_attn=True)
    outputs.append(net(**inputs))
    for after, extra in outputs:
        (attn,) = extra["attn"]
        assert torch.allclose(before, after, atol=1e-5)
        assert attn.shape == (3, 6, 7)
        assert torch.allclose(attn.sum(-1), torch.ones(3, 6), atol=1e-5)
        assert (attn[1, :, :4] == 0).all()  # padding on the left of the second sentence
    with recording(lower.encoder_attn) as records:
        _, extra = net(**inputs, alignment_layer=0, alignment_heads=1)
    first = records[""]["weights"][..., :1, :, :].flatten(1, -3).mean(dim=1)
    assert torch.allclose(extra["attn"][0], first)


def test_dropout_outside_training_is_refused():
    with pytest.raises(ConfigError, match=r"--retain-dropout: .* no dropout outside training"):
        model("standard").make_generation_fast_(
            need_attn=False, retain_dropout=True, retain_dropout_modules=["TransformerDecoder"]
        )


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"source_features": "top", "source_layers": 2}, ["--source-layers: 2", "top"]),
        ({"source_features": "c-agg", "source_layers": 1}, ["--source-layers: c-agg of 1"]),
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
