"""``dc-nmt check-mechanism`` finds each kind of fault, and none in the package's own mechanisms."""

import random
import re
from contextlib import nullcontext
from copy import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from dc_nmt_plugin import Aggregation, MultiLayerAttention, Option, SelfAttention, cli
from dc_nmt_plugin.laboratory.ground_rules import FIRST, RULES, BrokenRule, Models, check
from dc_nmt_plugin.modules.core.attention import SourceAttention
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


class AheadInTraining(LooksAhead):
    """Looks ahead in training alone."""

    def project(self, x, flow):
        return super().project(x, flow) if self.training else SelfAttention.project(self, x, flow)


class EndsAt40(SelfAttention):
    """Has a table of forty distances."""

    def __init__(self, **others):
        super().__init__(**others)
        self.table = nn.Embedding(40, 1)

    def logits(self, query, key, flow):
        here = flow.first_position + torch.arange(query.size(-2), device=query.device)
        there = torch.arange(key.size(-2), device=query.device)
        return super().logits(query, key, flow) + self.table((here[:, None] - there).abs())[..., 0]


class NoiseInEvaluation(SelfAttention):
    def logits(self, query, key, flow):
        logits = super().logits(query, key, flow)
        return logits + 0.1 * torch.randn_like(logits)


class OtherGenerator(SelfAttention):
    """Its noise is not that of torch's generator."""

    def weights(self, weights, flow):
        return weights * (1 + random.random()) if self.training else weights


class SetsTheSeed(SelfAttention):
    def __init__(self, **others):
        torch.manual_seed(0)
        super().__init__(**others)


class OtherWeights(SelfAttention):
    def __init__(self, **others):
        super().__init__(**others)
        self.scale = nn.Parameter(torch.tensor(random.random()))


class KeepsABatch(SelfAttention):
    """Adds logits of the first batch of a shape."""

    kept = None

    def logits(self, query, key, flow):
        logits = super().logits(query, key, flow)
        if self.kept is None or self.kept.shape != logits.shape:
            self.kept = logits.detach().tanh()
        return logits + self.kept


class ReadsTheTop(SourceAttention):
    """Reads the highest layer alone, and has a method that a class of it replaces."""

    def top(self, flow):
        return flow.source.features[-1]

    def forward(self, x, flow):
        flow = copy(flow)
        flow._source = replace(flow.source, features=[self.top(flow)])
        return super().forward(x, flow)


class KeepsKeysOfDecoding(ReadsTheTop):
    """What a decoding session reads stays in the object, for others of as many sentences."""

    def top(self, flow):
        features = super().top(flow)
        if flow.session is None:
            return features
        return vars(self).setdefault("kept", {}).setdefault(flow.source.sentences, features)


class OfTheClass(SelfAttention):
    """A parameter in the body of the class is none of the module."""

    scale = nn.Parameter(torch.ones(1))

    def logits(self, query, key, flow):
        return self.scale.to(query) * super().logits(query, key, flow)


class DividesByZero(SelfAttention):
    """Queries without a length, as of padding without biases, are NaN."""

    def project(self, x, flow):
        query, key, value = super().project(x, flow)
        return [query / query.norm(dim=-1, keepdim=True), key, value]


class TwoZeros(SelfAttention):
    """Both factors begin at 0, so neither ever gets a gradient."""

    def __init__(self, *, num_heads, **others):
        super().__init__(num_heads=num_heads, **others)
        self.down, self.up = (nn.Parameter(torch.zeros(num_heads)) for _ in range(2))

    def logits(self, query, key, flow):
        factor = 1 + (self.down @ self.up).to(query.dtype)
        return factor * super().logits(query, key, flow)


class KeepsItsGraph(SelfAttention):
    def weights(self, weights, flow):
        self.last = weights
        return weights


class CountsTraining(SelfAttention):
    """What it computes depends on a number that no checkpoint has."""

    trained = 0

    def weights(self, weights, flow):
        self.trained = self.training or self.trained
        return weights if self.training or not self.trained else 1.2 * weights


