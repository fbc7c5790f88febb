"""The work of fairseq's optimizers on all parameters at once, instead of operations for each.

Each function does the work, or returns False or None and does nothing: then it is for fairseq.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw


def _on_one_device(tensors: Sequence[Tensor]) -> bool:
    """Returns whether there are tensors, all dense and on the same device."""
    devices = {tensor.device for tensor in tensors}
    return len(devices) == 1 and not any(tensor.is_sparse for tensor in tensors)


def clip(parameters: Sequence[Tensor], max_norm: float) -> Tensor | None:
    """Returns the Euclidean norm of all gradients together, and scales them to at most `max_norm`.

    A `max_norm` of 0 stands for any norm.
    """
    gradients = [param.grad.detach() for param in parameters if param.grad is not None]
    if not _on_one_device(gradients):
        return None
    norms = torch._foreach_norm(gradients, 2, dtype=torch.float32)
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    if max_norm > 0:
        torch._foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_(max=1))
    return norm


def _in_both_precisions(optimizer: Any) -> tuple[list[Any], list[Any]]:
    """Returns parameters in half precision and in float32, if fairseq keeps them one by one."""
    low, exact = optimizer.fp16_params, optimizer.fp32_params
    if optimizer.has_flat_params or not _on_one_device([*low, *exact]):
        return [], []
    return low, exact


def clear_gradients(optimizer: Any) -> bool:
    """Does ``zero_grad`` of fairseq's optimizer for bfloat16."""
    low, exact = _in_both_precisions(optimizer)
    if not low or optimizer.scaler is not None:
        return False
    for parameter in low:
        parameter.grad = None
    torch._foreach_zero_([param.grad for param in exact if param.grad is not None])
    optimizer._needs_sync = False
    return True


def gradients_to_float32(optimizer: Any) -> bool:
    """Copies gradients of fairseq's optimizer for half precision into those of float32."""
    if not optimizer._needs_sync:  # fairseq asks again before its step
        return True
    low, exact = _in_both_precisions(optimizer)
    if not low or any(param.grad is None for param in (*low, *exact)):
        return False
    torch._foreach_copy_([param.grad for param in exact], [param.grad for param in low])
    optimizer._needs_sync = False
    return True


def parameters_from_float32(optimizer: Any) -> bool:
    """Copies parameters of fairseq's optimizer for half precision from those in float32."""
    low, exact = _in_both_precisions(optimizer)
    if low:
        torch._foreach_copy_([param.data for param in low], [param.data for param in exact])
    return bool(low)


def step_of_adam_on_a_gpu(adam: Any) -> bool:
    """Makes a step of fairseq's Adam; on a CPU this would be no faster."""
    if any(group.get("amsgrad") for group in adam.param_groups):
        return False
    tensors = [param for group in adam.param_groups for param in group["params"]]
    tensors += [param.grad for param in tensors if param.grad is not None]
    exact = all(tensor.is_cuda and tensor.dtype == torch.float32 for tensor in tensors)
    if not exact or not _on_one_device(tensors):
        return False
    step_of_adam(adam)
    return True


@torch.no_grad()
def step_of_adam(adam: Any) -> None:
    """Makes a step of fairseq's Adam in float32; state and result are its own, up to rounding."""
    for group in adam.param_groups:
        by_step = defaultdict(list)  # a parameter may have had fewer gradients than others
        for parameter in group["params"]:
            if parameter.grad is not None:
                state = adam.state[parameter]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(parameter)
                    state["exp_avg_sq"] = torch.zeros_like(parameter)
                state["step"] += 1
                by_step[int(state["step"])].append(parameter)
        for step, parameters in by_step.items():
            _update(group, step, parameters, [adam.state[param] for param in parameters])


def _update(
    group: dict[str, Any], step: int, parameters: list[Tensor], states: list[dict[str, Any]]
) -> None:
    beta1, beta2 = group["betas"]
    adamw(
        parameters,
        [parameter.grad for parameter in parameters if parameter.grad is not None],
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
