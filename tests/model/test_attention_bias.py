"""``--no-attention-bias``: attentions without biases are those whose biases are zero."""

import argparse
import re

import pytest
import torch
from helpers import build, few, perturb, sample, sentences
from variants import MODULES, VARIANTS

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.models.transformer.stock import to_stock

# projections of queries, keys, values and outputs; those of papers that print a bias are others
PROJECTION = re.compile(r"attn\.((in|q|kv|local|out)_proj|kv_projs\.\d+)\.bias$")


def batch():
    return sample(sentences([7, 3, 5]), sentences([4, 6, 2], seed=5))["net_input"]


def biases(net):
    return {name for name, _ in net.named_parameters() if PROJECTION.search(name)}


@pytest.mark.parametrize("name", few(VARIANTS, *MODULES))
@torch.no_grad()
def test_the_function_is_that_of_biases_of_zero(name):
    arch, settings = VARIANTS[name]
    full = perturb(build(arch, **settings)).double()
    bare = build(arch, no_attention_bias=True, **settings).double()
    left = biases(bare)  # W_z of dual context has the b_z of its equation
    assert all("self_attn.out_proj" in each for each in left)
    assert not left or "dual_context" in str(settings) or "_dc" in arch
    removed = biases(full) - left
    assert removed
    for key, value in full.named_parameters():
        if key in removed:
            value.zero_()
    state = {key: value for key, value in full.state_dict().items() if key not in removed}
    bare.load_state_dict(state)
    torch.testing.assert_close(bare(**batch())[0], full(**batch())[0], atol=1e-12, rtol=1e-10)


@torch.no_grad()
def test_a_masked_layer_leaves_nothing():
    """Thesis, Table 3.5: with biases, the keys and values of zeros are a constant."""
    kinds = {
        no_bias: perturb(build("transformer_mlmha", no_attention_bias=no_bias)).double()
        for no_bias in (False, True)
    }
    differs = {}
    for no_bias, net in kinds.items():
        net.encoder.masked_layers = frozenset({2})
        before = net(**batch())[0]
        for layer in net.decoder.stack.layers:
            layer.encoder_attn.kv_projs[1].weight.add_(1)
            if layer.encoder_attn.kv_projs[1].bias is not None:
                layer.encoder_attn.kv_projs[1].bias.add_(1)
        differs[no_bias] = not torch.equal(net(**batch())[0], before)
    assert differs == {False: True, True: False}


def test_fairseq_has_no_such_transformer():
    settings = {"encoder_self_attention": "standard", "no_attention_bias": True}
    state = {"cfg": {"model": argparse.Namespace(**settings)}, "model": {}}
    with pytest.raises(UserError, match=r"needs a standard Transformer, .* has --no-"):
        to_stock(state, "x.pt")
