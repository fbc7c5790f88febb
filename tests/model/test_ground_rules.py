"""What every variant must keep: padding, causality, incremental decoding, saving, gradients."""

import io
import itertools

import pytest
import torch
from helpers import build, few, pad, perturb, sample, sentences, shifted, task
from variants import MODULES, VARIANTS

from dc_nmt_plugin.criterions.joint_loss import JointLossCriterion
from dc_nmt_plugin.errors import ConfigError
from dc_nmt_plugin.models.transformer.build import SELF_ATTENTIONS
from dc_nmt_plugin.modules.core.recording import recording
from dc_nmt_plugin.modules.core.self_attention import SelfAttention

LENGTHS = [7, 3, 5]
SOME = few(VARIANTS, *MODULES)


def model(name, **more):
    arch, settings = VARIANTS[name]
    return perturb(build(arch, **{**settings, **more}))


def real_rows(features, rows, left):
    return [
        features[i, features.size(1) - len(row) :] if left else features[i, : len(row)]
        for i, row in enumerate(rows)
    ]


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_padding_never_leaks(name):
    net = model(name)
    source, target = sentences(LENGTHS), sentences([4, 6, 2], seed=5)
    alone = [
        net(source[row][None], None, prefix[None], features_only=True)[0][0]
        for row, prefix in enumerate(shifted(target))
    ]
    for left_source, left_target in itertools.product([False, True], repeat=2):
        together, _ = net(
            pad(source, left=left_source, extra=2),
            None,
            pad(shifted(target), left=left_target, extra=1),
            features_only=True,
        )
        for actual, expected in zip(real_rows(together, target, left_target), alone, strict=True):
            assert torch.allclose(actual, expected, atol=1e-5), (left_source, left_target)


@pytest.mark.parametrize("name", VARIANTS)
def test_encoder_states_and_loss_do_not_depend_on_the_batch(name):
    net = model(name)
    source, target = sentences(LENGTHS), sentences([4, 6, 2], seed=5)
    criterion = JointLossCriterion(task(), False, 0.1)
    together, _, _ = criterion(net, sample(source, target))
    apart = sum(criterion(net, sample([source[i]], [target[i]]))[0] for i in range(len(source)))
    assert together.item() == pytest.approx(apart.item(), rel=1e-5)
    states = net.encoder(pad(source, left=True)).features
    for i, row in enumerate(source):
        for level, alone in enumerate(net.encoder(row[None]).features):
            assert torch.allclose(states[level][i, -len(row) :], alone[0], atol=1e-5)


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_decoder_is_causal(name):
    net = model(name)
    source = pad(sentences(LENGTHS), left=True)
    prefix = pad(shifted(sentences([6, 6, 6], seed=5)), left=False)
    before, _ = net(source, None, prefix)
    for position in range(1, 6):
        changed = prefix.clone()
        changed[:, position] = 4 + (changed[:, position] - 3) % 15
        after, _ = net(source, None, changed)
        assert torch.allclose(before[:, :position], after[:, :position], atol=1e-6)
        assert not torch.allclose(before[:, position], after[:, position], atol=1e-4)


# (rows of the hypotheses so far, sentences that are left): repeated, exchanged, duplicated, dropped
ORDERS = [
    ([0, 0, 1, 1, 2, 2], None),
    ([1, 0, 2, 2, 5, 4], None),
    ([0, 1, 3, 2, 4, 4], None),
    ([0, 1, 4, 5], [0, 2]),
    *[([1, 1, 2, 3], None), ([1, 0, 3, 2], None)] * 3,
    ([2, 3], [1]),
    ([1, 1], None),
]


@pytest.mark.parametrize("search", ["fairseq's", "beam search of the plugin"])
@pytest.mark.parametrize("name", VARIANTS)
def test_incremental_decoding_is_the_full_forward(name, search):
    check_decoding(model(name), search)


@torch.no_grad()
def check_decoding(net, search):
    """Steps of beam search equal the full forward pass of every hypothesis."""
    source, state = pad(sentences(LENGTHS), left=True), {}
    encoded, sentence, prefix = net.encoder(source), torch.arange(3), torch.full((3, 1), 2)
    generator = torch.Generator().manual_seed(7)
    if search != "fairseq's":
        net.decoder.begin_beam_search(state)
    for order, left in [(None, None), *ORDERS]:
        if order is not None:
            order = torch.tensor(order)
            prefix, sentence = prefix[order], sentence[order]
            if search == "fairseq's":
                net.decoder.reorder_incremental_state_scripting(state, order)
                encoded = net.encoder.reorder_encoder_out(encoded, order)
            else:
                left = None if left is None else torch.tensor(left)
                net.decoder.reorder_hypotheses(state, order, left)
                encoded = encoded if left is None else encoded.select(left)
                encoded = encoded.repeat(2)
            new = torch.randint(4, 20, (len(order), 1), generator=generator)
            prefix = torch.cat([prefix, new], dim=1)
        step, _ = net.decoder(prefix, encoder_out=encoded, incremental_state=state)
        full, _ = net(source[sentence], None, prefix)
        assert torch.allclose(step[:, -1], full[:, -1], atol=1e-5)


