"""What every mechanism must keep, on tiny models: padding, causality, decoding, gradients, saving.

``dc-nmt check-mechanism``, the tests of this package and the page on a mechanism of one's own have
one list of rules, :data:`RULES`. A rule is a function of :class:`Models`, whose docstring states
it, and which raises :class:`BrokenRule` with one sentence.
"""

from __future__ import annotations

import inspect
import itertools
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import FunctionType
from typing import Any

import torch
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor, nn

from ..errors import counted, did_you_mean
from ..modules.core.attention import AttentionToSource
from ..modules.core.flow import Flow
from ..modules.core.masks import SequenceMask
from ..modules.core.recording import Recorded, recording
from ..modules.core.self_attention import MultiHeadSelfAttention
from ..modules.core.source import Source
from ..modules.mechanisms import Mechanism, Option, SelfAttentionKind
from ..speed.beam_search import BeamSearchGenerator
from .tiny_models import (
    SOURCE_LENGTHS,
    TARGET_LENGTHS,
    dictionary,
    joint_loss,
    logits_of,
    pad,
    perturb,
    sample,
    sentences,
    tiny_model,
    usual_batch,
)
from .watching import META, InFloat64, Operations, called_functions, on_another_device, on_meta

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
    {"encoder_embed_dim": 16, "share_all_embeddings": False},
]
LENGTHS = (1, 60, 300)  # of sentences, in tokens
HOOKS = ("project", "logits", "weights")  # of a self-attention
DROPPED: dict[str, Any] = {"dropout": 0.3, "attention_dropout": 0.3}


class BrokenRule(AssertionError):
    """Raised when a model breaks a rule; the message is one sentence."""


def _equal(one: Tensor, other: Tensor, tolerance: float, sentence: str) -> None:
    """Raises BrokenRule with a sentence and the largest difference of two tensors."""
    if one.shape != other.shape:
        raise BrokenRule(f"{sentence} (shapes {tuple(one.shape)} and {tuple(other.shape)})")
    difference = float((one - other).detach().abs().max())
    if difference != difference:
        raise BrokenRule("a value is NaN, not a number")
    if difference > tolerance:
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


def step_outputs(net: Any, batch: Mapping[str, Any]) -> Tensor:
    """Decodes a batch's target step by step, and returns the outputs of all steps."""
    inputs = batch["net_input"]
    prefix, encoded = inputs["prev_output_tokens"], net.encoder(inputs["src_tokens"])
    state: dict[str, Any] = {}
    steps = []
    for length in range(1, prefix.size(1) + 1):
        step, _ = net.decoder(prefix[:, :length], encoder_out=encoded, incremental_state=state)
        steps.append(step[:, -1])
    return torch.stack(steps, dim=1)


def check_gradients(net: Any) -> None:
    """Every parameter gets a finite gradient that is not zero."""
    net.train()
    joint_loss(net, usual_batch()).backward()
    _check_finite_gradients(net)
    for name, parameter in net.named_parameters():
        if parameter.grad is None and ".tap_norms." in name:
            continue  # a source feature need not read each layer
        if parameter.grad is None or not parameter.grad.any():
            raise BrokenRule(f"{name} gets no gradient")


def _check_finite_gradients(net: Any) -> None:
    for name, parameter in net.named_parameters():
        if parameter.grad is not None and not torch.isfinite(parameter.grad).all():
            raise BrokenRule(f"the gradient of {name} is not finite")


def slope_and_gradient(
    net: Any, batch: Mapping[str, Any], step: float = 1e-6
) -> tuple[float, float]:
    """Returns the loss's slope along a random direction, measured, and by gradients."""
    parameters = [p for p in net.parameters() if p.requires_grad]
    generator = torch.Generator().manual_seed(7)
    directions = {p: torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters}
    for module in net.modules():
        if isinstance(module, nn.Embedding) and module.weight in directions:
            directions[module.weight][module.padding_idx] = 0.0  # torch gives it no gradient
    torch.manual_seed(1)
    gradients = torch.autograd.grad(joint_loss(net, batch), parameters)
    pairs = zip(gradients, directions.values(), strict=True)
    expected = sum(float((gradient * direction).sum()) for gradient, direction in pairs)
    losses = []
    for move in (step, -2 * step):
        with torch.no_grad():
            for parameter, direction in directions.items():
                parameter.add_(direction, alpha=move)
            torch.manual_seed(1)
            losses.append(float(joint_loss(net, batch)))
    return (losses[0] - losses[1]) / (2 * step), expected


