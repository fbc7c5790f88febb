"""Draws docs/figures/results.svg: BLEU of the ten Transformers on Multi30k, a dot for each seed.

The means are those of examples/multi30k_en_de/results.json, the seeds those of the kept runs.

usage: python scripts/draw_results.py [FILE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from drawing import BLUE, INK, ORANGE, save
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parents[1] / "examples" / "multi30k_en_de"
BASELINE = "transformer_standard"
SYSTEMS = {
    "transformer": "fairseq's own Transformer",
    BASELINE: "this plugin's Transformer (baseline)",
    "transformer_dc": "dual-contextual self-attention",
    "transformer_ctxaware": "context-aware self-attention",
    "transformer_cross_agg": "cross aggregation of heads",
    "transformer_mlmha": "attention to four encoder layers",
    "transformer_mlmha_iter_c_agg": "aggregation of encoder layers",
    "transformer_ms_aux": "auxiliary decoder",
    "transformer_ms_aux_aif": "auxiliary decoder with fusion",
    "axes": "three mechanisms in one model",
}


def bleu(run: Path) -> float:
    """Returns a kept run's BLEU (mteval-v13a)."""
    scores = json.loads((run / "run.json").read_text("utf-8"))["decodings"][0]["scores"]
    return next(each["value"] for each in scores if each["metric"] == "mteval-v13a")


def draw(path: Path) -> None:
    """Draws a row of dots for each system, with a line at its mean."""
    table = json.loads((HERE / "results.json").read_text("utf-8"))
    means = {row["label"].split(",")[0]: row["score"] for row in table["rows"]}
    plt.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10})
    figure, axes = plt.subplots(figsize=(7.6, 3.6))
    seeds = {name: sorted(map(bleu, HERE.glob(f"runs/{name}-s?"))) for name in SYSTEMS}
    axes.axvspan(seeds[BASELINE][0], seeds[BASELINE][-1], color="#E6E6E6", lw=0, zorder=0)
    for place, name in enumerate(SYSTEMS):
        colour = INK if name in (BASELINE, "transformer") else BLUE
        axes.scatter(seeds[name], [place] * len(seeds[name]), s=36, color=colour, zorder=2)
        axes.plot([means[name]] * 2, [place - 0.32, place + 0.32], color=ORANGE, lw=2.2, zorder=3)
        axes.text(40.0, place, f"{means[name]:.1f}", va="center", ha="right", color=ORANGE)
    axes.set_yticks(range(len(SYSTEMS)), SYSTEMS.values())
    axes.set_ylim(len(SYSTEMS) - 0.4, -0.6)
    axes.set_xlim(37.0, 40.1)
    axes.set_xlabel("BLEU, Multi30k English-German, 7,200 updates")
    axes.tick_params(left=False)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    save(figure, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/results.svg"))