class OnTheCpu(SelfAttention):
    def logits(self, query, key, flow):
        return super().logits(query, key, flow) + torch.arange(key.size(-2)).mul(0)


class InDouble(SelfAttention):
    def logits(self, query, key, flow):
        return super().logits(query.double(), key.double(), flow)


class ChangesItsInput(SelfAttention):
    def forward(self, x, flow=None):
        output = super().forward(x, flow)
        x.data.mul_(1.1)
        return output


class Ignores(SelfAttention):
    """Has an option that it replaces."""

    def __init__(self, *, window=4.0, **others):
        super().__init__(**others)
        self.window = 4.0

    def logits(self, query, key, flow):
        return super().logits(query, key, flow) / self.window


class Misspelt(SelfAttention):
    def logit(self, query, key, flow):
        return super().logits(query, key, flow) / 2


class WithoutDropout(SelfAttention):
    def attend(self, *given, **named):
        self.dropout = 0.0
        return super().attend(*given, **named)


class AlwaysBiased(SelfAttention):
    def __init__(self, *, bias, **others):
        super().__init__(**others)


class IgnoresPositions(SelfAttention):
    """Has a softmax of its own, in float32."""

    def attend(self, query, key, value, flow):
        key, value = self.with_past(flow, key, value)
        mask = flow.added_mask(query.dtype)
        logits = query @ key.transpose(-2, -1) + (0.0 if mask is None else mask)
        if flow.is_causal:
            later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=query.device).triu(1)
            logits = logits.masked_fill(later, -torch.inf)
        weights = torch.softmax(logits.float(), -1).to(value.dtype)
        weights = nn.functional.dropout(weights, self.dropout, self.training)
        return (weights @ value).transpose(1, 2).flatten(2)


class RecordsNothing(IgnoresPositions):
    """Has its own softmax, and sees positions."""

    def attend(self, query, key, value, flow):
        if self.positions is not None:
            return SelfAttention.attend(self, query, key, value, flow)
        return super().attend(query, key, value, flow)


class Fails(SelfAttention):
    def logits(self, query, key, flow):
        return super().logits(query, key, flow) + self.nothing


class WithoutForward(Aggregation):
    def forwards(self, features):
        return features[0]


