"""Length normalisation of hypotheses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WuLengthPenalty:
    """The papers' length penalty lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, eq. 14).

    fairseq's generator divides a hypothesis's score by ``|Y| ** len_penalty``; this object makes
    that expression Wu's. |Y| counts the end token, as in fairseq, and may be a number, an array of
    numpy's or a tensor. The class is not a float, because numpy and torch would then use the
    float's power.

    >>> 7 ** WuLengthPenalty(1.0)
    2.0
    """

    alpha: float
    __array_ufunc__ = None  # so that numpy leaves the power to this class

    def __rpow__(self, length: Any) -> Any:
        return ((5.0 + length) / 6.0) ** self.alpha
