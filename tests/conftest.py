"""Makes the package and the tests' own helpers importable, and registers the plugin."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from commands import Bare

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path[:0] = [str(folder) for folder in (ROOT, TESTS, TESTS / "model", TESTS / "system")]
# what a test starts computes in float32 on every CPU; tests of bfloat16 choose it by this variable
os.environ["DC_NMT_BFLOAT16"] = "0"
if "PYTEST_XDIST_WORKER" not in os.environ:  # one for all processes; it goes with this one
    STORE = tempfile.TemporaryDirectory()
    os.environ["COMPOSED"] = STORE.name  # for tests/system/warm.py


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, but in the process of pytest-xdist that runs no test itself."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        gc.disable()  # until all is imported
        import torch

        import dc_nmt_plugin.registration  # noqa: F401
        from dc_nmt_plugin import compat

        torch.set_num_threads(1)
        compat.apply(all_of_them=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        help="test every combination of the axes, not only a set that has every pair of values, "
        "and every architecture where few stand for all",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--all"):
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_collection_finish() -> None:
    """What is imported and collected stays: no garbage collection need look through it again."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the tests cost: the time on the clock tells of what else the machine did too."""
    used = os.times()
    seconds = used.user + used.system + used.children_user + used.children_system
    terminalreporter.write_line(f"{seconds:.0f} seconds of CPU time, of all processes together")


@pytest.fixture
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """Runs code where this package is not imported yet."""
    from commands import Bare

    return Bare(tmp_path_factory.mktemp("bare"))
