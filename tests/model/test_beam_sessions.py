"""Sessions of this plugin's beam search: the hypotheses of a sentence share their past.

The plain twin is the forward pass over the whole prefix of every hypothesis.
"""

import pytest
import torch
from helpers import pad, perturb, sentences
from product import VALUES, model

from dc_nmt_plugin.modules.core.recording import recording

BEAM, STEPS = 3, 16  # past the space that is allocated at first, twice


def search(net, source, drops=(4, 5, 11), record=False):
    """Steps with random orders inside the sentences, some of which end.

    Yields the prefixes, the numbers of their sentences, the logits of the step, and what it
    records.
    """
    generator = torch.Generator().manual_seed(7)
    state, encoded = {}, net.encoder(source)
    net.decoder.begin_beam_search(state)
    left = torch.arange(len(source))
    prefix = torch.full((len(left), 1), 2)
    for step in range(STEPS):
        with recording(net.decoder) as records:
            logits, _ = net.decoder(prefix, encoder_out=encoded, incremental_state=state)
        beam = BEAM if step else 1
        yield prefix, left.repeat_interleave(beam), logits[:, -1], records
        chosen = torch.randint(beam, (len(left), BEAM), generator=generator)
        rows = chosen + beam * torch.arange(len(left))[:, None]
        sentences_left = None
        if step in drops:
            sentences_left = torch.tensor([i for i in range(len(left)) if i != step % len(left)])
            rows, left = rows[sentences_left], left[sentences_left]
        rows = rows.flatten()
        words = torch.randint(4, 20, (len(rows), 1), generator=generator)
        prefix = torch.cat([prefix[rows], words], dim=1)
        net.decoder.reorder_hypotheses(state, rows, sentences_left)
        encoded = encoded if sentences_left is None else encoded.select(sentences_left)
        encoded = encoded.repeat(BEAM)


@pytest.mark.parametrize("combination", VALUES, ids=" ".join)
@torch.no_grad()
def test_every_step_is_that_of_the_whole_prefix(combination):
    net = perturb(model(combination))
    source = pad(sentences([5, 3, 4, 6]), left=True)
    for prefix, numbers, logits, records in search(net, source):
        with recording(net.decoder) as whole:
            full, _ = net(source[numbers], None, prefix)
        assert torch.allclose(logits, full[:, -1], atol=1e-5)
        assert records.keys() == whole.keys()
        for name, recorded in records.items():
            for kind, tensor in recorded.items():
                expected = whole[name][kind]
                if expected.dim() > 2 and expected.size(-2) == prefix.size(1):
                    expected = expected[..., -1:, :]
                assert tensor.shape == expected.shape, (name, kind, tensor.shape, expected.shape)
                assert torch.allclose(tensor, expected, atol=1e-5), (name, kind)


@torch.no_grad()
def test_space_is_for_what_hypotheses_still_see():
    """Hypotheses that all follow the first have their past in common."""
    net = perturb(model(("standard", "standard", "top", "none", "original")))
    state, encoded = {}, net.encoder(pad(sentences([5, 3]), left=True))
    net.decoder.begin_beam_search(state)
    prefix = torch.full((2, 1), 2)
    for _ in range(60):
        net.decoder(prefix, encoder_out=encoded, incremental_state=state)
        rows = torch.arange(0, len(prefix), len(prefix) // 2).repeat_interleave(BEAM)
        prefix = torch.cat([prefix[rows], torch.full((2 * BEAM, 1), 5)], dim=1)
        net.decoder.reorder_hypotheses(state, rows, None)
        encoded = encoded.repeat(BEAM)
    (space,) = {
        part.size(2) for slot in state.values() for part in slot.values() if part.dim() == 4
    }
    assert 60 <= space <= 2 * (60 + 3 * BEAM)
