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
    for group in adam.param_groups:
        if group.get("amsgrad", False) or not all(map(_is_plain, group["params"])):
            return False
    for group in adam.param_groups:
        by_step = defaultdict(list)  # a parameter may have had fewer gradients than others
        for parameter in group["params"]:
            if parameter.grad is not None:
                state = adam.state[parameter]
                if not state:  # as fairseq creates it
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(parameter.data)
                    state["exp_avg_sq"] = torch.zeros_like(parameter.data)
                state["step"] += 1
                by_step[int(state["step"])].append(parameter)
        for step, parameters in by_step.items():
            _update(group, step, parameters, [adam.state[p] for p in parameters])
    return True


def _is_plain(parameter: Tensor) -> bool:
    grad = parameter.grad
    return parameter.dtype == torch.float32 and (
        grad is None or (grad.dtype == torch.float32 and not grad.is_sparse)
    )


@torch.no_grad()
def _update(
    group: dict[str, Any], step: int, parameters: list[Tensor], states: list[dict[str, Any]]
) -> None:
    beta1, beta2 = group["betas"]
    adamw(
        parameters,
        [p.grad for p in parameters if p.grad is not None],
        [state["exp_avg"] for state in states],
        [state["exp_avg_sq"] for state in states],
        [],
        # the operation increments it
        list(torch.full((len(states),), step - 1.0, device=parameters[0].device).unbind()),
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
