#!/usr/bin/env python3
"""The systems of the control of Enc-DC's gain, and the parameters of their models.

usage: python examples/europarl_en_fr/control_systems.py [--data DIR] [--words SYSTEM …]

  --data DIR  count with the dictionary of this folder of fairseq-preprocess; default: with as many
              types as that of the runs in seeds/
  --words     print the systems as gpu.sh takes them
"""

from __future__ import annotations

import argparse
from pathlib import Path

TYPES = 10_224  # of the dictionary, with fairseq's special symbols
SIZE = "iwslt"  # of the recipe
ENC_DC = "transformer_dc"
SYSTEMS = {  # name → architecture and flags
    "transformer_standard": "transformer_standard",
    ENC_DC: ENC_DC,
    "wide": "transformer_standard --encoder-ffn-embed-dim 2048",
    "deep": "transformer_standard --encoder-layers 5 --decoder-layers 5",
}


def parameters(types: int) -> dict[str, int]:
    """Returns the parameters of each system's model with a dictionary of so many types."""
    from dc_nmt_plugin.laboratory.parameter_count import (
        build_without_memory,
        count,
        dummy_dictionary,
    )
    from dc_nmt_plugin.study.papers.parameters import parsed_settings

    counts = {}
    for name, words in SYSTEMS.items():
        architecture, *flags = words.split()
        settings, _ = parsed_settings(f"{architecture}_{SIZE}", flags)
        model = build_without_memory(f"{architecture}_{SIZE}", settings, dummy_dictionary(types))
        counts[name] = count(model)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description="Systems of the control, and their parameters.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--words", nargs="+", choices=SYSTEMS, metavar="SYSTEM")
    args = parser.parse_args()
    if args.words:
        for name in args.words:
            print(f"{name}={SYSTEMS[name]}")
        return
    from dc_nmt_plugin.laboratory.table import markdown_table

    types = TYPES
    if args.data:
        types = 4 + len((args.data / "dict.en.txt").read_text("utf-8").splitlines())
    counts = parameters(types)
    rows = []
    for name, number in counts.items():
        _, *flags = SYSTEMS[name].split()
        shown = f"`{' '.join(flags)}`" if flags else ""
        rows.append((f"`{name}`", shown, f"{number:,}", f"{number / counts[ENC_DC] - 1:+.2%}"))
    print(markdown_table(("system", "flags", "parameters", "to Enc-DC"), rows))


if __name__ == "__main__":
    main()
