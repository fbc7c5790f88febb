"""Logits of the recurrent decoders, one sentence at a time, from the equations of their parts.

Miculicich Werlen et al. 2018: eq. (3) of the baselines, (8) with residual connections, (18) of the
self-attentive RNN; section 7.3 has the language model's.
"""

import torch
from reference import residual_context
from reference.conditional_gru import conditional_gru, sigmoid
from reference.residual_context import readout, state_summary

RESIDUAL = {
    "mean": residual_context.mean,
    "content": residual_context.content,
    "content+scope": residual_context.content_scope,
}
RESIDUAL |= {f"{name}+last": residual_context.and_last(d) for name, d in RESIDUAL.items()}


def logits_of(w, kind, words, states, contexts=None):
    """W_o z_t + b_o of every position; `w` has a dictionary of weights for each part."""
    if kind == "plain":
        return [w["output"]["W"] @ s + w["output"]["b"] for s in states]
    seen = words  # the last word
    if kind in RESIDUAL:
        seen = [vector for vector, _ in RESIDUAL[kind](w["residual"], words, states)]
    summaries = [None] * len(words)
    if kind == "self-attentive-rnn":
        summaries = [vector for vector, _ in state_summary(w["summary"], states)]
    result = []
    for t, s in enumerate(states):
        c = None if contexts is None else contexts[t]
        z = readout(w["readout"], s, seen[t], c, summaries[t])
        result.append(w["output"]["W"] @ z + w["output"]["b"])
    return result


def translation_logits(w, kind, words, annotations):
    """Of the GRU decoder, given the words so far (y_0 first) and the source's annotations."""
    states, contexts, _, _ = conditional_gru(
        w["cell"], words, annotations, memory=kind == "memory-rnn"
    )
    projected = [w["cell"]["W_c"] @ c for c in contexts]
    return logits_of(w, kind, words, states, projected)


def language_logits(w, kind, words):
    """Of the language model: torch's LSTM equations, from the zero state."""
    hidden = cell = torch.zeros(w["lstm"]["U"].shape[1], dtype=words[0].dtype)
    states = []
    for y in words:
        i, f, g, o = (w["lstm"]["W"] @ y + w["lstm"]["U"] @ hidden + w["lstm"]["b"]).chunk(4)
        cell = sigmoid(f) * cell + sigmoid(i) * torch.tanh(g)
        hidden = sigmoid(o) * torch.tanh(cell)
        states.append(hidden)
    return logits_of(w, kind, words, states)
