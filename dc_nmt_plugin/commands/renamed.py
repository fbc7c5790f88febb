"""Old names of commands and options, and what to type now; for one release."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import pairwise

COMMANDS = {
    "report": "dc-nmt results SYSTEM… --examples N",
    "mask-layers": "dc-nmt analyze source-layers RUN",
}

# command → old option, or a pattern of it and its value → what to type now
OPTIONS = {
    "dc-nmt average": {
        "--dir": "the folder without a flag: dc-nmt average FOLDER --last N --out FILE",
        "--inputs": "the files without a flag: dc-nmt average FILE… --out FILE",
        "--output": "--out",
    },
    "dc-nmt export": {
        "--input": "the checkpoint without a flag: dc-nmt export CHECKPOINT --out FILE",
        "--output": "--out",
    },
    "dc-nmt compare": {
        "--json *.json": "--json without a file, which prints: … --json > FILE",
        "--names *,*": "--names NAME NAME, with spaces",
    },
    "dc-nmt results": {"--save": "--out"},
    "dc-nmt score": {
        "--generated": "the file without a flag: dc-nmt score FILE …",
        "--hypothesis": "the file without a flag: dc-nmt score FILE …",
        "--hypotheses": "--detokenized",
        "--json *.json": "--out FILE, which writes the file; --json alone prints the same",
    },
    "dc-nmt new": {"--arch": "the architectures without a flag: dc-nmt new FOLDER ARCH… --train …"},
    "dc-nmt run": {
        "--arch": "the architectures without a flag: dc-nmt run TASK ARCH…",
        "--updates": "--max-update",
        "--warmup": "--warmup-updates",
    },
    "dc-nmt quickstart": {
        "--arch": "the architectures without a flag: dc-nmt quickstart ARCH…",
        "--updates": "--max-update",
    },
    "dc-nmt progress": {"--updates": "--max-update"},
    "dc-nmt recipe config": {"--to": "--out"},
    "dc-nmt recipe text": {"--to": "--out"},
    "dc-nmt paper plot": {"--to": "--out"},
}


def renamed_command(name: str) -> str | None:
    """Returns a sentence with the new name of a command; None without one."""
    return f"{name}: type '{COMMANDS[name]}' now" if name in COMMANDS else None


def renamed_option(command: str, words: Iterable[str]) -> str | None:
    """Returns a sentence with the new name of the first renamed option; None without one.

    Args:
        command: as in its help, such as ``dc-nmt paper plot``
        words: its arguments
    """
    known = OPTIONS.get(command, {})
    for word, value in pairwise([*words, ""]):
        flag, equals, inside = word.partition("=")
        for old, new in known.items():
            pattern = old if " " in old else f"{old} *"
            if fnmatchcase(f"{flag} {inside if equals else value}", pattern):
                return f"{flag}: type {new} now"
    return None
