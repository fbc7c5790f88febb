"""What every mechanism must keep, on tiny models: padding, causality, decoding, gradients, saving.

``dc-nmt check-mechanism`` and the tests of this package check the same rules. A rule is a function
of a mechanism, which raises :class:`BrokenRule` with one sentence.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor, nn

from .. import registration as registration
from ..criterions.joint_loss import JointLossCriterion
from ..modules.core.flow import Flow
from ..modules.core.masks import SequenceMask
from ..modules.core.recording import recording
from ..modules.mechanisms import Mechanism, SelfAttentionKind
from ..speed.beam_search import BeamSearchGenerator

# widths at which swapped dimensions do not fit
TINY: dict[str, Any] = {
    "encoder_embed_dim": 12,
    "encoder_ffn_embed_dim": 20,
    "encoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_embed_dim": 12,
    "decoder_ffn_embed_dim": 20,
    "decoder_layers": 2,
    "decoder_attention_heads": 3,
    "max_source_positions": 64,
    "max_target_positions": 64,
}
SOURCE_LENGTHS, TARGET_LENGTHS = [7, 3, 5], [4, 6, 2]
# a mechanism is combined with each of these values of the other axes
COMBINATIONS: list[dict[str, Any]] = [
    {"base": "modern", "encoder_attention_heads": 3},
    {"positions": "relative", "max_relative_position": 2},
    {"encoder_normalize_before": True, "decoder_normalize_before": True},
    {"source_features": "m-10"},
    {"source_features": "c-agg", "source_layers": 2},
    {"aux_layers": "1,2", "aux_fusion": True},
    {"encoder_self_attention": "context_aware"},
    {"decoder_self_attention": "dual_context"},
    {"no_attention_bias": True, "checkpoint_activations": True},
]


class BrokenRule(AssertionError):
    """Raised when a model breaks a rule; the message is one sentence."""


# -- tiny models and batches -----------------------------------------------------------------------


def dictionary(words: int = 19) -> Dictionary:
    """Returns special symbols and `words` words."""
    result = Dictionary()
    for number in range(words):
        result.add_symbol(f"w{number}")
    return result


def task(words: int = 19) -> argparse.Namespace:
    """Returns what a model needs of a task: one dictionary for both sides."""
    both = dictionary(words)
    return argparse.Namespace(
        source_dictionary=both, target_dictionary=both, dictionary=both, output_dictionary=both
    )


def tiny_model(arch: str, words: int = 19, seed: int = 1, **settings: Any) -> Any:
    """Returns a model of an architecture at the tiny size, in evaluation mode, float32."""
    torch.manual_seed(seed)
    args = argparse.Namespace(arch=arch, **{**TINY, **settings})
    ARCH_CONFIG_REGISTRY[arch](args)
    return ARCH_MODEL_REGISTRY[arch].build_model(args, task(words)).eval()


def perturb(model: nn.Module, seed: int = 2) -> Any:
    """Fills every parameter, biases and norms too, with values that are not special."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.1 * noise.to(parameter))
    return model


def sentences(lengths: Sequence[int], seed: int = 3, words: int = 19) -> list[Tensor]:
    """Returns random token ids, one tensor a sentence, each ending with </s>."""
    generator = torch.Generator().manual_seed(seed)
    first = dictionary(words).nspecial
    rows = []
    for length in lengths:
        row = torch.randint(first, first + words, (length - 1,), generator=generator)
        rows.append(torch.cat([row, torch.tensor([2])]))
    return rows


def pad(rows: Sequence[Tensor], *, left: bool, extra: int = 0) -> Tensor:
    """Returns (B, T): sentences, padded on one side, with `extra` further columns."""
    width = max(len(row) for row in rows) + extra
    batch = torch.full((len(rows), width), 1, dtype=torch.long)
    for index, row in enumerate(rows):
        if left:
            batch[index, width - len(row) :] = row
        else:
            batch[index, : len(row)] = row
    return batch


def shifted(rows: Sequence[Tensor]) -> list[Tensor]:
    """Returns decoder input: </s> first, the last token left out."""
    return [torch.cat([torch.tensor([2]), row[:-1]]) for row in rows]


