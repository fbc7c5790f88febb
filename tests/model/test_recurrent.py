"""The recurrent models: padding, causality, decoding, saving, gradients, mixed precision."""

import pytest
import torch
from helpers import pad, sentences, shifted
from recurrent import MODELS, SOURCE, TARGET, build, prefixes, run


@pytest.mark.parametrize("left_target", [False, True])
@pytest.mark.parametrize("left_source", [False, True])
@pytest.mark.parametrize(("kind", "readout"), MODELS)
def test_padding_never_leaks(kind, readout, left_source, left_target):
    net = build(kind, readout)
    source, target = sentences(SOURCE), shifted(sentences(TARGET, seed=5))
    together, _ = run(
        net, pad(source, left=left_source, extra=2), pad(target, left=left_target, extra=1)
    )
    for row, words in enumerate(target):
        alone, _ = run(net, source[row][None], words[None])
        part = slice(-len(words), None) if left_target else slice(len(words))
        torch.testing.assert_close(together[row, part], alone[0], atol=1e-10, rtol=0)


@pytest.mark.parametrize(("kind", "readout"), MODELS)
def test_incremental_decoding_is_the_full_forward(kind, readout):
    """With duplicated, exchanged and dropped beams, and finished sentences, as beam search."""
    net = build(kind, readout)
    source = pad(sentences(SOURCE), left=True)
    beam = 3
    rows = torch.arange(3).repeat_interleave(beam)
    encoder_out = None
    if kind == "gru":
        encoder_out = net.encoder.reorder_encoder_out(net.encoder(source), rows)
    tokens, state = torch.full((9, 1), 2), {}
    generator = torch.Generator().manual_seed(6)
    for step in range(7):
        logits, _ = net.decoder(tokens, encoder_out=encoder_out, incremental_state=state)
        expected, _ = run(net, source[rows], tokens)
        torch.testing.assert_close(logits[:, 0], expected[:, -1], atol=1e-10, rtol=0)
        order = torch.randint(0, beam, (len(rows),), generator=generator)
        order += torch.arange(len(rows)) // beam * beam  # within each sentence
        if step == 3:
            order = torch.cat([order[:beam], order[2 * beam :]])  # the second has finished
        tokens, rows = tokens[order], rows[order]
        net.decoder.reorder_incremental_state_scripting(state, order)
        if kind == "gru":
            encoder_out = net.encoder.reorder_encoder_out(encoder_out, order)
            assert encoder_out.sentences == len(rows) // beam
        new = torch.randint(4, 20, (len(rows), 1), generator=generator)
        tokens = torch.cat([tokens, new], dim=1)


def test_attention_to_the_source_on_request():
    net = build("gru", "content")
    source, prefix = pad(sentences(SOURCE), left=True), prefixes()
    assert net(source, None, prefix)[1]["attn"] == [None]
    net.make_generation_fast_(need_attn=True)
    weights = net(source, None, prefix)[1]["attn"][0]  # (B, T, M)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    assert bool(weights.masked_select(source.eq(1)[:, None]).eq(0).all())


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("kind", "readout"), MODELS)
def test_every_parameter_has_a_finite_gradient(kind, readout, tied):
    width = {"hidden_dim": 12} if readout == "plain" else {}
    net = build(kind, readout, share_decoder_input_output_embed=tied, **width).train()
    output, _ = run(net, pad(sentences(SOURCE), left=True), prefixes())
    output.square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert bool(torch.isfinite(parameter.grad).all()), name
        assert bool(parameter.grad.ne(0).any()), name


@pytest.mark.parametrize(("kind", "readout"), MODELS)
def test_every_parameter_has_a_gradient_where_all_targets_have_one_token(kind, readout):
    """Zero where there is nothing to attend to: distributed training waits for each."""
    net = build(kind, readout).train()
    output, _ = run(net, pad(sentences(SOURCE), left=True), prefixes(length=1))
    output.square().sum().backward()
    assert [name for name, p in net.named_parameters() if p.grad is None] == []
    assert all(bool(torch.isfinite(p.grad).all()) for p in net.parameters())
