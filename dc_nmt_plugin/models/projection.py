"""Output projection, which the criterion applies outside the forward pass of the model."""

from __future__ import annotations

from torch import Tensor, nn


def in_graph(projection: nn.Linear) -> list[Tensor]:
    """Returns empty slices of the projection's parameters, for the output of a forward pass.

    With ``find_unused_parameters``, DistributedDataParallel treats parameters as unused if the
    returned tensors do not depend on them. It then fails when the loss gives them a gradient.
    """
    return [parameter[:0] for parameter in projection.parameters()]
