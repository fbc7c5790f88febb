"""Mechanisms and architectures from outside the package: ``--user-dir``, and how to register them.

A folder is imported only when a person names it: by ``--user-dir``, ``load(user_dir=…)``, or the
variable :data:`~.flags.USER_DIR_VARIABLE`. No file of a run is asked which code to run.

Only what would be wrong without a word is refused here. Python's own error says the rest, at once
or when ``dc-nmt check-mechanism`` builds the class.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .errors import UsageError, UserError
from .files import code_folder
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

# arguments that a model gives to every self-attention
_GIVEN = ("embed_dim", "num_heads", "dropout", "bias")

Class = TypeVar("Class", bound=type)


# -- folders ---------------------------------------------------------------------------------------


def import_user_dirs(names: str, flag: str = "--user-dir") -> None:
    """Imports folders with Python files of the user's own, or installed packages.

    Programs that this process starts import them, too.

    Args:
        names: of folders or packages, several by commas
        flag: that gave them, for messages

    Raises:
        UserError: a folder is missing or cannot be imported, or registers something wrong
    """
    imported = [_import(name, f"{flag} {name}".strip()) for name in listed(names)]
    before = listed(os.environ.get(VARIABLE, ""))
    os.environ[VARIABLE] = ",".join(dict.fromkeys([*before, *imported]))


def import_from_variable() -> None:
    """Imports what :data:`~.flags.USER_DIR_VARIABLE` names, if it is set."""
    if os.environ.get(VARIABLE):
        import_user_dirs(os.environ[VARIABLE], VARIABLE)


def _import(name: str, flag: str) -> str:
    """Imports one folder or package as fairseq does; returns its absolute path, or its name."""
    folder = Path(os.path.abspath(Path(name).expanduser()))
    if not folder.is_dir():
        if os.sep in name or importlib.util.find_spec(name) is None:
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


def _run(module: str, flag: str) -> None:
    """Imports a module; a failure of its code is one sentence with the line."""
    try:
        importlib.import_module(module)
        _check_architectures()
    except UserError:
        raise
    # argparse, which calls this for dc-nmt, would hide the reason
    except (Exception, SystemExit) as error:
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
        UserError: the name or an option exists, or the class leaves out what a model gives it
    """

    def register(class_: Class) -> Class:
        kind = SelfAttentionKind(
            name,
            class_,
            tuple(options),
            contradictions=tuple(contradictions),
            folder=code_folder(class_.__module__),
            reference=reference,
            source=class_digest(class_),
            encoder_only=encoder_only,
        )
        _check(kind, _GIVEN)
        SELF_ATTENTIONS[name] = kind
        return class_

    return register


def register_source_feature(
    name: str,
    *,
    options: Sequence[Option] = (),
    contradictions: Sequence[Contradiction] = (),
    reference: Callable[..., Any] | None = None,
) -> Callable[[Class], Class]:
    """Returns a decorator that makes a class a value of ``--source-features``.

    The class is an ``Aggregation`` of encoder layers, or an ``AttentionToSource``.

    Args:
        name: the value
        options: arguments of the class; ``--NAME-OPTION`` is the flag of each
        contradictions: values of options that do not go together
        reference: the equations by loops, ``reference(aggregation, features)`` or
            ``reference(attention, x, flow)``; for ``dc-nmt check-mechanism``

    Raises:
        UserError: the name or an option exists
    """

    def register(class_: Class) -> Class:
        from .modules.layer_aggregation import Aggregation

        feature = SourceFeature(
            name,
            class_,
            tuple(options),
            contradictions=tuple(contradictions),
            folder=code_folder(class_.__module__),
            reference=reference,
            source=class_digest(class_),
            aggregates=issubclass(class_, Aggregation),
        )
        _check(feature)
        SOURCE_FEATURES[name] = feature
        return class_

    return register


def class_digest(class_: type) -> str:
    """Returns twelve hexadecimal digits of a class's source, and of what it uses in its folder.

    Comments, docstrings, layout and the decorator that registers the class change no digit, nor do
    definitions of its file that it does not use. Of ``from .file import name``, the whole file
    counts. "" for a class without a file.
    """
    file = getattr(sys.modules[class_.__module__], "__file__", None)
    if file is None:
        return ""
    texts = _statements(Path(file), class_.__qualname__.partition(".")[0], set())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _statements(file: Path, name: str | None, read: set[Path]) -> list[str]:
    """Returns the statements that define a name in a file of Python, with all that they use.

    Without a name, all statements. `read` has the files that are read already, and gets this one.
    """
    read.add(file)
    tree = ast.parse(file.read_bytes())
    _strip(tree)
    names = {name} if name else set().union(*map(_defined, tree.body))
    used: list[ast.stmt] = []
    while more := [step for step in tree.body if step not in used and names & _defined(step)]:
        used += more
        nodes = (node for step in more for node in ast.walk(step))
        names.update(node.id for node in nodes if isinstance(node, ast.Name))
    texts = [ast.unparse(step) for step in tree.body if step in used]
    for beside in _files_beside(file, used):
        if beside not in read:
            texts += _statements(beside, None, read)
    return texts


