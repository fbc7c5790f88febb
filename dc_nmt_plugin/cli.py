"""``dc-nmt``: what fairseq has no command for."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Sequence

from .errors import UserError

# command → (module, what it does); every module has main(argv) -> int
COMMANDS = {
    "doctor": ("doctor", "what is installed here, and how to mend what is not"),
    "user-dir": ("user_dir", "the path to give to fairseq's --user-dir"),
    "arch-flags": ("arch_flags", "the --arch, --task and --criterion flags of an architecture"),
    "params": ("params", "parameters of every architecture, built and published"),
    "bench": ("bench", "training and decoding speed against fairseq's own transformer"),
    "corpus": ("corpus", "make the embedded parallel corpus"),
    "check-text": ("corpus.checks", "check a pair of parallel text files"),
    "split-text": ("corpus.pieces", "split text reversibly at punctuation and digits"),
    "recipe": ("recipes.command", "published tasks: their text and settings, for scripts/*.sh"),
    "head-weights": ("analysis.head_weights_command", "how peaked cross aggregation's Λ is"),
    "mask-layers": ("analysis.mask_layers", "BLEU without each of the encoder layers it reads"),
    "average": ("averaging", "average checkpoints"),
    "export": ("export", "a checkpoint without auxiliary decoders, or as fairseq's transformer"),
    "progress": ("progress", "one readable line from the log of a running fairseq-train"),
    "score": ("report.score_command", "every score that papers print, of a translation"),
    "report": ("report.report_command", "finished runs side by side, with examples"),
    "compare": ("report.compare_command", "systems against a baseline: significance, lengths"),
    "results": ("report.results_command", "finished runs in one table, beside published numbers"),
}


def usage() -> str:
    """The text of ``dc-nmt --help``."""
    lines = ["usage: dc-nmt COMMAND [options]", "", "commands:"]
    lines += [f"  {name:<13}{text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join([*lines, "", "dc-nmt COMMAND --help tells a command's options."])


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: arguments without the program's name; default those of the process

    Returns:
        exit status: 0, 1 for a failure that was explained, 2 for an unknown command
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"dc-nmt: {name!r} is not one of {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    logging.disable(logging.INFO)  # fairseq announces what it lacks for speech
    try:
        module = importlib.import_module(f"dc_nmt_plugin.{COMMANDS[name][0]}")
        return int(module.main(rest) or 0)
    except UserError as error:
        print(f"dc-nmt {name}: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of a pipe (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    finally:
        logging.disable(logging.NOTSET)


if __name__ == "__main__":
    sys.exit(main())
