"""Wrong sizes and masks of a module that is used alone: each is one sentence."""

import pytest
import torch

import dc_nmt_plugin as dc

X = torch.ones(2, 5, 12)
WHOLE = {"embed_dim": 12, "num_heads": 3}
WIDTHS = {**WHOLE, "source_dim": 12}
SEVERAL = {**WIDTHS, "num_layers": 2, "joint_weights": True, "sum_contexts": True}
KINDS = {
    dc.SelfAttention: WHOLE,
    dc.DualContextAttention: WHOLE,
    dc.ContextAwareSelfAttention: {**WHOLE, "layer": 1},
    dc.CrossAggregationSelfAttention: WHOLE,
    dc.SourceAttention: WIDTHS,
    dc.MultiLayerAttention: SEVERAL,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("sizes", [{"num_heads": 5}, {"num_heads": 0}, {"embed_dim": 0}])
def test_sizes_are_refused_when_a_module_is_made(kind, sizes):
    with pytest.raises(ValueError, match=r"^num_heads: \d heads do not divide embed_dim \d+; .*$"):
        kind(**{**KINDS[kind], **sizes})


@pytest.mark.parametrize("kind", list(KINDS)[:4], ids=lambda kind: kind.__name__)
def test_a_mask_in_another_form_is_one_sentence(kind):
    attention = kind(**KINDS[kind])
    masks = {
        "float": torch.zeros(2, 5),
        "of the logits": torch.zeros(2, 3, 5, 5, dtype=torch.bool),
        "of other sizes": torch.zeros(5, 2, dtype=torch.bool),
        "a mask without a flow": dc.SequenceMask(),
        "a number": 5,
    }
    for name, mask in masks.items():
        with pytest.raises(TypeError, match=r"^flow must be a Flow, such as Flow\(.*bool, True"):
            attention(X, mask)
            pytest.fail(name)


@pytest.mark.parametrize("kind", list(KINDS)[4:], ids=lambda kind: kind.__name__)
def test_an_attention_to_the_source_needs_one(kind):
    attention = kind(**KINDS[kind])
    for flow in (None, torch.zeros(2, 5, dtype=torch.bool), 5):
        with pytest.raises(TypeError, match=r"^flow must be a Flow with a source: Flow\(source="):
            attention(X, flow)
    with pytest.raises(ValueError, match="there is none"):
        attention(X, dc.Flow())


@pytest.mark.parametrize("kind", list(KINDS)[:4], ids=lambda kind: kind.__name__)
def test_plain_padding_is_that_of_a_flow(kind):
    torch.manual_seed(1)
    attention, x = kind(**KINDS[kind]).eval(), torch.randn(2, 5, 12)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    flow = dc.Flow(dc.SequenceMask.build(padding))
    flow.inputs.append(x)
    torch.testing.assert_close(attention(x, padding), attention(x, flow), rtol=0, atol=0)
    torch.testing.assert_close(attention(x, padding)[1, :3], attention(x[1:, :3])[0])
