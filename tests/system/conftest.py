"""Tiny binarised text and tiny trained systems, made once a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from systems import SPLITS, binarise, train


@pytest.fixture(scope="session", autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Programs keep tracebacks in the folder for temporary files: none is left in the system's."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr("tempfile.tempdir", folder)
        yield


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
def lively(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Architecture → a checkpoint whose hypotheses differ in words and length."""
    folder = tmp_path_factory.mktemp("lively")
    flags = ["--max-epoch", 12, "--dropout", 0, "--save-interval", 12, "--disable-validation"]
    for side in ("encoder", "decoder"):
        flags += [f"--{side}-embed-dim", 16, f"--{side}-ffn-embed-dim", 32]

    def of(arch: str) -> Path:
        path = folder / arch / "checkpoint_last.pt"
        if not path.exists():
            train(corpus, path.parent, arch, *flags).good()
        return path

    return of
