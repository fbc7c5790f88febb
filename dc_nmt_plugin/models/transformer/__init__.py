"""One Transformer on four axes: self-attention, source features, auxiliary decoders, base block.

`build` makes modules of the flags; `encoder`, `decoder` and `layers` have the forward pass.
Tests: ``tests/model/test_assembly.py``, ``tests/model/test_ground_rules.py``.
"""
