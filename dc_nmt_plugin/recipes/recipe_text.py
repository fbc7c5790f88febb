"""Writes the content of ``recipe.yaml`` for a user's corpus, in the order of ``schema.py``."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from .fitting import LONGEST, Fit
from .own_text import Corpus, Files, LocalFile
from .recipe import SPLITS

HEAD = "Made by dc-nmt new; yours to change. Why it is as it is:"


def recipe_content(
    folder: Path,
    archs: Sequence[str],
    pair: tuple[str, str],
    files: dict[str, Files],
    pairs: dict[str, int],
    chosen: Fit,
    train: Corpus,
) -> dict[str, Any]:
    """Returns the recipe, in the order of ``recipes/schema.py``."""
    named: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    of_split: dict[str, list[str]] = {}
    for split in SPLITS:
        names = [split, *(f"{split}{n}" for n in range(2, len(files[split]) + 1))]
        of_split[split] = names
        for name, paths in zip(names, files[split], strict=True):
            of_part = {}
            for code, path in zip(pair, paths, strict=True):
                local = LocalFile.of(path)
                of_part[code] = f"{name}.{code}{'.gz' if path.suffix == '.gz' else ''}"
                named[of_part[code]] = {
                    "path": _seen_from(folder, path),
                    "sha256": local.sha256,
                    "bytes": local.bytes,
                    "modified": local.modified,
                }
            parts[name] = {"format": "plain", "files": of_part}
        if len(names) == 1:
            parts[split]["lines"] = pairs[split]
    return {
        "title": f"{folder.resolve().name}, text of one's own",
        "pair": "-".join(pair),
        "archs": list(archs),
        "pair_bytes": max(1, sum(side.bytes for side in train.sides) // train.pairs),
        "files": named,
        "parts": parts,
        "splits": {
            **of_split,
            "exclude_test": True,
            "exclude_valid": True,
        },
        "text": {"tokenizer": chosen.tokenizer},
        "bpe": {
            "default": {
                **({"kind": chosen.kind} if chosen.kind != "bpe" else {}),
                "operations": chosen.operations,
                "joint": chosen.joint,
                "dictionary": "joint" if chosen.joint else "separate",
                "max_tokens": LONGEST,
                "ratio": 9,
            }
        },
        "settings": _settings(chosen),
    }


def _settings(chosen: Fit) -> dict[str, Any]:
    size = chosen.size
    sides = [
        f"--{side}-layers {size.layers} --{side}-embed-dim {size.width} "
        f"--{side}-ffn-embed-dim {size.inner} --{side}-attention-heads {size.heads}"
        for side in ("encoder", "decoder")
    ]
    sharing = "--share-all-embeddings" if chosen.joint else "--share-decoder-input-output-embed"
    source = f"fitted by dc-nmt new: {chosen.updates:,} updates, {size.about}"
    return {
        "all": {
            "source": source,
            # the unnamed size shares all embeddings, which two dictionaries do not allow
            **({} if chosen.joint else {"size": "unshared"}),
            "tokens": size.tokens,
            "max_tokens": size.max_tokens,
            "save_every": max(1, chosen.updates // 20),
            "updates": chosen.updates,
            "average": min(5, chosen.updates),
            "flags": " ".join([*sides, sharing, _training(chosen, chosen.updates)]),
            "decode": "--beam 5 --max-tokens 4096 --max-len-a 2 --max-len-b 20",
            "paper": chosen.metric,
        },
        "transformer": {"size": ""},  # fairseq's own, whose sizes are flags
        # With the published initial weights Adam, unlike Adadelta, saturates the states.
        "gru_selfattn_residual": {
            "source": source,
            "size": "",
            "updates": max(1, chosen.updates // 2),
            "save_every": max(1, chosen.updates // 40),
            "flags": f"--embed-dim {size.embedding} --hidden-dim {size.state} --weight-init xavier "
            f"--output-bias-init unigram {_training(chosen, max(1, chosen.updates // 2))}",
        },
    }


def _training(chosen: Fit, updates: int) -> str:
    size = chosen.size
    return (
        f"--dropout {size.dropout} --label-smoothing 0.1 --clip-norm 1.0 --optimizer adam "
        f'--adam-betas "(0.9, 0.98)" --lr {size.rate} --lr-scheduler cosine '
        f"--warmup-updates {min(4000, max(1, updates // 7))}"
    )


def _seen_from(folder: Path, path: Path) -> str:
    """Returns a relative path if both are in one folder and can move together, else absolute."""
    near = folder.resolve().parent
    if path.resolve().is_relative_to(near):
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    return str(path.resolve())


def as_text(content: dict[str, Any], why: Sequence[str]) -> str:
    wrap = textwrap.TextWrapper(96, subsequent_indent="  ", break_on_hyphens=False).wrap
    lines = [HEAD, *(line for sentence in why for line in wrap(f"- {sentence}"))]
    head = "".join(f"# {line}\n" for line in lines)
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=96)
    return f"{head}{body}"
