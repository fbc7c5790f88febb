"""Mechanisms and architectures from outside the package: ``--user-dir``, and how to register them.

A folder is imported only when a person names it: by ``--user-dir``, ``load(user_dir=…)``, or the
variable :data:`~.names.USER_DIR_VARIABLE`. No file of a run is asked which code to run.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from .errors import ConfigError, UsageError, UserError
from .flags import TRANSFORMER, flag_name, listed
from .flags import USER_DIR_VARIABLE as VARIABLE
from .modules.mechanisms import (
    SELF_ATTENTIONS,
    SOURCE_FEATURES,
    Contradiction,
    Mechanism,
    Option,
    SelfAttentionKind,
    SourceFeature,
    arguments_of,
    mechanisms,
)

# what the builder of a model knows, by the names of arguments
_OF_SELF_ATTENTION = ("embed_dim", "num_heads", "dropout", "bias")
_ON_REQUEST = ("layer", "residual_dropout")
_OF_AGGREGATION = ("embed_dim", "num_layers", "ffn_dim", "dropout")
_OF_ATTENTION = ("embed_dim", "source_dim", "num_heads", "num_layers", "dropout", "bias")

Class = TypeVar("Class", bound=type)


# -- folders ---------------------------------------------------------------------------------------


def import_user_dirs(names: str, flag: str = "--user-dir") -> None:
    """Imports folders with Python files of the user's own, or installed packages.

    Programs that this process starts import them, too.

    Args:
        names: of folders or packages, several by commas
        flag: that gave them, for messages

    Raises:
        UserError: one is missing, fails, or registers something wrong
    """
    if not listed(names):
        raise UsageError(f"{flag}: {names!r} names neither a folder nor a package")
    imported = [_import(name, f"{flag} {name}".strip()) for name in listed(names)]
    before = listed(os.environ.get(VARIABLE, ""))
    os.environ[VARIABLE] = ",".join(dict.fromkeys([*before, *imported]))


def import_from_variable() -> None:
    """Imports what :data:`~.names.USER_DIR_VARIABLE` names, if it is set."""
    if os.environ.get(VARIABLE):
        import_user_dirs(os.environ[VARIABLE], VARIABLE)


def _import(name: str, flag: str) -> str:
    """Imports one folder or package as fairseq does; returns its absolute path, or its name."""
    folder = Path(os.path.abspath(Path(name).expanduser()))
    if not folder.is_dir():
        if os.sep in name or not _is_installed(name):
            raise UsageError(f"{flag}: is neither a folder nor an installed package.")
        _run(name, flag)
        return name
    if not (folder / "__init__.py").is_file():
        raise UsageError(f"{flag}: has no __init__.py, which Python imports; put the code there.")
    loaded = sys.modules.get(folder.name)
    if loaded is not None and str(folder) not in getattr(loaded, "__path__", ()):
        raise UsageError(
            f"{flag}: Python has another module {folder.name!r} already; rename the folder."
        )
    if loaded is None:
        sys.path.insert(0, str(folder.parent))
        _run(folder.name, flag)
    return str(folder)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _run(module: str, flag: str) -> None:
    """Imports a module; a failure of its code is one sentence with the line."""
    try:
        importlib.import_module(module)
    except UserError:
        raise
    except Exception as error:
        steps = traceback.extract_tb(error.__traceback__)
        own = [step for step in steps if f"{os.sep}{module}{os.sep}" in step.filename]
        line = f"{own[-1].filename}, line {own[-1].lineno}: " if own else ""
        if isinstance(error, SyntaxError):
            line = f"{error.filename}, line {error.lineno}: "
        raise UserError(f"{flag}: {line}{type(error).__name__}: {error}") from error


# -- mechanisms ------------------------------------------------------------------------------------


def register_self_attention(
    name: str,
    *,
    options: Sequence[Option] = (),
    encoder_only: bool = False,
    contradictions: Sequence[Contradiction] = (),
    reference: Callable[..., Any] | None = None,
) -> Callable[[Class], Class]:
    """Returns a decorator that makes a class a value of ``--encoder-self-attention``.

    Args:
        name: the value, also in ``--encoder-layers-of``
        options: arguments of the class; ``--NAME-OPTION`` is the flag of each
        encoder_only: positions see later ones, so that a decoder cannot have it
        contradictions: values of options that do not go together
        reference: the equations by loops, ``reference(attention, x, flow)`` with x (B, T, C); for
            ``dc-nmt check-mechanism``

    Raises:
        UserError: the name exists, an option cannot be one, or the class is no self-attention
    """
    declared = _declared("register_self_attention", name)

    def register(class_: Class) -> Class:
        from .modules.core.self_attention import MultiHeadSelfAttention

        kind = SelfAttentionKind(
            name,
            class_,
            tuple(options),
            contradictions=tuple(contradictions),
            encoder_only=encoder_only,
        )
        _check_base(declared, class_, MultiHeadSelfAttention, "dc_nmt_plugin.SelfAttention")
        _check_mechanism(declared, kind, (*_OF_SELF_ATTENTION, *_ON_REQUEST), _OF_SELF_ATTENTION)
        for hook, number in (("logits", 4), ("weights", 3)):
            if len(inspect.signature(getattr(class_, hook)).parameters) != number:
                wanted = "query, key, flow" if hook == "logits" else "weights, flow"
                raise UserError(f"{declared}: {hook} is called as {hook}({wanted}).")
        SELF_ATTENTIONS[name] = replace(
            kind, folder=_folder(class_.__module__), reference=reference
        )
        return class_

    return register


def register_source_feature(
    name: str, *, options: Sequence[Option] = (), contradictions: Sequence[Contradiction] = ()
) -> Callable[[Class], Class]:
    """Returns a decorator that makes a class a value of ``--source-features``.

    The class is an ``Aggregation`` of encoder layers, or an ``AttentionToSource``.

    Args:
        name: the value
        options: arguments of the class; ``--NAME-OPTION`` is the flag of each
        contradictions: values of options that do not go together

    Raises:
        UserError: the name exists, an option cannot be one, or the class is of another kind
    """
    declared = _declared("register_source_feature", name)

    def register(class_: Class) -> Class:
        from .modules.core.attention import AttentionToSource
        from .modules.layer_aggregation import Aggregation

        bases = (Aggregation, AttentionToSource)
        names = "dc_nmt_plugin.Aggregation or dc_nmt_plugin.AttentionToSource"
        _check_base(declared, class_, bases, names)
        aggregates = issubclass(class_, Aggregation)
        feature = SourceFeature(
            name,
            class_,
            tuple(options),
            contradictions=tuple(contradictions),
            aggregates=aggregates,
        )
        _check_mechanism(declared, feature, _OF_AGGREGATION if aggregates else _OF_ATTENTION)
        SOURCE_FEATURES[name] = replace(feature, folder=_folder(class_.__module__))
        return class_

    return register


def _declared(function: str, name: object) -> str:
    """Returns where a mechanism is registered, which begins every message about it."""
    frame = sys._getframe(2)
    declared = f"{frame.f_code.co_filename}, line {frame.f_lineno}: {function}({name!r})"
    if inspect.isclass(name):  # a decorator without brackets would register nothing
        raise UserError(f'{declared}: the name is missing; write @dc.{function}("NAME").')
    return declared


def _folder(module: str) -> str:
    """Returns what ``--user-dir`` has to name for a module: the folder of its package."""
    file = getattr(sys.modules[module.partition(".")[0]], "__file__", None)
    if file is None or not os.path.basename(file).startswith("__init__."):
        return module  # an installed file, or of a namespace, which has none
    return os.path.dirname(os.path.abspath(file))


def _check_base(declared: str, class_: object, base: Any, names: str) -> None:
    if not (inspect.isclass(class_) and issubclass(class_, base)):
        shown = getattr(class_, "__name__", repr(class_))
        raise UserError(f"{declared}: {shown} is no {names}; make that the base of the class.")


def _check_mechanism(
    declared: str, mechanism: Mechanism, known: Sequence[str], needed: Sequence[str] = ()
) -> None:
    """Refuses a mechanism that cannot be chosen by flags, or whose class cannot be built.

    Args:
        declared: begins the message
        mechanism: not in its table yet
        known: arguments that the builder can give
        needed: those of them that the class has to take
    """
    name = mechanism.name
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_-]*", name):
        raise UserError(f"{declared}: a name has small letters, digits, _ and - alone.")
    for other in mechanisms():
        if other.name == name:
            origin = f"in {other.folder}" if other.folder else "in this package"
            raise UserError(f"{declared}: the name exists, {origin}; choose another one.")
    for option in mechanism.options:
        _check_option(declared, mechanism, option, known)
    _check_contradictions(declared, mechanism)
    _check_arguments(declared, mechanism, known, needed)


def _check_contradictions(declared: str, mechanism: Mechanism) -> None:
    names = [option.name for option in mechanism.options]
    for contradiction in mechanism.contradictions:
        unknown = [option for option in contradiction.values if option not in names]
        if unknown:
            raise UserError(f"{declared}: contradictions: {unknown[0]!r} is none of its options.")


def _check_arguments(
    declared: str, mechanism: Mechanism, known: Sequence[str], needed: Sequence[str]
) -> None:
    """Refuses a class whose ``__init__`` does not fit what the builder gives to it."""
    class_ = mechanism.class_
    names = [option.name for option in mechanism.options]
    taken, required = arguments_of(class_)
    for argument in needed:
        if argument not in taken:
            raise UserError(
                f"{declared}: {class_.__name__}.__init__ does not take {argument}; take **others, "
                "and hand them to super().__init__(**others)."
            )
    for argument in required:
        if argument not in {*known, *names}:
            raise UserError(
                f"{declared}: {class_.__name__}.__init__ needs {argument!r}, which is neither an "
                f"option nor one of {', '.join(known)}."
            )


def _is_used(mechanism: Mechanism, name: str) -> bool:
    """Returns whether a base of a mechanism's class has an attribute of this name."""
    of_objects = ("positions", "in_proj", "out_proj", "q_proj", "kv_proj")
    return name in of_objects or any(name in vars(base) for base in mechanism.class_.__mro__[1:])