def sample(
    source: Sequence[Tensor],
    target: Sequence[Tensor],
    *,
    left_source: bool = True,
    left_target: bool = False,
) -> dict[str, Any]:
    """Returns a batch as fairseq's translation task makes it."""
    return {
        "id": torch.arange(len(source)),
        "nsentences": len(source),
        "ntokens": sum(len(row) for row in target),
        "net_input": {
            "src_tokens": pad(source, left=left_source),
            "src_lengths": torch.tensor([len(row) for row in source]),
            "prev_output_tokens": pad(shifted(target), left=left_target),
        },
        "target": pad(target, left=left_target),
    }


def usual_batch() -> dict[str, Any]:
    """Returns three sentences of different lengths, padded."""
    return sample(sentences(SOURCE_LENGTHS), sentences(TARGET_LENGTHS, seed=5))


def logits_of(
    net: Any,
    source: Sequence[Tensor],
    target: Sequence[Tensor],
    left_source: bool = True,
    left_target: bool = False,
    extra: int = 0,
) -> list[Tensor]:
    """Returns logits, one tensor (T, V) a sentence, without padding."""
    prefix = pad(shifted(target), left=left_target, extra=extra)
    logits, _ = net(pad(source, left=left_source, extra=extra), None, prefix)
    rows = []
    for number, row in enumerate(target):
        first = prefix.size(1) - len(row) if left_target else 0
        rows.append(logits[number, first : first + len(row)])
    return rows


def joint_loss(net: Any, batch: Mapping[str, Any]) -> Tensor:
    """Returns the joint loss of a batch."""
    loss: Tensor = JointLossCriterion(task(), False, 0.1, no_diagnostics=True)(net, batch)[0]
    return loss


def _equal(one: Tensor, other: Tensor, tolerance: float, sentence: str) -> None:
    """Raises BrokenRule with a sentence and the largest difference of two tensors."""
    if one.shape != other.shape:
        raise BrokenRule(f"{sentence} (shapes {tuple(one.shape)} and {tuple(other.shape)})")
    difference = float((one - other).abs().max())
    if not difference <= tolerance:  # nor NaN
        raise BrokenRule(f"{sentence} (difference {difference:.2g})")


# -- rules of one model ----------------------------------------------------------------------------


def check_padding(net: Any) -> None:
    """Padding on each side, and other sentences of the batch, change no output."""
    source, target = sentences(SOURCE_LENGTHS), sentences(TARGET_LENGTHS, seed=5)
    expected = logits_of(net, source, target)
    for left_source, left_target in itertools.product([False, True], repeat=2):
        outputs = logits_of(net, source, target, left_source, left_target, extra=2)
        for one, other in zip(outputs, expected, strict=True):
            _equal(one, other, 1e-5, "the outputs depend on padding: it is seen")
    together = net.encoder(pad(source, left=True)).features
    for row, words in enumerate(source):
        (alone,) = logits_of(net, [words], [target[row]])
        _equal(alone, expected[row], 1e-5, "the outputs depend on other sentences of the batch")
        for level, states in enumerate(net.encoder(words[None]).features):
            in_batch = together[level][row, -len(words) :]
            _equal(in_batch, states[0], 1e-5, "the encoder depends on other sentences, or padding")


def check_causality(net: Any) -> None:
    """A target word changes the outputs after it, and none before."""
    source, target = sentences(SOURCE_LENGTHS), sentences(TARGET_LENGTHS, seed=5)
    before = logits_of(net, source, target)[0]
    for position in range(1, 4):
        changed = [row.clone() for row in target]
        word = changed[0][position - 1]  # becomes the input of this position
        changed[0][position - 1] = 4 + (word - 3) % 15
        after = logits_of(net, source, changed)[0]
        _equal(after[:position], before[:position], 1e-6, "the decoder looks ahead, at later words")
        if torch.allclose(before[position], after[position], atol=1e-4):
            raise BrokenRule("the decoder does not see the words before a position")


