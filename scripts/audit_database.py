"""Leaves with 0 where PyPI's database of known holes, which pip-audit asks, can be reached."""

import json
import sys
import urllib.request

# a release whose holes are known: mirrors answer too, without them
KNOWN = "https://pypi.org/pypi/pyyaml/5.3/json"

try:
    with urllib.request.urlopen(KNOWN, timeout=5) as answer:
        sys.exit(not json.load(answer)["vulnerabilities"])
except (OSError, ValueError, KeyError):
    sys.exit(1)
