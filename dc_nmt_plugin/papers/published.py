"""The published number that stands beside a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..evaluation.run_table import PublishedScore
from ..flags import as_flags, flag_values
from .document import SCORES, Entry
from .reader import read_documents

_TOKENS_TOLERANCE = 0.01  # batches of several GPUs are rounded
# flags of fairseq-train that lead to the same model; --max-tokens counts in the tokens of an update
_NEUTRAL = {
    *("arch", "task", "criterion", "source-lang", "target-lang", "user-dir", "seed", "num-workers"),
    *("save-dir", "save-interval", "save-interval-updates", "keep-interval-updates"),
    *("keep-last-epochs", "keep-best-checkpoints", "no-epoch-checkpoints", "no-save"),
    *("log-format", "log-interval", "log-file", "tensorboard-logdir", "wandb-project"),
    *("max-tokens", "update-freq", "max-tokens-valid", "batch-size-valid", "validate-interval"),
    *("validate-interval-updates", "distributed-world-size", "distributed-port", "ddp-backend"),
    *("cpu", "cuda-graphs", "checkpoint-activations"),
    *("xagg-checkpoint", "skip-invalid-size-inputs-valid-test", "required-batch-size-multiple"),
}
_SEARCH = ("--beam", "--lenpen", "--length-penalty")


def published_number(
    task: str,
    architecture: str,
    metric: str,
    settings: Mapping[str, Any],
    tokens: int | None,
    search: Mapping[str, Any],
    subset: str = "test",
) -> PublishedScore | None:
    """Returns the number that the papers print for a run; None if they print none.

    The task, the architecture with its size, the decoder, masked layers, the test set and the
    metric are the same. Of several such numbers, the one with the fewest settings that differ.

    Args:
        task: name of the recipe, such as ``iwslt15_vi_en``
        architecture: value of ``--arch``
        metric: such as ``mteval-v13a``; ``params`` for millions of parameters
        settings: of ``fairseq-train``, by flag without dashes, as in ``run.json``
        tokens: of an update, of all processes; None: unknown
        search: of ``fairseq-generate``, in the same form
        subset: the translated set
    """
    candidates = [
        entry
        for document in read_documents()
        for entry in document.entries
        if entry.value is not None
        and (entry.task, entry.arch, entry.measure) == (task, architecture, metric)
        and (metric == "params" or _same_translation(entry, search, subset))
    ]
    if not candidates:
        return None
    compared = [(each, differing_settings(each, settings, tokens, search)) for each in candidates]
    nearest, differing = min(compared, key=lambda pair: len(pair[1]))
    same = [entry for entry, others in compared if others == differing]
    assert nearest.value is not None
    places = [f"{e.document}, {e.item}" for e in same if e.value == nearest.value]
    places += [f"{e.item} has {e.value}" for e in same if e.value != nearest.value]
    place = "; ".join(dict.fromkeys(places))
    return PublishedScore(float(nearest.value), metric, place, "; ".join(differing))


def _same_translation(entry: Entry, search: Mapping[str, Any], subset: str) -> bool:
    masked = str(search.get("mask-source-layers") or "")
    return (
        not entry.of
        and not search.get("no-aux-fusion")  # no published number is without it
        and entry.subset == subset
        and entry.part == str(search.get("decode-with") or "main")
        and entry.decoding.get("mask_source_layers", "") == masked
    )


def differing_settings(
    entry: Entry, settings: Mapping[str, Any], tokens: int | None, search: Mapping[str, Any]
) -> list[str]:
    """Returns the settings in which a run differs from the recipe of a published number, in words.

    ``recipes/papers.yaml`` says which settings of a recipe are printed, and which are choices.

    Args:
        settings, tokens, search: as of :func:`published_number`
    """
    from ..recipes.recipe import load
    from ..recipes.settings import settings_of

    if not settings:
        return ["the settings of the run are unknown"]
    recipe = settings_of(load(entry.task), entry.arch, like=entry.training)
    flags = flag_values(as_flags(settings))
    run = {flag: value for flag, value in flags.items() if flag[2:] not in _NEUTRAL}
    training = {**flag_values(recipe.flags), "--max-update": str(recipe.updates)}
    model = flag_values(as_flags(entry.flags))
    # a setting, of the run, of the recipe
    pairs: list[tuple[str, Any, Any]] = []
    if entry.measure == "params":  # the training does not change the size
        run = {flag: value for flag, value in run.items() if flag in model or flag not in training}
        expected = model
    else:
        training.pop("--max-tokens", None)
        expected = {**training, **model}
        if tokens is None or abs(tokens - recipe.tokens) > _TOKENS_TOLERANCE * recipe.tokens:
            pairs.append(("tokens of an update", tokens, recipe.tokens))
    for flag in dict.fromkeys([*expected, *run]):
        pairs.append((flag, run.get(flag), expected.get(flag)))
    if entry.measure in SCORES:
        wanted, own = flag_values(recipe.decode), flag_values(as_flags(search))
        pairs += [(flag, own[flag], wanted.get(flag)) for flag in _SEARCH if flag in own]
    return [
        f"{name} {_shown(own)}, in the recipe {_shown(expected_value)}"
        for name, own, expected_value in pairs
        if _plain(own) != _plain(expected_value)
    ]


def _plain(value: Any) -> object:
    """Returns a value in a form in which 1e-9 and 1e-09, (0.9,0.98) and (0.9, 0.98) are equal."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return value.replace(" ", "").strip("()")


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    return str(value) or "given"  # a switch has no value
