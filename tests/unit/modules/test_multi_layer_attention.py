"""Multi-layer multi-head attention against the thesis' equations, and beside its plain kin."""

import itertools

import pytest
import torch
from reference.multi_layer_attention import multi_layer_attention
from reference.parameters import assert_same_gradients, randomise

from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.recording import recording
from dc_nmt_plugin.modules.core.source import Source
from dc_nmt_plugin.modules.multi_layer_attention import MultiLayerAttention

WIDTH, SOURCE_WIDTH, HEADS, LAYERS, SOURCE_LENGTH = 12, 14, 3, 4, 5
K = WIDTH // HEADS
FORMS = {f"M-{u0}{u1}": (bool(u0), bool(u1)) for u0, u1 in itertools.product((0, 1), (0, 1))}
forms = pytest.mark.parametrize("form", FORMS)


def build(form, num_layers=LAYERS, **kwargs):
    u0, u1 = FORMS[form]
    module = MultiLayerAttention(
        embed_dim=WIDTH,
        source_dim=SOURCE_WIDTH,
        num_heads=HEADS,
        num_layers=num_layers,
        joint_weights=not u0,
        sum_contexts=u1,
        **kwargs,
    )
    return randomise(module)


def normal(*size):
    return torch.randn(*size, dtype=torch.float64, requires_grad=True)


def sentences(number=2, num_layers=LAYERS, length=SOURCE_LENGTH):
    torch.manual_seed(1)
    return [normal(number, length, SOURCE_WIDTH) for _ in range(num_layers)]


def thesis_parameters(module):
    """By source layer and head, multiplied from the right; biases zero where there are none."""

    def by_head(weight, bias):
        blocks = weight.view(HEADS, K, -1)
        biases = torch.zeros(HEADS, K).to(weight) if bias is None else bias.view(HEADS, K)
        return [(block.t(), b) for block, b in zip(blocks, biases, strict=True)]

    def half(linear, which):
        bias = None if linear.bias is None else linear.bias.chunk(2)[which]
        return by_head(linear.weight.chunk(2)[which], bias)

    q_biases = [None] * module.num_layers
    if module.q_proj.bias is not None:
        q_biases = module.q_proj.bias.chunk(module.num_layers)
    o_bias = module.out_proj.bias
    return {
        "q": list(map(by_head, module.q_proj.weight.chunk(module.num_layers), q_biases)),
        "k": [half(linear, 0) for linear in module.kv_projs],
        "v": [half(linear, 1) for linear in module.kv_projs],
        "o": (module.out_proj.weight.t(), 0.0 if o_bias is None else o_bias),
    }


def expected(module, form, x, features):
    """The reference, one query row and sentence at a time."""
    p, (u0, u1) = thesis_parameters(module), FORMS[form]
    beam = len(x) // len(features[0])
    rows = [
        multi_layer_attention(p, x[r], [f[r // beam] for f in features], HEADS, u0, u1)
        for r in range(len(x))
    ]
    return torch.stack([output for output, _, _ in rows]), rows


@forms
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("num_layers, beam", [(1, 1), (2, 2), (4, 1)])
def test_equals_the_equations(form, bias, num_layers, beam):
    module, features = build(form, num_layers, bias=bias), sentences(2, num_layers)
    x = normal(2 * beam, 3, WIDTH)
    source = Source(features, None, beam=beam)
    output, (wanted, _) = module(x, Flow(source=source)), expected(module, form, x, features)
    torch.testing.assert_close(output, wanted, rtol=0, atol=1e-10)
    assert_same_gradients(output, wanted, [x, *features, *module.parameters()])


@forms
def test_records_weights(form):
    module, features, x = build(form), sentences(), normal(4, 3, WIDTH)
    plain = module(x, Flow(source=Source(features, None, beam=2)))
    for session in (None, {}):
        with recording(module) as records:
            output = module(x, Flow(source=Source(features, None, beam=2), session=session))
        torch.testing.assert_close(output, plain, rtol=0, atol=1e-12)
        _, rows = expected(module, form, x, features)
        (record,) = records.values()
        for r, (_, weights, _) in enumerate(rows):
            wanted = torch.stack(
                [torch.stack([torch.stack(h) for h in layer]) for layer in weights]
            )
            if not FORMS[form][0]:
                wanted = wanted[0]
            torch.testing.assert_close(record["weights"][r], wanted, rtol=0, atol=1e-10)
