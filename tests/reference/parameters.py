"""Weights, inputs and gradients of equation tests.

Nothing is zero or one, so that no term can go missing unseen.
"""

import torch


def randomise(module, seed=3):
    """`module` in float64 and eval mode, every parameter (biases too) drawn at random."""
    torch.manual_seed(seed)
    module = module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module


def projections(module):
    """Of a self-attention, under the papers' names, each multiplied from the right."""
    parts = zip("QKV", module.in_proj.weight.chunk(3), module.in_proj.bias.chunk(3), strict=True)
    weights = {"W_O": module.out_proj.weight.t(), "b_O": module.out_proj.bias}
    for name, w, b in parts:
        weights[f"W_{name}"], weights[f"b_{name}"] = w.t(), b
    return weights


def batch(layers, side, lengths=(5, 2, 4), width=12):
    """Layer inputs (B, T, C), padded on `side` with garbage, and the padding (B, T)."""
    torch.manual_seed(4)
    shape = len(lengths), max(lengths), width
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(layers)]
    position, lengths = torch.arange(max(lengths)), torch.tensor(lengths)[:, None]
    real = position < lengths if side == "right" else position >= max(lengths) - lengths
    return inputs, ~real


def assert_same_gradients(output, wanted, inputs):
    """Along a random direction; each input has a gradient."""
    direction = torch.randn_like(output)
    pairs = [torch.autograd.grad((y * direction).sum(), inputs) for y in (output, wanted)]
    for gradient, reference in zip(*pairs, strict=True):
        assert gradient.isfinite().all()
        torch.testing.assert_close(gradient, reference, rtol=0, atol=1e-10)