# the first rule that is broken, and what it says
FAULTS = {
    LooksAhead: ("padding", "padding"),  # it sees it behind the last word
    AheadInTraining: ("training", "in training: the decoder looks ahead"),
    SeesPadding: ("padding", "padding"),
    OtherStep: ("decoding", "a decoding step differs"),
    DropsGradient: ("slope", "something is detached"),
    ForgetsToSave: ("saving", "one is not saved"),
    CountsTraining: ("saving", "one is not saved"),
    OwnType: ("half precision", "--fp16: RuntimeError: .*test_check_mechanism.py, line "),
    Unused: ("gradients", "unused gets no gradient"),
    MeanOverSentences: ("padding", "depend on padding"),
    EndsAt40: ("lengths", "of 60 tokens: IndexError: .*test_check_mechanism.py, line "),
    NoiseInEvaluation: ("determinism", "random in evaluation"),
    OtherGenerator: ("determinism", "random numbers are not torch's"),
    SetsTheSeed: ("initial weights", "sets the seed"),
    OtherWeights: ("initial weights", "self_attn.scale differs in two models"),
    KeepsABatch: ("state", "depend on an earlier batch"),
    KeepsKeysOfDecoding: ("state", "decoding depends on an earlier batch"),
    TwoZeros: ("gradients", "self_attn.down never leaves its initial weights"),
    OfTheClass: ("gradients", "self_attn.scale is no parameter of the module"),
    DividesByZero: ("combinations", "a value is NaN"),
    KeepsItsGraph: ("state", "self_attn.last keeps a tensor"),
    OnTheCpu: ("another device", "device"),
    InDouble: ("results", "logits.. of torch.float32 returns torch.float64"),
    ChangesItsInput: ("results", "changes its inputs"),
    Ignores: ("options", "the option 'window' changes nothing"),
    Misspelt: ("methods", "nothing calls logit.. of the class. Did you mean 'logits'"),
    WithoutDropout: ("flags", "--attention-dropout changes nothing"),
    AlwaysBiased: ("flags", "--no-attention-bias changes nothing"),
    IgnoresPositions: ("flags", "--positions rotary changes nothing"),
    RecordsNothing: ("recording", "records nothing"),
    Fails: ("running", "AttributeError: .*'nothing' .*test_check_mechanism.py, line "),
    WithoutForward: ("running", "has no forward... Did you mean 'forwards'"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_first_broken_rule_names_the_fault(fault, monkeypatch):
    rule, words = FAULTS[fault]
    options = (Option("window", 4.0, "help", at_least=0.5),) if fault is Ignores else ()
    kind, table = SelfAttentionKind("own", fault, options), SELF_ATTENTIONS
    if issubclass(fault, Aggregation | SourceAttention):
        aggregates = issubclass(fault, Aggregation)
        kind, table = SourceFeature("own", fault, aggregates=aggregates), SOURCE_FEATURES
    monkeypatch.setitem(table, "own", kind)
    found = check(kind)
    first, problem = next((rule, problem) for rule, problem in found if problem)
    assert first == rule and re.search(words, problem), (first, problem)
    assert "\n" not in problem
    if rule in FIRST:  # the others would report it again under other names
        assert not list(found)


class ReadsItsHalf(ReadsTheTop):
    def top(self, flow):
        return 0.5 * flow.source.features[-1]


def test_a_source_feature_may_leave_layers_and_methods_of_its_base(monkeypatch):
    kind = SourceFeature("own", ReadsItsHalf)
    monkeypatch.setitem(SOURCE_FEATURES, "own", kind)
    assert [(rule, problem) for rule, problem in check(kind) if problem] == []


def test_an_encoder_may_look_ahead_and_a_decoder_not(monkeypatch):
    kind = SelfAttentionKind("own", LooksAhead)
    for encoder_only in (True, False):
        monkeypatch.setitem(SELF_ATTENTIONS, "own", replace(kind, encoder_only=encoder_only))
        with nullcontext() if encoder_only else pytest.raises(BrokenRule, match="looks ahead"):
            RULES["causality"](Models(SELF_ATTENTIONS["own"]))


class Mean(Aggregation):
    def forward(self, features):
        return torch.stack(list(features)).mean(dim=0)


def itself(module, *inputs):
    return module(*inputs)


SEPARATE = {"joint_weights": False, "sum_contexts": False}
REFERENCES = [
    (SelfAttentionKind("own", SelfAttention, reference=itself), SELF_ATTENTIONS),
    (SourceFeature("own", MultiLayerAttention, fixed=SEPARATE, reference=itself), SOURCE_FEATURES),
    (
        SourceFeature(
            "own", Mean, reference=lambda _, features: sum(features) / 3, aggregates=True
        ),
        SOURCE_FEATURES,
    ),
]


@pytest.mark.parametrize(("kind", "table"), REFERENCES)
def test_a_reference_is_compared(kind, table, monkeypatch):
    monkeypatch.setitem(table, "own", kind)
    RULES["reference"](Models(kind))
    wrong = replace(kind, reference=lambda *given: 1.01 * kind.reference(*given))
    with pytest.raises(BrokenRule, match="differ from those of the reference"):
        RULES["reference"](Models(wrong))


@pytest.mark.parametrize("name", ["dual_context", "cross_aggregation", "iter-c-agg"])
def test_the_command_prints_a_line_a_rule(name, capsys):
    assert cli.main(["check-mechanism", name]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"{name}: all rules hold"
    # without one for a reference by loops
    assert len(lines) == len(RULES) - 1 and all(line.startswith("ok ") for line in lines)


def test_an_unknown_name_is_one_sentence(capsys):
    assert cli.main(["check-mechanism", "dual"]) == 2
    assert "NAME: 'dual' is not one of standard, dual_context" in capsys.readouterr().err
