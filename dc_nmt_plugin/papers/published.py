"""What the papers printed for a run: parameters, and the score of its task's recipe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ..flags import flag_value
from .scores import published_scores


@dataclass(frozen=True)
class Published:
    """Numbers of a paper for one architecture on one task; None where it prints none.

    Attributes:
        parameters: count
        score: by the paper's metric
        place: where the score is printed
    """

    parameters: int | None = None
    score: float | None = None
    place: str | None = None


def published(task: str | None, arch: str | None, command: Sequence[str]) -> Published:
    """What is published for a run.

    Args:
        task: name of a recipe's folder, with languages in the order of the direction
        arch: value of ``--arch``
        command: words of the run's ``fairseq-train`` command
    """
    if task is None or arch is None:
        return Published()
    score, place = _score(task, arch, command)
    return Published(_parameters(task, arch), score, place)


def _score(task: str, arch: str, command: Sequence[str]) -> tuple[float | None, str | None]:
    """The recipe's entry with the most of the command's flags."""
    best: tuple[int, float | None, str | None] = (-1, None, None)
    for key, (value, place) in published_scores(task).items():
        name, *flags = key.split()
        if name == arch and _contains(command, flags) and len(flags) > best[0]:
            best = (len(flags), value, place)
    return best[1], best[2]


def _contains(command: Sequence[str], flags: Sequence[str]) -> bool:
    """Whether every flag is in the command, with its value where one follows it."""
    for flag, value in zip_longest(flags, flags[1:], fillvalue="--"):
        if flag.startswith("--"):
            wanted = None if value.startswith("--") else value
            found = flag_value(command, flag)
            if found is None or (wanted is not None and found != wanted):
                return False
    return True


def _parameters(task: str, arch: str) -> int | None:
    """The count in a published table of this task whose row has the architecture's settings."""

    # only here: reading stored results needs no fairseq
    from ..models import presets
    from .parameter_tables import PARAMETER_TABLES

    known = presets.architectures()
    if arch not in known:
        return None
    for table in PARAMETER_TABLES:
        if not _is_of(task, table.source):
            continue
        common = {**known[table.arch].settings, **table.common}
        for settings, millions in (({}, table.baseline[1]), *table.rows.values()):
            if known[arch].settings == {**common, **settings}:
                return round(millions * 1_000_000)
    return None


def _is_of(task: str, source: str) -> bool:
    """Whether a table's title names the task: wmt14_en_de and "WMT'14 En-De", or "(Es-En,"."""
    match = re.fullmatch(r"([a-z]+)(\d\d)_([a-z]{2})_([a-z]{2})", task)
    if not match:
        return False
    campaign, year, *pair = match.groups()
    languages = "-".join(language.capitalize() for language in pair)
    return f"{campaign.upper()}'{year} {languages}" in source or f"({languages}," in source
