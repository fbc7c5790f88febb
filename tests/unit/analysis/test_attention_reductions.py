"""What analyses compute of attention weights, against loops; float64."""

import pytest
import torch
from reference import attention_spans as spans_reference
from reference import dependency as dependency_reference
from reference import previous_words as positions_reference

from dc_nmt_plugin.study.analysis.attention import span_sums
from dc_nmt_plugin.study.analysis.dependency import head_dependency, output_dependency
from dc_nmt_plugin.study.analysis.previous_words import position_counts
from dc_nmt_plugin.study.analysis.routing import zero_weights

LENGTHS = [5, 1, 3]
HEADS = 3


def attention(*shape, allowed=None, seed=1):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(*shape, generator=generator, dtype=torch.float64)
    if allowed is not None:
        logits = logits.masked_fill(~allowed, -torch.inf)
    return torch.softmax(logits, dim=-1).nan_to_num(0.0)


def padding_of(left, extra=2):
    width = max(LENGTHS) + extra
    padding = torch.ones(len(LENGTHS), width, dtype=torch.bool)
    for row, length in enumerate(LENGTHS):
        padding[row, width - length if left else 0 : width if left else length] = False
    return padding


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("keys", ["lower", "all"])
def test_distance_and_entropy(keys, left):
    padding = padding_of(left)
    size = padding.size(1)
    weights = attention(
        len(LENGTHS), HEADS, size, size, allowed=~padding[:, None, None, :]
    )  # rows of padding too have weights
    (distance, mass, entropy), rows = span_sums(weights, padding, keys)
    assert rows == sum(LENGTHS)
    sentences = []
    for own, padded in zip(weights, padding, strict=True):
        real = ~padded
        sentences.append(own[:, real][:, :, real])
    for head in range(HEADS):
        expected = spans_reference.mean_distance(sentences, head, keys)
        assert float(distance[head] / mass[head]) == pytest.approx(expected, abs=1e-12)
        expected = spans_reference.mean_entropy(sentences, head, keys)
        assert float(entropy[head] / rows) == pytest.approx(expected, abs=1e-12)


def test_dependency():
    padding = padding_of(left=False)
    size = padding.size(1)
    main, own = (
        torch.randn(len(LENGTHS), size, 7, generator=torch.Generator().manual_seed(s)).double()
        for s in (1, 2)
    )
    by_token = output_dependency(main, own).masked_fill(padding, 0.0)
    keys = torch.tensor([4, 2, 3])[:, None] > torch.arange(4)
    weights, other = (
        attention(len(LENGTHS), HEADS, size, 4, allowed=keys[:, None, None], seed=s) for s in (1, 2)
    )
    heads = head_dependency(weights, other, padding)
    for row, length in enumerate(LENGTHS):
        expected = dependency_reference.output_dependency(main[row, :length], own[row, :length])
        assert float(by_token[row].sum() / length) == pytest.approx(expected, abs=1e-10)
        expected = dependency_reference.layer_dependency(
            weights[row, :, :length], other[row, :, :length]
        )
        assert float(heads[row].mean()) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("has_begin", [True, False])
def test_relative_positions(has_begin):
    """Attention to words counts the begin token; attention to states has none."""
    size = max(LENGTHS) + 1
    allowed = torch.ones(size, size, dtype=torch.bool).tril()
    if not has_begin:
        allowed[:, 0] = False
    weights = attention(len(LENGTHS), size, size, allowed=allowed)
    weights[0, 4, 1:] = torch.tensor([0.25, 0.25, 0.25, 0.25, 0])  # ties: the first
    weights[0, 4, 0] = 0
    counts = position_counts(weights, torch.tensor(LENGTHS))
    sentences = [own[:n, :n].tolist() for own, n in zip(weights, LENGTHS, strict=True)]
    _, expected, _ = positions_reference.relative_positions(sentences, has_begin)
    longest = max(LENGTHS)
    assert counts[:longest].tolist() == pytest.approx(expected, abs=1e-12)
    assert not counts[longest:].any()


def test_zero_weights_count_what_routing_weighs():
    padding = padding_of(left=True)
    size = padding.size(1)
    generator = torch.Generator().manual_seed(1)
    vertical = torch.rand(3, HEADS, size, generator=generator)
    horizontal = torch.rand(3, HEADS, size, size, generator=generator)
    zero, all_ = zero_weights(vertical, padding, 0.3)
    places = [(b, t) for b in range(3) for t in range(size) if not padding[b, t]]
    expected = [float(vertical[b, h, t]) for b, t in places for h in range(HEADS)]
    assert (zero, all_) == (sum(value < 0.3 for value in expected), len(expected))
    zero, all_ = zero_weights(horizontal, padding, 0.3)
    expected = [
        float(horizontal[b, h, i, t])
        for b, i in places
        for h in range(HEADS)
        for t in range(i + 1)
        if not padding[b, t]
    ]
    assert (zero, all_) == (sum(value < 0.3 for value in expected), len(expected))
