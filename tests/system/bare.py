"""What the fork server of :class:`commands.Bare` imports: fairseq, and nothing of this package."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys

import fairseq_cli.generate
import fairseq_cli.train
import fairseq_cli.validate  # noqa: F401
import torch._dynamo  # noqa: F401  torch imports it with its first optimizer
from warm import compose_once

compose_once()


def execute(
    code: str,
    words: list[str],
    folder: str,
    path: list[str],
    environment: dict[str, str],
    files: list[str],
) -> None:
    """Runs code as ``python -c CODE WORDS…`` does, and ends the process as it would.

    Args:
        code: as for ``python -c``
        words: the command line after the program's name
        folder: to run in
        path: where modules are looked for first
        environment: further variables
        files: for standard output and standard error
    """
    assert "dc_nmt_plugin" not in sys.modules
    # the program's own workers start as a user's do, not by a fork server that imports torch anew
    multiprocessing.set_start_method(None, force=True)  # type: ignore[arg-type]
    for descriptor, name in zip((1, 2), files, strict=True):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), descriptor)
    os.chdir(folder)
    os.environ.update(environment)
    tests = [place for place in sys.path if "tests" in place]
    sys.path[:] = [*path, *(place for place in sys.path if place not in tests)]
    sys.argv = ["-c", *words]
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit:
        raise
    except BaseException:
        with contextlib.suppress(SystemExit):
            sys.excepthook(*sys.exc_info())
        sys.exit(1)