def check_decoding(net: Any) -> None:
    """Steps of decoding equal the whole prefix at once, with the orders of beam search."""
    source = pad(sentences(SOURCE_LENGTHS), left=True)
    encoded = net.encoder(source)
    sentence = torch.arange(3)
    prefix, steps = torch.full((3, 1), 2), list[Tensor]()
    state: dict[str, Any] = {}
    # the first step has one row a sentence, as in the plugin's beam search; then hypotheses are
    # duplicated, exchanged and dropped
    orders = [
        None,
        [0, 0, 1, 1, 2, 2],
        [1, 0, 2, 2, 5, 4],
        [0, 1, 3, 2, 4, 4],
        [2, 3, 4, 5],
        [1, 1, 2, 3],
        [2, 3],
    ]
    for rows in orders:
        if rows is not None:
            order = torch.tensor(rows)
            prefix, sentence = prefix[order], sentence[order]
            steps = [step[order] for step in steps]
            net.decoder.reorder_incremental_state_scripting(state, order)
            encoded = net.encoder.reorder_encoder_out(encoded, order)
            new = 4 + (5 * len(steps) + torch.arange(len(order)))[:, None] % 16
            prefix = torch.cat([prefix, new], dim=1)
        step, _ = net.decoder(prefix, encoder_out=encoded, incremental_state=state)
        steps.append(step[:, -1])
    full, _ = net(source[sentence], None, prefix)
    _equal(torch.stack(steps, dim=1), full, 1e-5, "a decoding step differs from the whole prefix")


def check_gradients(net: Any) -> None:
    """Every parameter gets a finite gradient that is not zero."""
    net.train()
    joint_loss(net, usual_batch()).backward()
    for name, parameter in net.named_parameters():
        gradient = parameter.grad
        if gradient is None or not gradient.abs().sum() > 0:
            raise BrokenRule(f"{name} gets no gradient")
        if not torch.isfinite(gradient).all():
            raise BrokenRule(f"the gradient of {name} is not finite")


def slope_and_gradient(
    net: Any, batch: Mapping[str, Any], step: float = 1e-6
) -> tuple[float, float]:
    """Returns the loss's slope along a random direction, measured, and by gradients."""
    parameters = [p for p in net.parameters() if p.requires_grad]
    generator = torch.Generator().manual_seed(7)
    directions = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters]
    gradients = torch.autograd.grad(joint_loss(net, batch), parameters)
    pairs = zip(gradients, directions, strict=True)
    expected = sum(float((gradient * direction).sum()) for gradient, direction in pairs)
    losses = []
    for move in (step, -2 * step):
        with torch.no_grad():
            for parameter, direction in zip(parameters, directions, strict=True):
                parameter.add_(direction, alpha=move)
            losses.append(float(joint_loss(net, batch)))
    return (losses[0] - losses[1]) / (2 * step), expected


def check_slope(net: Any) -> None:
    """Gradients are the slope of the loss: nothing on the way is detached."""
    measured, expected = slope_and_gradient(net.double(), usual_batch())
    if not abs(measured - expected) <= 1e-5 * abs(measured):
        raise BrokenRule(
            f"the gradients are not the slope of the loss ({expected:.6g}, measured "
            f"{measured:.6g}): something is detached"
        )


def check_half_precision(net: Any) -> None:
    """The loss in bfloat16 (``--amp``) and in half precision (``--fp16``) is close."""
    exact = float(joint_loss(net, usual_batch()).detach())
    for name, tolerance in (("--amp in bfloat16", 2e-2), ("--fp16", 3e-3)):
        amp = name.startswith("--amp")
        try:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                loss = float(joint_loss(net if amp else net.half(), usual_batch()).detach())
        except RuntimeError as error:  # of torch, about types that differ
            raise BrokenRule(f"{name} fails: {str(error).splitlines()[0]}") from error
        if not abs(loss - exact) <= tolerance * exact:
            raise BrokenRule(f"the loss with {name} is {loss:.4g}, not {exact:.4g}")


def check_recording(net: Any) -> None:
    """Recording, which computes the weights by themselves, changes no output."""
    batch = usual_batch()["net_input"]
    plain, _ = net(**batch)
    with recording(net):
        recorded, _ = net(**batch)
    _equal(recorded, plain, 1e-5, "the outputs are others while attention is recorded")


def check_beam_search(net: Any) -> None:
    """This package's beam search and fairseq's find the same translations."""
    batch, words = usual_batch(), dictionary()
    ours, theirs = (
        search([net], words, beam_size=3, max_len_b=8).generate([net], batch)
        for search in (BeamSearchGenerator, SequenceGenerator)
    )
    for one, other in zip(ours, theirs, strict=True):
        if [row["tokens"].tolist() for row in one] != [row["tokens"].tolist() for row in other]:
            raise BrokenRule("the two beam searches find other translations")


# -- rules of a mechanism --------------------------------------------------------------------------


