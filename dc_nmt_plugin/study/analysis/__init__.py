"""Analyses of trained models, as the papers make them.

Tests: ``tests/unit/analysis``, ``tests/system/test_analyze.py``.

``subject.py`` has the model and the text, ``figure.py`` draws. Each analysis is a module with:

- ``measure(subject, …)``, which returns a dataclass with what it finds in one model
  (``curves`` reads the folder of a run instead of a model);
- ``tables(results, …)`` and ``draw(figure, results, …)``, which show the results of several runs,
  by their labels.

Options are keyword arguments, with the names of the options of ``dc-nmt analyze``; their help is in
``commands/analyze_options.py``.
"""

from __future__ import annotations

# name of the analysis and its module → one line about it, and the paper's figure that it draws
ANALYSES = {
    "attention": (
        "mean distance and entropy of attention, by head and layer",
        "thesis, section 3.5.3, Figs 3.8-3.12",
    ),
    "divergence": (
        "divergence of global and local attention, by layer and kernel size",
        "dual context, section 7.2, Fig. 4; thesis, Fig. 5.4",
    ),
    "gates": ("mean gates λ_Q, λ_K by layer, side and context", "context-aware, Figs 2 and 3"),
    "parts-of-speech": ("mean gates λ_Q, λ_K by part of speech", "context-aware, Fig. 4"),
    "routing": (
        "routing: entropy of the head weights Λ by length, zero weights, parts Ω↕ and Ω↔",
        "cross aggregation, eqs (8)-(14), section 4.1",
    ),
    "source-layers": (
        "source layers: BLEU with each of them masked",
        "thesis, section 3.5.4, Table 3.5",
    ),
    "dependency": (
        "dependency on the fusion with auxiliary decoders: by model, layer and word",
        "thesis, eqs (4.4)-(4.7), Figs 4.7 and 4.8",
    ),
    "previous-words": (
        "attention to earlier target words: share of relative positions",
        "residual decoder, section 8.1, Fig. 2",
    ),
    "trees": (
        "binary trees from the attention to earlier words (Algorithm 1), and ParsEval",
        "residual decoder, section 8.2, Fig. 4",
    ),
    "lengths": (
        "BLEU and gain over the first run, by groups of source length",
        "context-aware, Fig. 5; thesis, section 3.5.1, Fig. 3.6",
    ),
    "matrix": ("attention matrices of any attention, for one sentence", "residual decoder, Fig. 3"),
    "curves": ("learning curves: losses, BLEU and diagnostics", "curve.log of each run"),
}

# -- values of options, without torch -------------------------------------------------------------

# values of --of, for attention
ATTENTION_KINDS = {
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
    "source": "attention of the decoder to the source",
}
# values of --keys: which keys of self-attention count
KEYS = {"all": "all keys", "lower": "keys up to the query (j ≤ i, as in the thesis)"}
# values of --text: the decoder is forced to the text's target side, or to its own translation
TEXTS = ("reference", "beam", "greedy")
CURVES = ("train:loss", "valid:loss", "valid:bleu")  # default of --numbers
EDGES = (10, 20, 30, 40, 50)  # first lengths of groups, as in the thesis
ZERO = 5e-4  # routing weights below it are zero in three decimals
