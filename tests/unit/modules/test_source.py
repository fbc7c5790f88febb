"""One row a sentence: what beam search does to the encoder's output, and masks."""

import torch

from dc_nmt_plugin.modules.core.flow import Flow
from dc_nmt_plugin.modules.core.masks import SequenceMask
from dc_nmt_plugin.modules.core.source import Source


def make(sentences=3):
    features = torch.arange(sentences * 4 * 2, dtype=torch.float32).view(sentences, 4, 2)
    padding = torch.zeros(sentences, 4, dtype=torch.bool)
    padding[1, 0] = True
    return Source(features=[features], padding=padding, auxiliary_sources={1: features + 100})


def rows(source):
    """The representation that each hypothesis attends to."""
    return source.features[0].repeat_interleave(source.beam, dim=0)


def test_beam_searchs_own_orders_copy_nothing():
    source = make()
    repeated = source.reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    assert repeated.beam == 2 and repeated.features[0] is source.features[0]
    swapped = repeated.reorder(torch.tensor([1, 0, 2, 2, 5, 4]))
    assert swapped.beam == 2 and swapped.features[0] is source.features[0]
    assert swapped.cache is repeated.cache


def test_dropping_sentences_selects_rows_and_cache():
    source = make().reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    module = torch.nn.Linear(1, 1)
    source.cached(module, lambda s: (s.features[0] * 2,), keep=True)
    left = source.reorder(torch.tensor([1, 0, 4, 4]))
    assert left.beam == 2 and left.sentences == 2
    assert torch.equal(left.features[0], make().features[0][[0, 2]])
    assert torch.equal(left.padding, make().padding[[0, 2]])
    assert torch.equal(left.auxiliary_sources[1], make().auxiliary_sources[1][[0, 2]])
    (kept,) = left.cached(module, lambda s: (), keep=True)
    assert torch.equal(kept, left.features[0] * 2)


def test_without_a_look_at_the_order():
    """As :meth:`Source.reorder` does, which compares tensors to find out what the order is."""
    once = make()
    source = once.repeat(2)
    assert source.features[0] is once.features[0]
    left = source.select(torch.tensor([0, 2]))
    compared = source.reorder(torch.tensor([1, 0, 4, 4]))
    assert left.beam == compared.beam == 2
    assert torch.equal(rows(left), rows(compared))
    assert torch.equal(left.padding, compared.padding)


def test_any_other_order_is_followed():
    source = make().reorder(torch.tensor([0, 0, 1, 1, 2, 2]))
    for order in ([5, 0, 0, 3, 2], [2, 4, 0], [3, 1, 1, 5, 0, 2], [4]):
        order = torch.tensor(order)
        assert torch.equal(rows(source.reorder(order)), rows(source)[order])


def test_projections_are_kept_only_on_request():
    source, calls = make(), []
    module = torch.nn.Linear(1, 1)

    def project(s):
        calls.append(1)
        return (s.features[0],)

    for keep, expected in ((False, 1), (True, 2), (True, 2), (False, 3)):
        source.cached(module, project, keep=keep)
        assert len(calls) == expected


def test_masks():
    padding = torch.tensor([[True, False, False], [False, False, True]])
    assert SequenceMask.build(None).allowed is None
    assert Flow(SequenceMask.build(None, causal=True)).is_causal
    assert torch.equal(SequenceMask.build(padding).allowed[:, 0, 0], ~padding)
    causal = SequenceMask.build(padding, causal=True)
    assert not Flow(causal).is_causal
    expected = [
        [[1, 0, 0], [0, 1, 0], [0, 1, 1]],  # padding on the left sees itself alone
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    ]
    assert causal.allowed[:, 0].int().tolist() == expected
    x = torch.ones(2, 3, 1)
    assert causal.zero_padding(x)[..., 0].tolist() == [[0, 1, 1], [1, 1, 0]]
    assert SequenceMask.build(None).zero_padding(x) is x
