"""Tiny binarised text and tiny trained systems, made once a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import Bare
from systems import SPLITS, binarise, train


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of binarised text; its splits have SPLITS' numbers of sentences."""
    return binarise(tmp_path_factory.mktemp("corpus"), SPLITS)


@pytest.fixture(scope="session")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Architecture → save folder of a system trained for one epoch; treat it as read-only."""
    folders: dict[str, Path] = {}

    def of(arch: str) -> Path:
        if arch not in folders:
            save = tmp_path_factory.mktemp(arch)
            train(corpus, save, arch, "--max-epoch", 1).good()
            folders[arch] = save
        return folders[arch]

    return of


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    """Runs code where this package is not imported yet."""
    process = Bare(tmp_path_factory.mktemp("bare"))
    yield process
    process.close()
