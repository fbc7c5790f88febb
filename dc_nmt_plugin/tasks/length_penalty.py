"""Length normalisation of hypotheses."""

from __future__ import annotations


class WuLengthPenalty(float):
    """The papers' length penalty lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, eq. 14).

    fairseq's generator divides a hypothesis's score by ``|Y| ** len_penalty``; this number
    makes that expression Wu's. |Y| counts the end token, as in fairseq.

    >>> 7 ** WuLengthPenalty(1.0)
    2.0
    """

    def __rpow__(self, length: float, mod: None = None) -> float:
        return float(((5.0 + length) / 6.0) ** float(self))