def check_beam_search(net: Any) -> None:
    """This package's beam search and fairseq's find the same translations."""
    batch, words = usual_batch(), dictionary()
    found, expected = (
        search([net], words, beam_size=3, max_len_b=8).generate([net], batch)
        for search in (BeamSearchGenerator, SequenceGenerator)
    )
    for one, other in zip(found, expected, strict=True):
        if [row["tokens"].tolist() for row in one] != [row["tokens"].tolist() for row in other]:
            raise BrokenRule("the two beam searches find other translations")


# -- models with a mechanism -----------------------------------------------------------------------


class Models:
    """Makes tiny models with one mechanism wherever it can be."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.class_ = mechanism.class_
        self.chosen = {"source_features": mechanism.name}
        if isinstance(mechanism, SelfAttentionKind):
            self.chosen = {"encoder_self_attention": mechanism.name}
            if not mechanism.encoder_only:
                self.chosen["decoder_self_attention"] = mechanism.name

    def model(self, seed: int = 1, perturbed: bool = True, **settings: Any) -> Any:
        """Returns a model in evaluation mode; settings of the mechanism's axis come first."""
        usual = {"dropout": 0.0, **self.chosen, **settings}
        net = tiny_model("transformer_standard", seed=seed, **usual)
        return perturb(net) if perturbed else net

    def modules(self, net: nn.Module) -> dict[str, Any]:
        """Returns the modules of the mechanism in a model, by name."""
        return {name: part for name, part in net.named_modules() if isinstance(part, self.class_)}

    def watched(self, net: Any) -> Any:
        """Returns a model whose methods of the mechanism check their results, as they run."""
        for module in self.modules(net).values():
            hooks = HOOKS if isinstance(module, MultiHeadSelfAttention) else ()
            for name in ("forward", *hooks):
                if hasattr(module, name):
                    setattr(module, name, _watched(name, getattr(module, name)))
        return net

    @cached_property
    def random_in_training(self) -> bool:
        """Returns whether the mechanism draws random numbers in training, beside dropout."""
        net = self.model().train()
        return not torch.equal(_outputs(net, seed=1), _outputs(net, seed=2))

    @contextmanager
    def under(self, condition: str) -> Iterator[None]:
        """Names the condition under which a rule is broken, or the mechanism's code fails."""
        try:
            yield
        except BrokenRule as error:
            raise BrokenRule(f"{condition}: {error}") from error
        except Exception as error:
            raise BrokenRule(f"{condition}: {self.described(error)}") from error

    def described(self, error: Exception) -> str:
        """Returns an exception in a sentence, with the last line in the folder of the class."""
        folder = os.path.dirname(os.path.abspath(inspect.getfile(self.class_)))
        steps = traceback.extract_tb(error.__traceback__)
        own = [step for step in steps if os.path.dirname(os.path.abspath(step.filename)) == folder]
        last = (own or steps)[-1]
        words = " ".join(str(error).split())[:200]
        if isinstance(error, NotImplementedError) and not words:  # of a base
            missing = steps[-1].name
            words = f"the class has no {missing}().{did_you_mean(missing, vars(self.class_))}"
        return f"{type(error).__name__}: {words} ({last.filename}, line {last.lineno})"


def seeded(net: Any, seed: int = 1) -> Callable[..., Any]:
    """Returns a model's forward pass with the same random numbers at each call."""

    def forward(*arguments: Any, **named: Any) -> Any:
        torch.manual_seed(seed)
        return net(*arguments, **named)

    return forward


def _outputs(net: Any, seed: int = 1) -> Tensor:
    """Returns a model's outputs for the usual batch, with the random numbers of a seed."""
    outputs: Tensor = seeded(net, seed)(**usual_batch()["net_input"])[0]
    return outputs


def _other_batches() -> list[dict[str, Any]]:
    """Returns a batch of the usual shape with other words and padding, and one of another shape."""
    lengths = [(SOURCE_LENGTHS[::-1], TARGET_LENGTHS[::-1]), ([9, 2], [3, 8])]
    return [sample(sentences(s, seed=11), sentences(t, seed=13)) for s, t in lengths]


# -- rules that the others need: if one is broken, they say nothing --------------------------------


