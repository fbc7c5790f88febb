"""Makes the package and the tests' own helpers importable, and registers the plugin."""

import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "model")]
torch.set_num_threads(1)

import dc_nmt_plugin.registration  # noqa: E402, F401