def _check_option(declared: str, mechanism: Mechanism, option: Any, known: Sequence[str]) -> None:
    if not isinstance(option, Option):
        raise UserError(
            f"{declared}: options: {option!r} is no dc_nmt_plugin.Option, such as "
            'Option("window", default=4.0, help="…").'
        )
    place = f"{declared}: option {option.name!r}"
    if not isinstance(option.name, str) or not re.fullmatch("[a-z][a-z0-9_]*", option.name):
        raise UserError(f"{place}: a name has small letters, digits and _ alone.")
    if [each.name for each in mechanism.options].count(option.name) > 1:
        raise UserError(f"{place}: is there twice.")
    taken, _ = arguments_of(mechanism.class_)
    if option.name in known or (option.name not in taken and _is_used(mechanism, option.name)):
        raise UserError(f"{place}: the class has that name for something else; choose another one.")
    _check_default(place, option)
    from .models.transformer.config import TransformerConfig

    setting = mechanism.setting(option)
    if setting in TransformerConfig.settings():
        raise UserError(f"{place}: {flag_name(setting)} exists; choose another name.")


def _check_default(place: str, option: Option) -> None:
    if type(option.default) not in (bool, int, float, str):
        raise UserError(f"{place}: default {option.default!r} is no bool, int, float or str.")
    if option.below is not None and option.at_least is None:
        raise UserError(f"{place}: below needs at_least.")
    problem = option.problem(option.default, "default")
    if problem:
        raise UserError(f"{place}: {problem}")


