"""``dc-nmt check-mechanism`` finds each kind of fault, and none in the package's own mechanisms."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from dc_nmt_plugin import Aggregation, SelfAttention, cli
from dc_nmt_plugin.laboratory.ground_rules import check
from dc_nmt_plugin.modules.mechanisms import (
    SELF_ATTENTIONS,
    SOURCE_FEATURES,
    SelfAttentionKind,
    SourceFeature,
)


class LooksAhead(SelfAttention):
    """The keys are shifted by one."""

    def project(self, x, flow):
        query, key, value = super().project(x, flow)
        return (
            [query, key, value + value.roll(-1, dims=2)] if x.size(1) > 1 else [query, key, value]
        )


class SeesPadding(SelfAttention):
    """The mean of the weights is taken over padding, too."""

    def weights(self, weights, flow):
        return weights + 0.1 * weights.new_ones(()) / weights.size(-1)


class OtherStep(SelfAttention):
    """A step of decoding takes its position for the first one."""

    def logits(self, query, key, flow):
        here = torch.arange(query.size(-2))[:, None]
        return super().logits(query, key, flow) - 0.3 * (here - torch.arange(key.size(-2))).abs()


class DropsGradient(SelfAttention):
    """A part of the logits has no gradient."""

    def logits(self, query, key, flow):
        return super().logits(query, key, flow) + 0.5 * super().logits(query.detach(), key, flow)


class ForgetsToSave(SelfAttention):
    """A matrix is an attribute, neither a parameter nor a buffer."""

    def __init__(self, *, num_heads, **others):
        super().__init__(num_heads=num_heads, **others)
        self.mix = torch.eye(num_heads) + 0.3 * torch.randn(num_heads, num_heads)

    def logits(self, query, key, flow):
        return torch.einsum("gh,bhts->bgts", self.mix.to(query), super().logits(query, key, flow))


class OwnType(SelfAttention):
    """Meets tensors of two types in half precision."""

    def __init__(self, *, num_heads, **others):
        super().__init__(num_heads=num_heads, **others)
        self.mix = torch.eye(num_heads)

    def weights(self, weights, flow):
        return torch.einsum("gh,bhts->bgts", self.mix.double(), weights.double()).to(weights.dtype)

    def logits(self, query, key, flow):
        return super().logits(query, key, flow) @ torch.eye(key.size(-2))


class Unused(SelfAttention):
    """Has a parameter that nothing uses."""

    def __init__(self, **others):
        super().__init__(**others)
        self.unused = nn.Parameter(torch.ones(2))


class MeanOverSentences(Aggregation):
    """A source feature that mixes the sentences of a batch."""

    def forward(self, features):
        return features[-1] + features[0].mean(dim=0, keepdim=True)


FAULTS = {
    LooksAhead: ("causality", "looks ahead"),
    SeesPadding: ("padding", "padding"),
    OtherStep: ("decoding", "a decoding step differs"),
    DropsGradient: ("slope", "something is detached"),
    ForgetsToSave: ("saving", "one is not saved"),
    OwnType: ("half precision", "--fp16 fails"),
    Unused: ("gradients", "unused gets no gradient"),
    MeanOverSentences: ("padding", "depend on padding"),
}


def broken(mechanism, table, monkeypatch):
    monkeypatch.setitem(table, mechanism.name, mechanism)
    return {rule: problem for rule, problem in check(mechanism) if problem}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_breaks_its_rule(fault, monkeypatch):
    rule, words = FAULTS[fault]
    kind, table = SelfAttentionKind("own", fault), SELF_ATTENTIONS
    if issubclass(fault, Aggregation):
        kind, table = SourceFeature("own", fault, aggregates=True), SOURCE_FEATURES
    problems = broken(kind, table, monkeypatch)
    assert words in problems[rule], problems
    assert all("\n" not in problem for problem in problems.values())


def test_an_encoder_may_look_ahead_and_a_decoder_not(monkeypatch):
    kind = SelfAttentionKind("own", LooksAhead, encoder_only=True)
    assert "causality" not in broken(kind, SELF_ATTENTIONS, monkeypatch)


def test_a_reference_by_loops_is_compared(monkeypatch):
    def reference(attention, x, flow):
        outputs = torch.zeros_like(x)
        for row, sentence in enumerate(x):
            for position in range(len(sentence)):
                mask = flow.mask.padding
                last = position if flow.mask.causal else len(sentence) - 1
                seen = [k for k in range(last + 1) if mask is None or not mask[row, k]]
                if seen:
                    outputs[row, position] = one(attention, sentence, position, seen)
        return outputs

    def one(attention, sentence, position, seen):
        width = sentence.size(-1)
        query, key, value = attention.in_proj(sentence).split(width, dim=-1)
        heads = []
        for part in range(attention.num_heads):
            size = width // attention.num_heads
            at = slice(part * size, (part + 1) * size)
            scores = torch.stack([query[position, at] @ key[k, at] for k in seen]) / size**0.5
            heads.append(torch.softmax(scores, 0) @ value[seen][:, at])
        return attention.out_proj(torch.cat(heads))

    kind = SelfAttentionKind("own", SelfAttention, reference=reference)
    assert not broken(kind, SELF_ATTENTIONS, monkeypatch)
    other = replace(kind, reference=lambda *given: 1.01 * reference(*given))
    assert list(broken(other, SELF_ATTENTIONS, monkeypatch)) == ["reference"]


@pytest.mark.parametrize("name", ["dual_context", "cross_aggregation", "iter-c-agg"])
def test_the_command_prints_a_line_a_rule(name, capsys):
    assert cli.main(["check-mechanism", name]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"{name}: all rules hold"
    assert len(lines) == 11 and all(line.startswith("ok ") for line in lines)


def test_an_unknown_name_is_one_sentence(capsys):
    assert cli.main(["check-mechanism", "dual"]) == 2
    assert "NAME: 'dual' is not one of standard, dual_context" in capsys.readouterr().err