class OwnLogits(SelfAttention):
    """A kind that changes logits: a learned temperature, a distance bias and a mix of heads."""

    def __init__(self, *, num_heads, **options):
        super().__init__(num_heads=num_heads, **options)
        self.scale = torch.nn.Parameter(torch.tensor(0.7))
        self.mix = torch.nn.Parameter(torch.eye(num_heads) - 0.4)

    def logits(self, query, key, flow):
        there = torch.arange(key.size(-2))
        here = flow.first + torch.arange(query.size(-2))[:, None]
        logits = super().logits(query, key, flow) * self.scale - 0.3 * (here - there).abs()
        return torch.einsum("gh,bhts->bgts", self.mix, logits)


@pytest.mark.parametrize("base", ["original", "modern"])
def test_logits_of_a_new_kind_are_used_everywhere(base, monkeypatch):
    monkeypatch.setitem(SELF_ATTENTIONS, "standard", OwnLogits)
    monkeypatch.setitem(VARIANTS, "own", ("transformer_standard", {"base": base}))
    for search in ("fairseq's", "beam search of the plugin"):
        check_decoding(model("own"), search)
    test_decoder_is_causal("own")
    test_padding_never_leaks("own")
    test_every_parameter_gets_a_finite_gradient("own")
    inputs = sample(sentences(LENGTHS), sentences([4, 6, 2], seed=5))["net_input"]
    net = model("own")
    with torch.no_grad(), recording(net):
        recorded, _ = net(**inputs)
    assert torch.allclose(recorded, net(**inputs)[0], atol=1e-6)


@pytest.mark.parametrize("name", ["attend", "with_past", "needs_logits", "position_scores"])
def test_what_a_kind_may_not_replace_is_refused(name, monkeypatch):
    own = type("Own", (SelfAttention,), {name: property()})
    monkeypatch.setitem(SELF_ATTENTIONS, "standard", own)
    with pytest.raises(ConfigError, match=rf"standard: Own replaces {name}\(\), .* logits\(\)"):
        build("transformer_standard")


class NewAttention(torch.nn.Module):
    """A kind of attention to the source that nothing of the package names."""

    def forward(self, x, flow):
        source = flow.source
        real = (
            source.features[0]
            if source.padding is None
            else source.features[0].masked_fill(source.padding[:, :, None], 0)
        )
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


@pytest.mark.parametrize("name", SOME)
@torch.no_grad()
def test_an_arbitrary_reorder_is_followed_too(name):
    net = model(name)
    source = pad(sentences(LENGTHS), left=True)
    encoded = net.encoder(source)
    prefix = pad(shifted(sentences([4, 4, 4], seed=5)), left=False)
    state = {}
    net.decoder(prefix[:, :1], encoder_out=encoded, incremental_state=state)
    order = torch.tensor([2, 0, 0, 1, 2])
    net.decoder.reorder_incremental_state_scripting(state, order)
    encoded = net.encoder.reorder_encoder_out(encoded, order)
    prefix = torch.cat([prefix[order, :1], torch.tensor([[5], [6], [7], [8], [9]])], dim=1)
    step, _ = net.decoder(prefix, encoder_out=encoded, incremental_state=state)
    full, _ = net(source[order], None, prefix)
    assert torch.allclose(step[:, -1], full[:, -1], atol=1e-5)


@pytest.mark.parametrize("name", SOME)
@torch.no_grad()
def test_save_load_evaluate(name):
    net = model(name)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    arch, settings = VARIANTS[name]
    fresh = build(arch, seed=9, **settings)
    fresh.load_state_dict(torch.load(file, weights_only=True))
    inputs = sample(sentences(LENGTHS), sentences([4, 6, 2], seed=5))["net_input"]
    assert torch.equal(net(**inputs)[0], fresh.eval()(**inputs)[0])


@pytest.mark.parametrize("name", VARIANTS)
def test_every_parameter_gets_a_finite_gradient(name):
    """The same one with checkpointed activations, which draw the same dropout again."""
    inputs = sample(sentences(LENGTHS), sentences([4, 6, 2], seed=5))
    gradients = []
    for checkpointed, seed in ((False, 1), (True, 1), (False, 2)):
        net = model(name, checkpoint_activations=checkpointed, dropout=0.1).train()
        torch.manual_seed(seed)
        JointLossCriterion(task(), False, 0.1)(net, inputs)[0].backward()
        gradients.append({key: parameter.grad for key, parameter in net.named_parameters()})
    plain, again, otherwise = gradients
    assert any(not torch.allclose(plain[key], otherwise[key], atol=1e-4) for key in plain)
    for key, gradient in plain.items():
        assert gradient is not None, key
        assert torch.isfinite(gradient).all(), key
        assert gradient.abs().sum() > 0, key
        assert torch.allclose(gradient, again[key], atol=1e-6), key


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
    found = [net(**inputs, **asked) for asked in ({"need_attn": True}, {"alignment_layer": -1})]
    lower, _ = net.decoder.layers[0], net.make_generation_fast_(need_attn=True)
    found.append(net(**inputs))
    for after, extra in found:
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
