"""What ``docs/`` tells people to type works."""

from __future__ import annotations

import re

import torch
from commands import ROOT
from systems import SOURCE, train

DOCS = ROOT / "docs"


def test_python_blocks(corpus, tmp_path):
    """Each block of the page in turn, with the paths of a run of the tests."""
    train(corpus, tmp_path, "transformer_dc", "--max-epoch", 1).good()
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "python_api.md").read_text("utf-8"), re.S)
    assert len(blocks) == 4
    names = {"hypotheses": ["a house by the lake"], "references": ["a house by a lake"]}
    for block in blocks:
        block = block.replace("captions/transformer_dc-s1/checkpoints", str(tmp_path))
        block = block.replace("captions/data/bin/dict.en.txt", str(corpus / f"dict.{SOURCE}.txt"))
        block = block.replace('"captions/data/bin",', f'"{corpus}",')
        # this corpus has neither Moses' tokens nor BPE
        block = re.sub(r"\s*(tokenizer|moses_no_dash_splits|bpe|bpe_codes)=[^,\n]*,", "", block)
        exec(block, names)
    assert 0 < names["score"] < 100
    weights = names["records"]["encoder.stack.layers.0.self_attn"]["local_weights"]
    assert isinstance(weights, torch.Tensor) and weights.dim() == 4
    assert sum(p.numel() for p in names["model"].parameters()) > 0
