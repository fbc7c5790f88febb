"""Who made what of a run: the user's command, when it ran, and the code that it ran."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..flags import COMMAND_VARIABLE


@dataclass(frozen=True)
class Call:
    """A command, as it was called."""

    date: str | None = None  # when it was entered, in UTC
    command: str | None = None  # as typed
    commit: str | None = None  # of the plugin's checkout, with "-dirty" after changes
    versions: dict[str, str] = field(default_factory=dict)  # package → version


@dataclass(frozen=True)
class Start(Call):
    """A start of a training run, which makes its updates until the next start."""

    from_update: int = 0
    device: str | None = None  # processors or GPUs


def this_call() -> Call:
    """Returns the call of this process, or of the ``dc-nmt`` that started it."""
    from ..machine import FAIRSEQS, version_of  # a listing reads calls and makes none

    typed = shlex.join([os.path.basename(sys.argv[0]), *sys.argv[1:]])
    packages = ("dc_nmt_plugin", "torch", *FAIRSEQS, "numpy", "sacrebleu")
    versions = {name: version for name in packages if (version := version_of(name))}
    return Call(
        datetime.now(UTC).isoformat(timespec="seconds"),
        os.environ.get(COMMAND_VARIABLE, typed),
        _commit(Path(__file__).parents[2]),
        {"python": platform.python_version(), **versions},
    )


def _commit(checkout: Path) -> str | None:
    """Returns the commit of a checkout; None for an installed package, and where git knows none."""
    if not (checkout / ".git").exists():  # git would find another repository above it
        return None
    words = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False)
    except OSError:  # no git
        return None
    return done.stdout.strip() or None
