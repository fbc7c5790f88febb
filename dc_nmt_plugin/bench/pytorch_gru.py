"""Conditional GRU made of PyTorch's own cells, as a reference for speed."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..errors import UsageError
from ..models.recurrent.model import GRUModel
from ..modules.conditional_gru import ConditionalGRU, mean_annotation
from ..modules.core.source import Source
from ..modules.core.state import State, Stateful


class PyTorchConditionalGRU(Stateful):
    """Computes a :class:`.ConditionalGRU` with two :class:`torch.nn.GRUCell` and attention.

    Follows the printed equations: each step computes a context, and everything else from it.

    Args:
        gru: the module whose weights are used; without attention over earlier states
    """

    def __init__(self, gru: ConditionalGRU) -> None:
        super().__init__()
        width, hidden = gru.state_dim, gru.attention_dim
        source = gru.key_proj.in_features
        dtype = gru.key_proj.weight.dtype
        self.init_proj = gru.init_proj
        self.first = nn.GRUCell(gru.word_proj.in_features, width, dtype=dtype)
        self.first.weight_ih.data = gru.word_proj.weight.data
        self.first.bias_ih.data = gru.word_proj.bias.data
        self.first.weight_hh.data = gru.recurrent_proj1.weight.data
        self.first.bias_hh.data.zero_()
        self.query_proj = nn.Linear(width, hidden, dtype=dtype)
        self.query_proj.weight.data = gru.recurrent_proj2.weight.data[:hidden]
        self.query_proj.bias.data = gru.recurrent_proj2.bias.data[:hidden]
        self.key_proj = gru.key_proj
        self.score = gru.score
        self.second = nn.GRUCell(source, width, dtype=dtype)
        self.second.weight_ih.data = gru.value_proj.weight.data[: 3 * width]
        self.second.bias_ih.data.zero_()
        self.second.weight_hh.data = gru.recurrent_proj2.weight.data[hidden:]
        self.second.bias_hh.data = gru.recurrent_proj2.bias.data[hidden:]
        self.context_proj = nn.Linear(
            source, gru.value_proj.out_features - 3 * width, bias=False, dtype=dtype
        )
        self.context_proj.weight.data = gru.value_proj.weight.data[3 * width :]

    def forward(
        self, words: Tensor, source: Source, *, state: State | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """See :meth:`.ConditionalGRU.forward`."""
        annotations, keys, initial = source.cached(
            self, self._project_source, keep=state is not None
        )
        slot = {} if state is None else self.slot(state)
        last = slot["state"] if slot else initial.repeat_interleave(source.beam, dim=0)
        states, contexts, alignments = [], [], []
        for word in words.unbind(dim=1):
            first = self.first(word, last)
            queries = self.query_proj(first).view(source.sentences, source.beam, 1, -1)
            scores = self.score(torch.tanh(queries + keys[:, None]))[..., 0]  # (S, beam, M)
            if source.padding is not None:
                scores = scores.masked_fill(source.padding[:, None], -math.inf)
            weights = scores.softmax(dim=-1)
            context = (weights @ annotations).flatten(0, 1)  # (R, C)
            last = self.second(context, first)
            states.append(last)
            contexts.append(context)
            alignments.append(weights.flatten(0, 1))
        slot["state"] = last
        context = self.context_proj(torch.stack(contexts, dim=1))
        return torch.stack(states, dim=1), context, torch.stack(alignments, dim=1)

    def _project_source(self, source: Source) -> tuple[Tensor, ...]:
        """Returns annotations (S, M, C), keys (S, M, A) and the initial state (S, d)."""
        (annotations,) = source.features
        initial = torch.tanh(self.init_proj(mean_annotation(source)))
        return annotations, self.key_proj(annotations), initial


def with_pytorch_cells(model: nn.Module, name: str) -> nn.Module:
    """Returns the same model with a recurrence of PyTorch's cells.

    Args:
        model: as built
        name: of its architecture

    Raises:
        UserError: not a GRU model, or one that attends to its earlier states
    """
    if not isinstance(model, GRUModel) or model.decoder.cell.memory is not None:
        raise UsageError(
            f"--against pytorch: {name} is no recurrent translation model, or its recurrence "
            "reads a memory; take gru_selfattn_residual or its variants baseline, mean, scope."
        )
    model.decoder.add_module("cell", PyTorchConditionalGRU(model.decoder.cell))
    return model
