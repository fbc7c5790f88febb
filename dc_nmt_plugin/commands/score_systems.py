"""``dc-nmt score SYSTEM…``: a row for each of several systems, or for a run."""

from __future__ import annotations

import argparse
import sys

from ..evaluation.metrics import find_metrics, in_groups
from ..evaluation.systems import load_systems, sides_of
from ..flags import flag_name
from .parser import Parser, form_of, print_json
from .plain_text import plain_text_of


def score_systems(options: Parser, args: argparse.Namespace) -> int:
    """Prints a row for each of several systems, or for a run."""
    of_one = (
        *("out", "detokenized", "generate_log", "train_log", "comet_model", "paper"),
        *("name", "decoding", "subset"),
    )
    given = [name for name in of_one if getattr(args, name)]
    given += ["reference"] if len(args.reference) > 1 else []
    if given:
        flag = "--as" if given[0] == "decoding" else flag_name(given[0])
        options.error(f"{flag}: goes with one file, not with runs or several systems")
    reference = str(args.reference[0]) if args.reference else None
    systems = load_systems(args.systems, plain_text_of(args, reference))
    lang, references = systems[0].target_lang, systems[0].texts.raw.references
    names = in_groups(
        args.metrics or "default", lang, tokenized=False, comet=False, references=references
    )
    metrics = find_metrics("--metrics", ",".join(names))
    found = {}
    for metric in metrics:
        for label, side in sides_of(systems, metric).items():
            found[label, metric.name] = metric.score(side.hypotheses, side.references, lang)
    for warning in dict.fromkeys(w for system in systems for w in system.texts.warnings):
        print(f"warning: {warning}", file=sys.stderr)
    if args.json:
        facts = [
            {"system": label, "metric": metric, "score": score, "signature": signature}
            for (label, metric), (score, signature) in found.items()
        ]
        print_json(facts)
        return 0
    header = ("system", *(metric.name for metric in metrics))
    rows = [
        (system.label, *(f"{found[system.label, m.name][0]:.2f}" for m in metrics))
        for system in systems
    ]
    form = form_of(args)
    print(form.write(header, rows))
    print(form.lines(f"{m.name}: {found[systems[0].label, m.name][1]}" for m in metrics))
    return 0
