"""Wu's length penalty, whatever kind of number the length is."""

import numpy as np
import pytest
import torch

from dc_nmt_plugin.tasks.decoding import WuLengthPenalty

LENGTHS = {
    "int": 7,
    "float": 7.0,
    "numpy integer": np.int64(7),
    "numpy float": np.float64(7),
    "numpy half": np.float16(7),
    "array": np.array([7, 7]),
    "tensor": torch.tensor([7, 7]),
    "tensor of one": torch.tensor(7.0),
}


@pytest.mark.parametrize("kind", LENGTHS)
def test_every_kind_of_length(kind):
    penalty = LENGTHS[kind] ** WuLengthPenalty(2.0)
    assert type(penalty) is not WuLengthPenalty
    assert torch.as_tensor(penalty).double().tolist() in (4.0, [4.0, 4.0])
