"""Every mechanism is declared here, once: its class, its options, and what contradicts what.

Flags, ``--encoder-layers-of``, idle flags, listings, Hydra, the pages and the checks of the modules
read these tables. They are read without torch: a class is imported when it is built.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import choice_problem

Values = Mapping[str, Any]
"""Option → its value."""
# settings of a model that choose mechanisms; axis C, auxiliary decoders, is a list of layers
CHOOSING = (
    "encoder_self_attention",
    "decoder_self_attention",
    "encoder_layers_of",
    "decoder_layers_of",
    "source_features",
    "aux_layers",
)


@dataclass(frozen=True)
class Option:
    """A value that a user chooses: an argument of a class, or a setting of a model.

    Attributes:
        name: of the argument, and in ``--encoder-layers-of``
        default: a bool, int, float or str, which is also the type of other values
        help: one line
        one_of: the valid values, if they can be listed; a function, if they can become more
        at_least: the smallest valid value
        below: upper bound, exclusive; with `at_least`
        setting: name of the setting that gives the value for all layers; ``--dc-kernel-size`` is
            the flag of ``dc_kernel_size``. Default: name of the mechanism, and of the option
        used_for: what the option is for, if a model with the mechanism may lack it
        used: whether a layer with these values has that
    """

    name: str
    default: Any
    help: str
    one_of: Collection[str] | Callable[[], Collection[str]] = ()
    at_least: float | None = None
    below: float | None = None
    setting: str = ""
    used_for: str = ""
    used: Callable[[Values], bool] | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """Returns the valid values, if they can be listed."""
        return tuple(self.one_of() if callable(self.one_of) else self.one_of)

    def problem(self, value: Any, name: str) -> str | None:
        """Returns a sentence on what is wrong with a value, called `name` there; or None.

        The value None is valid everywhere: it is that of a setting that nobody gave.
        """
        if value is None:
            return None
        if self.choices:
            return choice_problem(name, value, self.choices)
        if isinstance(value, float) and math.isnan(value):
            return f"{name}: {value} is no number."
        if self.at_least is None:
            return None
        if not isinstance(value, int | float):  # in a checkpoint that somebody changed
            return f"{name}: {value!r} is not a number."
        if self.below is not None and not self.at_least <= value < self.below:
            return f"{name}: {value} is not in [{self.at_least}, {self.below})."
        return (
            None if value >= self.at_least else f"{name}: {value} is not at least {self.at_least}."
        )

    def read(self, word: str) -> Any:
        """Returns a word of ``--encoder-layers-of`` as a value.

        Raises:
            ValueError: it has another type; the message is the type that is wanted
        """
        if isinstance(self.default, bool):
            values = {"true": True, "false": False}
            if word.lower() not in values:
                raise ValueError("true or false")
            return values[word.lower()]
        if isinstance(self.default, int):
            if not word.isdecimal():
                raise ValueError("a whole number")
            return int(word)
        if isinstance(self.default, float):
            try:
                return float(word)
            except ValueError:
                raise ValueError("a number") from None
        return word


@dataclass(frozen=True)
class Contradiction:
    """Values of options that do not go together.

    Attributes:
        values: option → value; all of them together are wrong
        sentence: says so; ``{NAME}`` is an option, or its flag in the message for a model
        lowest_layer: they are wrong only if no layer above the lowest one has them
    """

    values: Values
    sentence: str
    lowest_layer: bool = False


@dataclass(frozen=True)
class Mechanism:
    """A module that a setting of a model chooses by name.

    Attributes:
        name: value of the setting
        place: of its class, ``MODULE:CLASS`` in this package; or the class
        options: that a user chooses
        fixed: argument of the class → value, where a class has several names
        contradictions: between options
        folder: of a mechanism from outside this package, for ``--user-dir``
        reference: its equations by loops, if ``dc-nmt check-mechanism`` can compare them
        source: digest of the class's source, of a mechanism from outside this package
    """

    name: str
    place: str | type
    options: tuple[Option, ...] = ()
    fixed: Values = field(default_factory=dict)
    contradictions: tuple[Contradiction, ...] = ()
    folder: str = ""
    reference: Callable[..., Any] | None = None
    source: str = ""

    @property
    def class_(self) -> type:
        """Returns the class; it is imported here, with torch."""
        if not isinstance(self.place, str):
            return self.place
        module, _, name = self.place.partition(":")
        found: type = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        return found

    def option(self, name: str) -> Option:
        """Returns an option by its name."""
        return next(option for option in self.options if option.name == name)

    def setting(self, option: Option) -> str:
        """Returns the name of an option's setting."""
        return option.setting or f"{self.name}_{option.name}".replace("-", "_")

    def problems(self, values: Values, highest_layer: int, names: Mapping[str, str]) -> list[str]:
        """Returns a sentence for each contradiction.

        Args:
            values: of all options
            highest_layer: with these values
            names: option → its name in the sentences
        """
        return [
            contradiction.sentence.format_map(names)
            for contradiction in self.contradictions
            if all(values[option] == value for option, value in contradiction.values.items())
            and (highest_layer == 1 or not contradiction.lowest_layer)
        ]

    def check(self, **values: Any) -> None:
        """Checks the options of a module that is made, by itself or in a model.

        Raises:
            ValueError: a value that is not valid, or contradicts another one
        """
        names = {option.name: option.name for option in self.options}
        for name, value in values.items():
            problem = self.option(name).problem(value, name)
            if problem:
                raise ValueError(problem)
        all_values = {**{option.name: option.default for option in self.options}, **values}
        # a module alone has no layer: leave out what is wrong in the lowest layer alone
        for problem in self.problems(all_values, highest_layer=2, names=names):
            raise ValueError(problem)

    def build(self, options: Values, **known: Any) -> Any:
        """Returns a module of the class.

        Args:
            options: values of all options; those that ``__init__`` does not name become attributes
            known: facts about the model, such as ``embed_dim``; the class gets those that its
                ``__init__`` names
        """
        names = arguments_of(self.class_)
        arguments = {**known, **self.fixed, **options}
        module = self.class_(**{name: arguments[name] for name in arguments if name in names})
        for name in options:
            if name not in names:
                setattr(module, name, options[name])
        return module


