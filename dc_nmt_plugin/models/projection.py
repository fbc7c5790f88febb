"""The output projection, which the criterion multiplies by outside of a model's forward pass."""

from __future__ import annotations

from torch import Tensor, nn


def in_graph(projection: nn.Linear) -> list[Tensor]:
    """Empty slices of the projection's parameters, to be among what a forward pass returns.

    With ``find_unused_parameters``, DistributedDataParallel takes for unused what the returned
    tensors do not depend on, and fails when the loss brings a gradient for it after all.
    """
    return [parameter[:0] for parameter in projection.parameters()]