def _running(models: Models) -> None:
    """A model with it is built, has a finite loss on several batches, and decodes."""
    for training in (True, False):
        net = models.model().train(training)
        for batch in (usual_batch(), *_other_batches()):
            loss = float(joint_loss(net, batch).detach())
            if not abs(loss) < float("inf"):
                raise BrokenRule(f"the loss is {loss}")
    step_outputs(net, usual_batch())


def _initial_weights(models: Models) -> None:
    """The seed alone decides the initial weights."""
    one, again = (models.model(perturbed=False).state_dict() for _ in range(2))
    for name, tensor in one.items():
        if not torch.equal(tensor, again[name]):
            raise BrokenRule(
                f"{name} differs in two models of one seed: its random numbers are not torch's"
            )
    models.model(seed=5)
    if torch.initial_seed() != 5:
        raise BrokenRule("building the class sets the seed of torch, also that of other layers")


def _determinism(models: Models) -> None:
    """Outputs are random in training alone, and there the seed decides them."""
    for training in (False, True):
        one, again, other = (
            _outputs(models.model(**DROPPED).train(training), seed) for seed in (1, 1, 2)
        )
        if torch.initial_seed() != 2:
            raise BrokenRule("a forward pass sets the seed of torch: dropout is always the same")
        _equal(
            again,
            one,
            1e-6,
            "two models of one seed have other outputs: their random numbers are not torch's, or "
            "something outside the model changes",
        )
        if not training:
            _equal(other, one, 1e-6, "the outputs are random in evaluation")
            plain = _outputs(models.model())
            _equal(one, plain, 1e-6, "the outputs in evaluation depend on dropout")


def _state(models: Models) -> None:
    """Nothing is kept between batches: no output depends on batches or decoding before it."""
    for training in (False, True):
        expected = _outputs(models.model().train(training))
        net = models.model().train(training)
        for others in _other_batches():
            net(**others["net_input"])
            if not training:
                step_outputs(net, others)
            output = _outputs(net)
            _equal(output, expected, 1e-6, "the outputs depend on an earlier batch: it is kept")
            if not training:
                steps = step_outputs(net, usual_batch())
                alone = step_outputs(models.model(), usual_batch())
                _equal(steps, alone, 1e-6, "decoding depends on an earlier batch: it is kept")
        with torch.enable_grad():
            _outputs(net)
        for name, module in models.modules(net).items():
            for kept, value in vars(module).items():
                if isinstance(value, Tensor) and value.grad_fn is not None:
                    raise BrokenRule(
                        f"{name}.{kept} keeps a tensor of the batch, with all that it was "
                        "computed from; give it to self.record(…)"
                    )


def _results(models: Models) -> None:
    """Results have the type and the shape of what the methods get, which stays as it is."""
    _outputs(models.watched(models.model()))


def _tensors_of(given: Any) -> list[Tensor]:
    """Returns the tensors that a method gets: its inputs, and those of the flow."""
    tensors: list[Tensor] = []
    for part in given:
        if isinstance(part, Flow):
            tensors += part.inputs + ([part.tokens] if part.tokens is not None else [])
            tensors += part._source.features if part._source is not None else []
        else:
            tensors += [part] if isinstance(part, Tensor) else part
    return tensors