@dataclass(frozen=True)
class SelfAttentionKind(Mechanism):
    """A value of ``--encoder-self-attention``, and of ``--decoder-self-attention`` (axis A)."""

    encoder_only: bool = False  # it sees later positions, too


@dataclass(frozen=True)
class SourceFeature(Mechanism):
    """A value of ``--source-features`` (axis B): an attention, or an aggregation before it."""

    aggregates: bool = False  # several layers into one


def arguments_of(class_: type) -> list[str]:
    """Returns the names of a class's arguments; ``**others`` are the arguments of its base."""
    names: list[str] = []
    for base in class_.__mro__:
        if "__init__" not in vars(base):
            continue
        others = False
        for parameter in list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]:
            others = others or parameter.kind is parameter.VAR_KEYWORD
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
        if not others:
            break
    return names


# -- axis A: self-attention ------------------------------------------------------------------------

STANDARD = SelfAttentionKind("standard", "core.self_attention:SelfAttention")

DUAL_CONTEXT = SelfAttentionKind(
    "dual_context",
    "dual_context:DualContextAttention",
    options=(
        Option(
            "kernel",
            2,
            "dual context: width f of the local context's convolution",
            at_least=1,
            setting="dc_kernel_size",
        ),
    ),
)

CONTEXT_AWARE = SelfAttentionKind(
    "context_aware",
    "context_aware:ContextAwareSelfAttention",
    options=(
        Option(
            "context",
            "deep-global+deep",
            "context-aware: context",
            one_of=("global", "deep-global", "deep", "deep-global+deep"),
            setting="ctx_context",
        ),
        Option(
            "on",
            "both",
            "context-aware: queries, keys or both are mixed with the context",
            one_of=("queries", "keys", "both"),
            setting="ctx_on",
        ),
        Option(
            "gate",
            "learnt",
            "context-aware: gates λ of the context",
            one_of=("learnt", "none"),
            setting="ctx_gate",
        ),
    ),
    contradictions=(
        Contradiction(
            {"context": "deep"},
            "{context}: 'deep' is made of the inputs of lower layers, and layer 1 has none below "
            "it; include a higher layer, or choose another context.",
            lowest_layer=True,
        ),
    ),
)


def _routes_vertically(values: Values) -> bool:
    return bool(values["iterations"]) and values["routing"] != "horizontal"


