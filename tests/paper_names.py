"""The recurrent modules' parameters under the names that their loop-only references have."""

from __future__ import annotations

import torch
from torch import Tensor, nn

Weights = dict[str, Tensor]


def of_conditional_gru(module: nn.Module) -> Weights:
    """For ``reference.conditional_gru``."""
    state = module.init_proj.out_features
    attention = module.key_proj.out_features
    context = module.value_proj.out_features - 3 * state
    w = {"W_0": module.init_proj.weight, "b_0": module.init_proj.bias}
    query, *recurrent = module.recurrent_proj2.weight.split([attention, state, state, state])
    query_bias, *recurrent_bias = module.recurrent_proj2.bias.split(
        [attention, state, state, state]
    )
    *values, w["W_c"] = module.value_proj.weight.split([state, state, state, context])
    for i, gate in enumerate("rux"):
        w[f"W_{gate}"] = module.word_proj.weight.chunk(3)[i]
        w[f"b_{gate}"] = module.word_proj.bias.chunk(3)[i]
        w[f"U_{gate}"] = module.recurrent_proj1.weight.chunk(3)[i]
        w[f"Wc_{gate}"], w[f"Un_{gate}"] = values[i], recurrent[i]
        w[f"bn_{gate}"] = recurrent_bias[i]
    w["W_a"], w["b_a"] = query, query_bias
    w["U_a"], w["v_a"] = module.key_proj.weight, module.score.weight[0]
    if module.memory is not None:
        w["W_m"], w["U_m"] = module.memory.key_proj.weight, module.memory.summary_proj.weight
        w["v_m"] = module.memory.score.weight[0]
    return w


def of_attention(module: nn.Module) -> Weights:
    """For ``reference.residual_context``: attention to words, or to earlier states."""
    names = {
        "score.weight": "v",
        "word_proj.weight": "W_y",
        "word_proj.bias": "b_y",
        "state_proj.weight": "W_s",
        "key_proj.weight": "W_k",
        "query_proj.weight": "W_q",
        "query_proj.bias": "b_q",
    }
    weights = {names[name]: parameter for name, parameter in module.named_parameters()}
    return {name: x[0] if name == "v" else x for name, x in weights.items()}


def of_readout(module: nn.Module) -> Weights:
    """For ``reference.residual_context.readout``, but W_c, which the recurrence has applied."""
    w = {"W_s": module.state_proj.weight, "b": module.state_proj.bias}
    w["W_d"] = module.word_proj.weight
    w["W_c"] = torch.eye(module.state_proj.out_features, dtype=w["b"].dtype)
    if module.summary_proj is not None:
        w["W_m"] = module.summary_proj.weight
    return w
