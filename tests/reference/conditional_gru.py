"""The conditional GRU of dl4mt, one sentence and one position at a time.

Miculicich Werlen et al. 2018, eqs 4-7, in the form of the released code: vectors are columns, W x;
gates one by one, no fused products. Weights are named as in dl4mt's tutorial.
"""

import torch


def sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def softmax(numbers):
    highest = max(number.item() for number in numbers)
    exponentials = [torch.exp(number - highest) for number in numbers]
    total = sum(exponentials)
    return [number / total for number in exponentials]


def weighted_sum(weights, vectors):
    total = torch.zeros_like(vectors[0])
    for weight, vector in zip(weights, vectors, strict=True):
        total = total + weight * vector
    return total


def gru1(w, s, y):
    """s' = GRU_1(s, y): the candidate's bias stands outside the reset product."""
    r = sigmoid(w["W_r"] @ y + w["U_r"] @ s + w["b_r"])
    u = sigmoid(w["W_u"] @ y + w["U_u"] @ s + w["b_u"])
    candidate = torch.tanh(w["W_x"] @ y + w["b_x"] + r * (w["U_x"] @ s))
    return u * s + (1 - u) * candidate


def gru2(w, s, c):
    """s = GRU_2(s', c): the candidate's bias stands inside the reset product."""
    r = sigmoid(w["Wc_r"] @ c + w["Un_r"] @ s + w["bn_r"])
    u = sigmoid(w["Wc_u"] @ c + w["Un_u"] @ s + w["bn_u"])
    candidate = torch.tanh(w["Wc_x"] @ c + r * (w["Un_x"] @ s + w["bn_x"]))
    return u * s + (1 - u) * candidate


def attention(w, s, annotations):
    """Eqs (5)-(7): c_t and the weights."""
    scores = [w["v_a"] @ torch.tanh(w["W_a"] @ s + w["b_a"] + w["U_a"] @ h) for h in annotations]
    weights = softmax(scores)
    return weighted_sum(weights, annotations), weights


def initial_state(w, annotations):
    mean = weighted_sum([1 / len(annotations)] * len(annotations), annotations)
    return torch.tanh(w["W_0"] @ mean + w["b_0"])


def conditional_gru(w, words, annotations, memory=False):
    """States s_t, contexts c_t, source weights and, with `memory`, weights of earlier states."""
    s = initial_state(w, annotations)
    states, contexts, alignments, memories = [], [], [], []
    summary = s  # s̃_1 = s_0
    for y in words:
        if memory:
            read = []
            if states:  # Eqs (15)-(17)
                scores = [
                    w["v_m"] @ torch.tanh(w["W_m"] @ state + y + w["U_m"] @ summary)
                    for state in states
                ]
                read = softmax(scores)
                summary = weighted_sum(read, states)
            memories.append(read)
            s = summary  # Eq. (14)
        middle = gru1(w, s, y)
        c, alignment = attention(w, middle, annotations)
        s = gru2(w, middle, c)  # Eq. (4)
        states.append(s)
        contexts.append(c)
        alignments.append(alignment)
    return states, contexts, alignments, memories