def _watched(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method of a module that checks what it does to its inputs, and its results."""

    def watched(*given: Any) -> Any:
        before = [tensor.clone() for tensor in _tensors_of(given)]
        result, now = method(*given), _tensors_of(given)
        changed = len(before) != len(now) or not all(map(torch.equal, before, now))
        if name == "forward" and changed:
            raise BrokenRule("forward() changes its inputs, which other layers read, in place")
        shape, dtypes = before[0].shape, [before[0].dtype]
        if name == "logits":  # of query and key
            shape = torch.Size((*shape[:-1], given[1].size(-2)))
            dtypes.append(torch.promote_types(dtypes[0], torch.float32))
        for part in result if name == "project" else [result]:
            if part.dtype not in dtypes:
                raise BrokenRule(f"{name}() of {dtypes[0]} returns {part.dtype}")
            if name != "project" and part.shape != shape:
                shapes = f"{tuple(part.shape)}, not {tuple(shape)}"
                raise BrokenRule(f"{name}() returns the shape {shapes}")
        return result

    return watched


# -- rules of a mechanism --------------------------------------------------------------------------


def _training(models: Models) -> None:
    """Training keeps to padding and causality, and without dropout computes what evaluation does.

    A mechanism that is random in training may compute something else there.
    """
    net = models.model().train()
    with models.under("in training"):
        check_causality(seeded(net))
        source, target = sentences(SOURCE_LENGTHS), sentences(TARGET_LENGTHS, seed=5)
        others = [source[0], *sentences(SOURCE_LENGTHS, seed=11)[1:]]
        one, other = (logits_of(seeded(net), batch, target)[0] for batch in (source, others))
        _equal(one, other, 1e-5, "the outputs depend on other sentences of the batch")
        if not models.random_in_training:
            check_padding(net)
            expected = _outputs(models.model())
            _equal(_outputs(net), expected, 1e-5, "the outputs are others than in evaluation")


def _flags(models: Models) -> None:
    """--attention-dropout, --no-attention-bias and --positions change what they are for."""
    if not issubclass(models.class_, MultiHeadSelfAttention | AttentionToSource):
        return
    net = models.model(attention_dropout=0.5).train()
    name, lowest = next(iter(models.modules(net).items()))
    outputs: list[Tensor] = []
    lowest.register_forward_hook(lambda module, given, result: outputs.append(result))
    for seed in (1, 2):
        _outputs(net, seed)
    if torch.equal(outputs[0], outputs[-1]):
        raise BrokenRule(f"--attention-dropout changes nothing in training ({name})")
    usual, left = _biases(models), _biases(models, no_attention_bias=True)
    if usual and len(usual) == len(left):
        raise BrokenRule(f"--no-attention-bias changes nothing ({usual[0]} is left)")
    if issubclass(models.class_, MultiHeadSelfAttention):
        seen = _outputs(models.model(positions="rotary"))
        if torch.equal(seen, _outputs(models.model(no_token_positional_embeddings=True))):
            raise BrokenRule("--positions rotary changes nothing: attend() uses self.positions")


def _biases(models: Models, **settings: Any) -> list[str]:
    """Returns the names of the mechanism's biases in a model."""
    parts = models.modules(models.model(**settings)).values()
    names = [name for part in parts for name, _ in part.named_parameters()]
    return [name for name in names if name.endswith("bias")]


def _lengths(models: Models) -> None:
    """Sentences of 1, 60 and 300 tokens keep to padding, causality, decoding and gradients."""
    net = models.model(max_source_positions=512, max_target_positions=512)
    for length in LENGTHS:
        with models.under(f"with a sentence of {counted(length, 'token')}"):
            source = sentences([length, 5, 1])
            target = sentences([length, 4, 1], seed=5)
            together = logits_of(net, source, target)
            for row in range(3):
                (alone,) = logits_of(net, [source[row]], [target[row]])
                _equal(alone, together[row], 1e-4, "the outputs depend on padding")
            if length > 1:
                changed = [*map(torch.clone, target)]
                changed[0][-3] = 4 + (changed[0][-3] - 3) % 15
                after = logits_of(net, source, changed)[0][: length - 2]
                _equal(after, together[0][: length - 2], 1e-5, "the decoder looks ahead")
            short = sample(source[:1], target[:1])
            with torch.enable_grad():
                joint_loss(net, short).backward()
            _check_finite_gradients(net)
            net.zero_grad()
            if length < LENGTHS[-1]:
                steps, full = step_outputs(net, short), net(**short["net_input"])[0]
                _equal(steps, full, 1e-4, "a decoding step differs from the whole prefix")


def _gradients(models: Models) -> None:
    """Every parameter gets a finite gradient that is not zero."""
    check_gradients(models.model())
    net, moved = models.model(perturbed=False).train(), set[int]()
    for _ in range(3):  # one factor of a product may begin at 0: the other moves later
        net.zero_grad()
        joint_loss(net, usual_batch()).backward()
        for parameter in net.parameters():
            if parameter.grad is not None and parameter.grad.any():
                moved.add(id(parameter))
                parameter.data.add_(parameter.grad, alpha=-0.1)
    for name, module in models.modules(net).items():
        for attribute, value in {**vars(models.class_), **vars(module)}.items():
            if isinstance(value, Tensor) and value.requires_grad and value.is_leaf:
                raise BrokenRule(
                    f"{name}.{attribute} is no parameter of the module, so nothing trains or saves "
                    "it: assign an nn.Parameter in __init__"
                )
        for of_module, parameter in module.named_parameters():
            if id(parameter) not in moved:
                raise BrokenRule(f"{name}.{of_module} never leaves its initial weights")


def _slope(models: Models) -> None:
    """Gradients are the slope of the loss: nothing on the way is detached."""
    net = models.model().train(not models.random_in_training)  # a random choice may have none
    with models.under("in float64"), InFloat64():
        measured, expected = slope_and_gradient(net.double(), usual_batch())
    if not abs(measured - expected) <= 1e-5 * abs(measured):
        raise BrokenRule(
            f"the gradients are not the slope of the loss ({expected:.6g}, measured "
            f"{measured:.6g}): something is detached"
        )


def _checkpointed_activations(models: Models) -> None:
    """--checkpoint-activations changes no gradient."""
    gradients = []
    for checkpointed in (False, True):
        net = models.model(checkpoint_activations=checkpointed).train()
        torch.manual_seed(1)
        joint_loss(net, usual_batch()).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in net.parameters()]))
    plain, recomputed = gradients
    _equal(recomputed, plain, 1e-5, "--checkpoint-activations changes gradients")