CROSS_AGGREGATION = SelfAttentionKind(
    "cross_aggregation",
    "cross_aggregation:CrossAggregationSelfAttention",
    options=(
        Option(
            "routing",
            "both",
            "cross aggregation: routing",
            one_of=("both", "horizontal", "vertical"),
            setting="xagg_routing",
        ),
        Option(
            "init",
            "zero",
            "cross aggregation: start of horizontal routing",
            one_of=("zero", "self"),
            setting="xagg_init",
        ),
        Option(
            "iterations",
            3,
            "cross aggregation: routing iterations; 0 is plain attention",
            at_least=0,
            setting="xagg_iterations",
        ),
        Option(
            "head_weights",
            "mean",
            "cross aggregation: mean or sum over positions in the head weights",
            one_of=("mean", "sum"),
            setting="xagg_head_weights",
            used_for="vertical routing",
            used=_routes_vertically,
        ),
        Option(
            "checkpoint",
            False,
            "cross aggregation: recompute the routing in the backward pass to save memory",
            setting="xagg_checkpoint",
        ),
    ),
    contradictions=(
        Contradiction(
            {"routing": "vertical", "init": "self"},
            "{init}: 'self' starts the horizontal routing at the logits, and {routing} vertical "
            "has none; choose zero, or {routing} horizontal or both.",
        ),
    ),
    encoder_only=True,  # it routes over all positions, also later ones
)

SELF_ATTENTIONS = {
    kind.name: kind for kind in (STANDARD, DUAL_CONTEXT, CONTEXT_AWARE, CROSS_AGGREGATION)
}


def decoder_kinds() -> list[str]:
    """Returns the kinds of self-attention that a decoder can have."""
    return [name for name, kind in SELF_ATTENTIONS.items() if not kind.encoder_only]


# -- axis B: source features -----------------------------------------------------------------------

_SUM = "layer_aggregation:LinearAggregation"
_ITERATIVE = "layer_aggregation:IterativeAggregation"
_MULTI_LAYER = "multi_layer_attention:MultiLayerAttention"
TOP = SourceFeature("top", "core.attention:SourceAttention")

SOURCE_FEATURES = {
    feature.name: feature
    for feature in (
        TOP,
        # several layers made into one: weighted sums, or feed-forward networks (C, "concatenated")
        SourceFeature("s-agg", _SUM, fixed={"ffn_dim": None}, aggregates=True),
        SourceFeature("iter-s-agg", _ITERATIVE, fixed={"ffn_dim": None}, aggregates=True),
        SourceFeature("c-agg", _SUM, aggregates=True),
        SourceFeature("iter-c-agg", _ITERATIVE, aggregates=True),
        # attention to several layers; M-Ū0Ū1 of the thesis
        SourceFeature("m-00", _MULTI_LAYER, fixed={"joint_weights": True, "sum_contexts": False}),
        SourceFeature("m-01", _MULTI_LAYER, fixed={"joint_weights": True, "sum_contexts": True}),
        SourceFeature("m-10", _MULTI_LAYER, fixed={"joint_weights": False, "sum_contexts": False}),
        SourceFeature("m-11", _MULTI_LAYER, fixed={"joint_weights": False, "sum_contexts": True}),
    )
}


def mechanisms() -> Iterator[Mechanism]:
    """Yields every mechanism, in the order of the flags of their options."""
    yield from SELF_ATTENTIONS.values()
    yield from SOURCE_FEATURES.values()


# -- axis D: the base block ------------------------------------------------------------------------


class BaseBlock(NamedTuple):
    """Choices for the layers beside their attentions."""

    norm: str
    pre_norm: bool  # the norms stand before the sublayers
    activation_fn: str
    positions: str


BASES = {
    "original": BaseBlock("layer_norm", False, "relu", "absolute"),  # Vaswani et al. 2017
    "modern": BaseBlock("rms_norm", True, "swiglu", "rotary"),
}
NORMS = ("layer_norm", "rms_norm")  # Ba et al. 2016; Zhang and Sennrich 2019
POSITIONS = (
    "absolute",  # added to the embeddings: sinusoidal, or learned with --encoder-learned-pos
    "rotary",  # queries and keys are rotated (Su et al. 2021)
    "relative",  # distances are added to keys and values (Shaw et al. 2018)
)
# fairseq's, in its order, and the gated one
ACTIVATIONS = ("relu", "gelu", "gelu_fast", "gelu_accurate", "tanh", "linear", "swiglu")
