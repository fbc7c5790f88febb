"""Multi-layer multi-head attention (Ampomah's thesis, section 3.2.2), loops only.

One decoder row: queries (T, d) against n features (M, d_source) of one sentence, no padding.
Matrices are as in the thesis (vectors are rows, x W), per source layer and head.
"""

import math

import torch
from reference.conditional_gru import softmax


def multi_layer_attention(p, queries, features, num_heads, u0, u1):
    """Eqs (3.7)-(3.11).

    p: lists over source layers "q", "k", "v" of lists over heads of (W, b); "o": (W_o, b_o)

    Returns the outputs O_c, the weights [i][h][t][m], and the contexts c^i [i][t] of width d.
    """
    n = len(features)
    outputs, contexts = [], [[] for _ in range(n)]
    weights = [[[] for _ in range(num_heads)] for _ in range(n)]
    for x in queries:
        heads = [[] for _ in range(n)]
        for h in range(num_heads):
            alpha = []  # Eq. (3.7), scores of eq. (2.12)
            for i in range(n):
                (w_q, b_q), (w_k, b_k) = p["q"][i][h], p["k"][i][h]
                q = x @ w_q + b_q
                alpha.append([q @ (f @ w_k + b_k) / math.sqrt(len(q)) for f in features[i]])
            summed = [sum(alpha[i][m] for i in range(n)) for m in range(len(features[0]))]
            for i in range(n):
                w_v, b_v = p["v"][i][h]
                a = softmax(alpha[i]) if u0 else softmax(summed)  # Eq. (3.10)
                weights[i][h].append(torch.stack(a))
                heads[i].append(sum(a[m] * (f @ w_v + b_v) for m, f in enumerate(features[i])))
        c = [torch.cat(heads[i]) for i in range(n)]
        for i in range(n):
            contexts[i].append(c[i])
        joint = sum(c) if u1 else torch.cat(c)
        w_o, b_o = p["o"]
        outputs.append(joint @ w_o + b_o)  # Eq. (3.11)
    return torch.stack(outputs), weights, [torch.stack(c) for c in contexts]