def _strip(tree: ast.Module) -> None:
    """Takes out what changes no formula: docstrings, and valid values and help of options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            node.decorator_list = []
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [part for part in body if not _is_text(part)]


def _files_beside(file: Path, steps: Sequence[ast.stmt]) -> Iterator[Path]:
    """Yields the files of ``from .file import name`` and ``from . import file``."""
    for step in steps:
        if isinstance(step, ast.ImportFrom) and step.level == 1:
            for module in sorted({step.module or alias.name for alias in step.names}):
                beside = file.parent / f"{module.replace('.', '/')}.py"
                if beside.is_file():
                    yield beside


def _defined(step: ast.stmt) -> set[str]:
    """Returns the names that a statement of a module defines."""
    if isinstance(step, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {step.name}
    nodes = list(ast.walk(step))
    imported = {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return imported | stored


def _is_text(step: ast.stmt) -> bool:
    value = step.value if isinstance(step, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


@functools.cache
def _settings_of_fairseq() -> frozenset[str]:
    """Returns the settings of fairseq's programs, and of its tasks, losses and optimizers.

    Of two flags of one name, fairseq keeps the first without a word: ``--adam-eps`` of a mechanism
    ``adam`` would be the ε of Adam.
    """
    level = logging.root.level
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf

    from . import criterions, tasks  # noqa: F401  which register those of this package

    logging.root.setLevel(level)  # fairseq.models.wav2vec sets DEBUG when it is imported
    names: set[str] = set()
    for group, stored in ConfigStore.instance().repo.items():
        if group in ("hydra", "model"):  # Hydra's own, and all architectures
            continue
        for entry in stored.values() if isinstance(stored, dict) else [stored]:
            if OmegaConf.is_dict(entry.node):
                names.update(map(str, entry.node))
    return frozenset(names)


def _check(mechanism: Mechanism, needed: Sequence[str] = ()) -> None:
    """Refuses a mechanism that would silently replace another one, or ignore a setting.

    Args:
        mechanism: not in its table yet
        needed: arguments that the class has to take; without ``dropout``, it would train with 0
    """
    from .models.transformer.config import TransformerConfig

    class_ = mechanism.class_
    declared = f"{class_.__module__}.{class_.__name__}, registered as {mechanism.name!r}"
    for other in mechanisms():
        if other.name == mechanism.name:
            origin = other.folder or "this package"
            raise UserError(f"{declared}: the name exists, in {origin}; choose another one.")
    for argument in needed:
        if argument not in arguments_of(class_):
            raise UserError(
                f"{declared}: __init__ does not take {argument}, which a model gives; name it "
                "there, or take **others, and hand them to a base that takes it."
            )
    taken = {*TransformerConfig.settings(), *_settings_of_fairseq()}
    for option in mechanism.options:
        if mechanism.setting(option) in taken:
            flag = flag_name(mechanism.setting(option))
            raise UserError(
                f"{declared}: option {option.name!r}: {flag} exists; choose another name."
            )


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

    Settings are checked at the end of the folder, so a mechanism may be registered after it.

    Raises:
        UserError: the name exists
    """
    from .models.presets import FAMILIES, SIZES, Family, architectures

    family = Family(
        name=name,
        about=about or "an architecture of the user's own",
        cites=cites,
        variants={"": dict(settings)},
        sizes=SIZES,
        model=TRANSFORMER,
        criterion="joint_label_smoothed_cross_entropy",
        task="translation_dc_nmt",
        folder=code_folder(sys._getframe(1).f_globals["__name__"]),
    )
    exists = next((known for known in family.architectures() if known in architectures()), None)
    if exists:
        raise UserError(f"register_architecture: {exists!r} exists; choose another name.")
    FAMILIES.append(family)
    architectures.cache_clear()
    registry = sys.modules.get(f"{__package__}.models.registry")
    if registry is not None:  # else it registers all of them, once it is imported
        registry.register_all()


def _check_architectures() -> None:
    """Checks the settings of architectures from outside the package."""
    from .models.presets import FAMILIES
    from .models.transformer.config import TransformerConfig

    for family in FAMILIES:
        if family.folder:
            TransformerConfig(**family.variants[""]).check()