def _half_precision(models: Models) -> None:
    """The loss in bfloat16 (--amp) and half precision (--fp16) is close, and types fit."""
    batch = usual_batch()
    exact = float(joint_loss(models.model(), batch).detach())
    with models.under("--fp16"):
        _outputs(models.watched(models.model().half()))
    for name, net, tolerance in (
        ("--amp in bfloat16", models.model(), 2e-2),
        ("--fp16", models.model().half(), 3e-3),
    ):
        with models.under(name):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=name != "--fp16"):
                loss = joint_loss(net, batch)
                step_outputs(net, batch)
            loss.backward()
            if not abs(float(loss.detach()) - exact) <= tolerance * exact:
                raise BrokenRule(f"the loss is {float(loss.detach()):.4g}, not {exact:.4g}")
            _check_finite_gradients(net)


def _another_device(models: Models) -> None:
    """It runs where the model is: nothing is made on the CPU for a model on a GPU."""
    net, batch = models.model().to(META), on_meta(usual_batch())
    with models.under("on another device"), on_another_device() as on_cpu:
        joint_loss(net.train(), batch).backward()
        step_outputs(net.eval(), batch)
    if on_cpu:
        names = ", ".join(sorted(set(on_cpu)))
        raise BrokenRule(f"a tensor is made on the CPU ({names}): give it the device of another")


def _recording(models: Models) -> None:
    """Weights are recorded for the analyses, and recording changes no output."""
    net = models.model()
    plain = _outputs(net)
    with recording(net) as records:
        recorded = _outputs(net)
    _equal(recorded, plain, 1e-5, "the outputs are others while attention is recorded")
    if not issubclass(models.class_, MultiHeadSelfAttention | AttentionToSource):
        return
    sizes = {"source": max(SOURCE_LENGTHS), "target": max(TARGET_LENGTHS)}
    for name, module in models.modules(net).items():
        found, place = records.get(name, Recorded()), getattr(module, "place", None)
        if not found or (isinstance(module, AttentionToSource) and "weights" not in found):
            raise BrokenRule(
                f"{name} records nothing for the analyses: call self.record(weights=…)"
            )
        if "weights" in found and place is not None:
            queries = sizes["source" if place.side == "encoder" else "target"]
            keys = sizes["source"] if place.reads == "source" else queries
            shape = tuple(found["weights"].shape)
            if len(shape) < 4 or (shape[0], *shape[-2:]) != (3, queries, keys):
                raise BrokenRule(
                    f"{name} records weights of the shape {shape}, not (3, heads, {queries}, "
                    f"{keys})"
                )


def _saving(models: Models) -> None:
    """A model that loads the parameters of a trained one computes the same."""
    saved, loaded = models.model(), models.model(seed=9)
    joint_loss(saved.train(), usual_batch())  # training may change attributes that are not saved
    with models.under("loading the parameters"):
        loaded.load_state_dict(saved.state_dict())
    sentence = "a model with the saved parameters computes something else: one is not saved"
    _equal(_outputs(loaded), _outputs(saved.eval()), 0.0, sentence)