class Models:
    """Makes tiny models with one mechanism wherever it can be."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._chosen = {"source_features": mechanism.name}
        if isinstance(mechanism, SelfAttentionKind):
            self._chosen = {"encoder_self_attention": mechanism.name}
            if not mechanism.encoder_only:
                self._chosen["decoder_self_attention"] = mechanism.name

    def model(self, seed: int = 1, **settings: Any) -> Any:
        """Returns a model in evaluation mode; settings of the mechanism's axis come first."""
        usual = {"dropout": 0.0, **self._chosen, **settings}
        return perturb(tiny_model("transformer_standard", seed=seed, **usual))

    def combined(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yields settings of other axes, and a model with them."""
        for settings in COMBINATIONS:
            axis = next(iter(self._chosen))
            if axis == "source_features" and axis in settings:
                continue
            yield settings, self.model(**settings)


def _saving(models: Models) -> None:
    """A model that loads saved parameters computes the same."""
    saved, loaded = models.model(), models.model(seed=9)
    loaded.load_state_dict(saved.state_dict())
    batch = usual_batch()["net_input"]
    sentence = "a model with the saved parameters computes something else: one is not saved"
    _equal(loaded(**batch)[0], saved(**batch)[0], 0.0, sentence)


def _checkpointed_activations(models: Models) -> None:
    """--checkpoint-activations changes no gradient."""
    gradients = []
    for checkpointed in (False, True):
        net = models.model(checkpoint_activations=checkpointed).train()
        joint_loss(net, usual_batch()).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in net.parameters()]))
    plain, recomputed = gradients
    _equal(recomputed, plain, 1e-5, "--checkpoint-activations changes gradients")


def _combinations(models: Models) -> None:
    """Padding, causality and decoding hold with values of the other axes."""
    for settings, net in models.combined():
        try:
            check_padding(net)
            check_causality(net)
            check_decoding(net)
        except BrokenRule as error:
            flags = ", ".join(f"{name} {value}" for name, value in settings.items())
            raise BrokenRule(f"with {flags}: {error}") from error


def _reference(models: Models) -> None:
    """The outputs equal those of the reference by loops, in float64, to 1e-10."""
    reference = models.mechanism.reference
    assert reference is not None
    net = models.model().double()
    x = torch.randn(3, 7, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    padding = pad(sentences(SOURCE_LENGTHS), left=True).eq(1)
    attentions = [(net.encoder, None, False), (net.encoder, padding, False)]
    if "decoder_self_attention" in models._chosen:
        attentions.append((net.decoder, None, True))
    for side, hidden, causal in attentions:
        attention = side.layers[0].self_attn
        flow = Flow(SequenceMask.build(hidden, causal=causal))
        flow.inputs.append(x)
        real = torch.ones(3, 7, dtype=torch.bool) if hidden is None else ~hidden
        output, by_loops = attention(x, flow)[real], reference(attention, x, flow)[real]
        _equal(output, by_loops, 1e-10, "the outputs differ from those of the reference")


def _of_model(check: Callable[[Any], None]) -> Callable[[Models], None]:
    """Returns the rule of a mechanism that a model of it keeps the rule `check`."""

    def rule(models: Models) -> None:
        check(models.model())

    rule.__doc__ = check.__doc__
    return rule


RULES: dict[str, Callable[[Models], None]] = {
    "padding": _of_model(check_padding),
    "causality": _of_model(check_causality),
    "decoding": _of_model(check_decoding),
    "beam search": _of_model(check_beam_search),
    "gradients": _of_model(check_gradients),
    "slope": _of_model(check_slope),
    "checkpointed activations": _checkpointed_activations,
    "half precision": _of_model(check_half_precision),
    "recording": _of_model(check_recording),
    "saving": _saving,
    "combinations": _combinations,
    "reference": _reference,
}
NEEDS_GRADIENTS = ("gradients", "slope", "checkpointed activations")


def check(mechanism: Mechanism) -> Iterator[tuple[str, str | None]]:
    """Yields each rule with what is wrong, or None.

    A failure of the mechanism's own code breaks the rule, too.
    """
    models = Models(mechanism)
    for name, rule in RULES.items():
        if rule is _reference and mechanism.reference is None:
            continue
        try:
            with torch.set_grad_enabled(name in NEEDS_GRADIENTS):
                rule(models)
        except BrokenRule as error:
            yield name, str(error)
        except Exception as error:
            yield (
                name,
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
            )
        else:
            yield name, None