# -- architectures ---------------------------------------------------------------------------------


def register_architecture(
    name: str, settings: Mapping[str, Any], *, about: str = "", cites: str = ""
) -> None:
    """Makes settings of a Transformer a value of ``--arch``, in every size (``NAME_iwslt`` …).

    Args:
        name: the value
        settings: by name, such as ``{"encoder_self_attention": "gaussian"}``
        about: its change to the usual model, in one line
        cites: publication

    Raises:
        UserError: the name exists, or settings are wrong
    """
    from .models.presets import FAMILIES, SIZES, Family, architectures
    from .models.transformer.config import TransformerConfig

    declared = _declared("register_architecture", name)
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise UserError(f"{declared}: a name has small letters, digits and _ alone.")
    try:
        TransformerConfig(**settings).check()
    except (TypeError, ConfigError) as error:
        raise UserError(f"{declared}: {error}") from None
    family = Family(
        name=name,
        about=about or "an architecture of the user's own",
        cites=cites,
        variants={"": dict(settings)},
        sizes=SIZES,
        model=TRANSFORMER,
        criterion="joint_label_smoothed_cross_entropy",
        task="translation_dc_nmt",
        folder=_folder(sys._getframe(1).f_globals["__name__"]),
    )
    exists = next((known for known in family.architectures() if known in architectures()), None)
    if exists:
        raise UserError(f"{declared}: the name {exists!r} exists; choose another one.")
    FAMILIES.append(family)
    architectures.cache_clear()
    registry = sys.modules.get(f"{__package__}.models.registry")
    if registry is not None:  # else it registers all of them, once it is imported
        registry.register_all()