def _options(models: Models) -> None:
    """Each option changes something."""
    mechanism = models.mechanism
    for option in mechanism.options:
        name, tried = mechanism.setting(option), list(_other_values(option))
        # an option may have an effect beside other values of another one
        for settings in ({}, *_changed_options(mechanism, leave_out=option)):
            usual = _behaviour(models, settings)
            if any(_behaviour(models, {**settings, name: value}) != usual for value in tried):
                break
        else:
            if tried:
                raise BrokenRule(
                    f"the option {option.name!r} changes nothing (values {option.default}, "
                    f"{', '.join(map(str, tried))})"
                )


def _other_values(option: Option) -> Iterator[Any]:
    """Yields valid values of an option beside its default; none for text of any kind."""
    default, values = option.default, list[Any](option.choices)
    if isinstance(default, bool):
        values = [not default]
    elif isinstance(default, int):
        values = [default + 1, default - 1, 2 * default + 1, default // 2, 1, 2]
    elif isinstance(default, float):
        values = [2 * default + 0.5, default / 2, default + 0.25, default - 0.25]
    for value in dict.fromkeys(values):
        if value != default and option.problem(value, option.name) is None:
            yield value


def _changed_options(
    mechanism: Mechanism, leave_out: Option | None = None
) -> Iterator[dict[str, Any]]:
    """Yields settings in which one option has another value than its default."""
    for option in mechanism.options:
        if option is not leave_out:
            for value in _other_values(option):
                yield {mechanism.setting(option): value}


def _behaviour(models: Models, settings: Mapping[str, Any]) -> object:
    """Returns all that a model with these settings does in a training step: equal if it is.

    Values that the class refuses have a behaviour of their own.
    """
    try:
        net = models.model(**settings)
        torch.manual_seed(1)
        with Operations() as operations, torch.enable_grad():
            loss = joint_loss(net.train(), usual_batch())
            loss.backward()
        parameters = [
            (name, p.shape, None if p.grad is None else float(p.grad.double().sum()))
            for name, p in net.named_parameters()
        ]
        evaluation = float(joint_loss(net.eval(), usual_batch()).detach())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return float(loss.detach()), evaluation, parameters, operations.seen


def _methods(models: Models) -> None:
    """Every method of the class that takes a flow is called: no hook's name is misspelt."""
    methods = [*_own_methods(models.class_)]
    uncalled = dict(reversed(methods))  # of a name, that of the class and not of its base
    with called_functions() as called:
        for settings in ({}, *_changed_options(models.mechanism)):
            if uncalled:
                _use_everything(models, settings)
                uncalled = {name: m for name, m in uncalled.items() if m.__code__ not in called}
    inherited = {name for name in dir(models.class_) if not hasattr(nn.Module, name)}
    for name in uncalled:
        hint = did_you_mean(name.strip("_"), {*HOOKS, *inherited} - uncalled.keys())
        if hint or "flow" in inspect.signature(uncalled[name]).parameters:  # else not for a model
            raise BrokenRule(f"nothing calls {name}() of the class.{hint}")


def _own_methods(class_: type) -> Iterator[tuple[str, FunctionType]]:
    """Yields the methods that a class and its bases outside this package define."""
    package = __name__.partition(".")[0]
    for base in class_.__mro__:
        if base.__module__.partition(".")[0] in (package, "torch", "builtins"):
            continue
        for name, value in vars(base).items():
            function = inspect.unwrap(value) if callable(value) else None
            if isinstance(function, FunctionType) and not hasattr(nn.Module, name):
                yield name, function


def _use_everything(models: Models, settings: Mapping[str, Any]) -> None:
    """Trains, evaluates, records and decodes with a model; a value that is refused does nothing."""
    try:
        net = models.model(**settings)
        joint_loss(net.train(), usual_batch())
        net.eval()
        with recording(net):
            joint_loss(net, usual_batch())
        step_outputs(net, usual_batch())
    except Exception:
        if not settings:
            raise


def _combinations(models: Models) -> None:
    """Padding, causality, decoding and gradients hold with values of the other axes."""
    for settings in COMBINATIONS:
        axis = next(iter(models.chosen))
        if axis == "source_features" and axis in settings:
            continue
        flags = ", ".join(f"{name} {value}" for name, value in settings.items())
        with models.under(f"with {flags}"):
            net = models.model(**settings)
            check_padding(net)
            check_causality(net)
            check_decoding(net)
            with torch.enable_grad():
                check_gradients(net)


def _reference(models: Models) -> None:
    """The outputs equal those of the reference by loops, in float64, to 1e-10."""
    reference = models.mechanism.reference
    assert reference is not None
    net = models.model().double()
    generator = torch.Generator().manual_seed(4)
    states = [torch.randn(3, 7, 12, dtype=torch.float64, generator=generator) for _ in range(4)]
    padding = pad(sentences(SOURCE_LENGTHS), left=True).eq(1)
    x, given = states[0], list[tuple[Any, Any, Any]]()
    if isinstance(models.mechanism, SelfAttentionKind):
        sides = [(net.encoder, None, False), (net.encoder, padding, False)]
        if "decoder_self_attention" in models.chosen:
            sides.append((net.decoder, None, True))
        for side, hidden, causal in sides:
            flow = Flow(SequenceMask.build(hidden, causal=causal))
            flow.inputs.append(x)
            given.append((side.layers[0].self_attn, (x, flow), hidden))
    elif issubclass(models.class_, AttentionToSource):
        for hidden in (None, padding):
            flow = Flow(source=Source(states[1:], hidden))
            given.append((net.decoder.layers[0].encoder_attn, (x, flow), None))
    else:
        given.append((net.encoder.aggregation, (states[1:],), None))
    for module, inputs, hidden in given:
        real = torch.ones(3, 7, dtype=torch.bool) if hidden is None else ~hidden
        output, by_loops = module(*inputs)[real], reference(module, *inputs)[real]
        _equal(output, by_loops, 1e-10, "the outputs differ from those of the reference")


def _of_model(check: Callable[[Any], None]) -> Callable[[Models], None]:
    """Returns the rule of a mechanism that a model of it keeps the rule `check`."""

    def rule(models: Models) -> None:
        check(models.model())

    rule.__doc__ = check.__doc__
    return rule


RULES: dict[str, Callable[[Models], None]] = {
    "running": _running,
    "initial weights": _initial_weights,
    "determinism": _determinism,
    "state": _state,
    "results": _results,
    "padding": _of_model(check_padding),
    "causality": _of_model(check_causality),
    "training": _training,
    "flags": _flags,
    "decoding": _of_model(check_decoding),
    "beam search": _of_model(check_beam_search),
    "lengths": _lengths,
    "half precision": _half_precision,
    "gradients": _gradients,
    "slope": _slope,
    "checkpointed activations": _checkpointed_activations,
    "another device": _another_device,
    "recording": _recording,
    "saving": _saving,
    "options": _options,
    "methods": _methods,
    "combinations": _combinations,
    "reference": _reference,
}
"""Each rule by its name; its docstring states it."""
FIRST = ("running", "initial weights", "determinism", "state", "results")
_SEEN = ("padding", "causality", "decoding")
NEEDS = {
    "decoding": ("causality",),
    "beam search": ("causality", "decoding"),
    "training": _SEEN,
    "lengths": _SEEN,
    "combinations": (*_SEEN, "flags", "gradients"),
    "slope": ("half precision", "gradients"),
    "checkpointed activations": ("gradients",),
}
"""Rule → rules that it repeats or builds on: it is tried where these hold."""
NEEDS_GRADIENTS = (
    "gradients",
    "slope",
    "checkpointed activations",
    "half precision",
    "another device",
)


def statement(name: str) -> str:
    """Returns what a rule says, in one line."""
    return " ".join((RULES[name].__doc__ or "").partition("\n\n")[0].split())


def check(mechanism: Mechanism) -> Iterator[tuple[str, str | None]]:
    """Yields each rule with what is wrong, or None.

    A failure of the mechanism's own code ends the list, and so does a broken rule of
    :data:`FIRST`. These and :data:`NEEDS` keep a fault from a second report under another name.
    """
    models, broken = Models(mechanism), set[str]()
    for name, rule in RULES.items():
        if broken.intersection(NEEDS.get(name, ())):
            continue
        if rule is _reference and mechanism.reference is None:
            continue
        problem, fails = None, False
        try:
            with torch.set_grad_enabled(name in NEEDS_GRADIENTS):
                rule(models)
        except BrokenRule as error:
            problem = str(error)
        except Exception as error:
            problem, fails = models.described(error), True
        yield name, problem
        if problem:
            broken.add(name)
        if fails or broken.intersection(FIRST):
            return
