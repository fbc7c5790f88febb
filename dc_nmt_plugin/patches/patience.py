"""Saves the count of ``--patience``, which fairseq loses when a run is continued."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .patch import replaces

KEY = "patience"  # in a checkpoint's extra_state
_counted: dict[str, Any] = {}  # "best": the best value; "num_runs": validations since


@replaces(
    "fairseq_cli.train:should_stop_early",
    "ccb2c9840efb",
    reason="a run that is killed and resumed starts to count --patience anew",
    since="fairseq 0.12.2",
    test="tests/system/test_continuing.py",
)
def remember_the_count(stock: Callable[..., bool]) -> Callable[..., bool]:
    def should_stop_early(cfg: Any, valid_loss: float | None) -> bool:
        # fairseq's function stores the count as attributes of itself, found by its name
        own = vars(should_stop_early)
        own.update(_counted)
        stops = stock(cfg, valid_loss)
        _counted.update({name: own[name] for name in ("best", "num_runs") if name in own})
        return stops

    return should_stop_early


def saved() -> dict[str, Any]:
    """Returns the entries for a checkpoint's ``extra_state``; empty without a count."""
    return {KEY: dict(_counted)} if _counted else {}


def restore(extra_state: Mapping[str, Any] | None) -> None:
    """Restores the count of a checkpoint.

    Args:
        extra_state: of the checkpoint; None restarts the count
    """
    _counted.clear()
    _counted.update((extra_state or {}).get(KEY) or {})


def is_over(patience: int) -> bool:
    """Returns True after so many validations in a row without a new best value."""
    return patience > 0 and int(_counted.get("num_runs", 0)) >= patience
