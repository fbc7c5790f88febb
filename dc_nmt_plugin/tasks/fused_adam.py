"""fairseq's Adam as one operation instead of seven operations for each parameter."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import torch
from fairseq.optim.adam import Adam, FairseqAdam
from torch import Tensor
from torch.optim.adamw import adamw


def step_fused(optimizer: Any) -> bool:
    """Replaces ``optimizer.step()``, if it is fairseq's plain Adam on float32 parameters.

    The result equals fairseq's up to rounding. The state has the same form, so checkpoints do
    not depend on the choice.

    Returns:
        True when the step was made; False for other optimizers and for half precision
    """
    if type(optimizer) is not FairseqAdam or type(optimizer.optimizer) is not Adam:
        return False
    adam = optimizer.optimizer
    groups = adam.param_groups
    if not all(_is_plain(p) for group in groups for p in group["params"]):
        return False
    if any(group.get("amsgrad", False) for group in groups):
        return False
    for group in groups:
        of_step = defaultdict(list)  # parameters with equally many steps
        for parameter in group["params"]:
            if parameter.grad is not None:
                of_step[_advance(adam.state[parameter], parameter)].append(parameter)
        for step, parameters in of_step.items():
            _update(group, step, parameters, [adam.state[p] for p in parameters])
    return True


def _is_plain(parameter: Tensor) -> bool:
    grad = parameter.grad
    return parameter.dtype == torch.float32 and (
        grad is None or (grad.dtype == torch.float32 and not grad.is_sparse)
    )


def _advance(state: dict[str, Any], parameter: Tensor) -> int:
    """Returns the number of this step; the first step creates the state as fairseq does."""
    if not state:
        state["step"] = 0
        state["exp_avg"] = torch.zeros_like(parameter.data)
        state["exp_avg_sq"] = torch.zeros_like(parameter.data)
    state["step"] += 1
    return int(state["step"])


def _update(
    group: dict[str, Any], step: int, parameters: list[Tensor], states: list[dict[str, Any]]
) -> None:
    beta1, beta2 = group["betas"]
    device = parameters[0].device
    with torch.no_grad():
        adamw(
            parameters,
            [p.grad for p in parameters if p.grad is not None],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            # the operation increments it
            list(torch.full((len(states),), step - 1.0, device=device).unbind()),
            fused=True,
            amsgrad=False,
            beta1=beta1,
            beta2=beta2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            # torch divides √v by √(1 - β₂^t) before it adds ε, fairseq divides the sum
            eps=group["eps"] / math.sqrt(1 - beta2**step),
            maximize=False,
        )
