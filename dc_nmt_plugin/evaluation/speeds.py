"""Reads the speeds of models that ``dc-nmt bench RUN… --json`` measured in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError
from ..files import load_json
from ..runs.finding import Run

# modes of dc-nmt bench
TRAINING, DECODING = "train", "decode"
_STOCK_ROW = "stock"  # name of a run of stock fairseq's architecture


@dataclass(frozen=True)
class Speeds:
    """Holds the content of a benchmark's JSON.

    Attributes:
        where: machine, threads, clock and rounds, in words
        of: mode → system of a run, or ``stock`` → target tokens (training) or sentences
            (decoding) a second
    """

    where: str
    of: dict[str, dict[str, float]]

    @classmethod
    def read(cls, path: Path) -> Speeds:
        """Raises UserError where the file is not what ``dc-nmt bench --json`` prints."""
        report = load_json(path)
        try:
            of: dict[str, dict[str, float]] = {TRAINING: {}, DECODING: {}}
            for row in report["results"]:
                of[row["mode"]][row["system"] or row["name"]] = float(row["speed"])
            where = (
                f"{report['machine']}, {report['threads']} thread(s), {report['clock']}, "
                f"{report['rounds']} interleaved rounds"
            )
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise UserError(
                f"--speeds {path}: is not what dc-nmt bench RUN… --json prints: {error}"
            ) from error
        return cls(where, of)

    @property
    def names(self) -> list[str]:
        """Returns the names of the measured subjects, in order."""
        return list(dict.fromkeys(name for speeds in self.of.values() for name in speeds))

    def speed(self, mode: str, runs: Sequence[Run]) -> float | None:
        """Returns the speed of the first measured run in a row; None if none was measured."""
        from ..models.presets.family import STOCK

        systems = [
            _STOCK_ROW if r.record.architecture == STOCK.name else r.record.system for r in runs
        ]
        known = self.of[mode]
        return next((known[system] for system in systems if system in known), None)
