"""The stored claims have verdicts, and are of the kept translations."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "multi30k_en_de"
DATA = json.loads((EXAMPLE / "claims.json").read_text("utf-8"))


def test_every_claim_has_a_verdict():
    verdicts = Counter(claim["verdict"] for claim in DATA["claims"])
    assert verdicts == {"for": 25, "against": 14, "undecided": 63}


def test_the_compared_translations_are_those_that_are_kept():
    for name, digest in DATA["kept"].items():
        assert hashlib.sha256((EXAMPLE / name).read_bytes()).hexdigest()[:16] == digest, name
