"""Converts a standard Transformer to FSMT, fairseq's Transformer in Hugging Face's transformers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairseq.data import Dictionary

from ..errors import UsageError, UserError
from ..flags import flag_name

INSTALL = "pip install 'dc_nmt_plugin[transformers]'"
MARK = "@@"  # subword-nmt's, at a piece that another follows in the same word
END = "</w>"  # of a word's last piece, in FSMT's vocabulary
# what FSMT computes in one way only: setting → its value
_FIXED = {
    "encoder_normalize_before": False,
    "decoder_normalize_before": False,
    "encoder_learned_pos": False,
    "decoder_learned_pos": False,
    "no_token_positional_embeddings": False,
    "layernorm_embedding": False,
    "adaptive_softmax_cutoff": None,
    "cross_self_attention": False,
    "no_cross_attention": False,
}
# FSMT's setting → fairseq's
_SIZES = {
    "d_model": "encoder_embed_dim",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "activation_dropout": "activation_dropout",
    "activation_function": "activation_fn",
    **{
        f"{side}_{name}": f"{side}_{setting}"
        for side in ("encoder", "decoder")
        for name, setting in (
            ("layers", "layers"), ("ffn_dim", "ffn_embed_dim"), ("attention_heads",) * 2,
        )
    },
}  # fmt: skip


def to_hugging_face(
    stock: dict[str, Any],
    data: Path,
    languages: tuple[str, str],
    codes: Path | None,
    output: Path,
    name: str,
) -> None:
    """Writes a folder that ``FSMTForConditionalGeneration`` and ``FSMTTokenizer`` load.

    Args:
        stock: from :func:`.stock_checkpoint.to_stock`
        data: folder with the dictionaries that the model was trained with
        languages: source and target, from :func:`.dictionaries.languages_of`
        codes: the source's BPE codes, from subword-nmt; None if there are none
        output: created; an earlier model in it is replaced
        name: path of the checkpoint

    Raises:
        UserError: ``transformers`` is not installed, FSMT lacks a part of the model, there are no
            codes, or `output` holds something else
    """
    try:
        from transformers import FSMTConfig, FSMTForConditionalGeneration, FSMTTokenizer
    except ImportError as error:
        raise UserError(f"transformers cannot be imported ({error}): {INSTALL}") from error
    settings = stock["cfg"]["model"]
    for setting, value in _FIXED.items():
        if (settings.get(setting) or None) != (value or None):
            raise UserError(
                f"{name}: --hf: FSMT has no {flag_name(setting)}; --stock keeps this model"
            )
    if settings["encoder_embed_dim"] != settings["decoder_embed_dim"]:
        raise UserError(f"{name}: --hf: FSMT has one width for encoder and decoder")
    if codes is None or codes.suffix == ".model":
        raise UserError(f"--data {data}: has no BPE codes beside it, which FSMT's tokeniser needs")
    if output.exists() and not (output / "config.json").is_file() and any(output.iterdir()):
        raise UsageError(f"--out {output}: exists and is no model of transformers")
    vocabularies = [_vocabulary(data / f"dict.{language}.txt") for language in languages]
    sizes = {name: settings[setting] for name, setting in _SIZES.items()}
    config = FSMTConfig(
        langs=list(languages),
        src_vocab_size=len(vocabularies[0]),
        tgt_vocab_size=len(vocabularies[1]),
        scale_embedding=not settings.get("no_scale_embedding"),
        tie_word_embeddings=bool(settings.get("share_all_embeddings")),
        **sizes,
    )
    model = FSMTForConditionalGeneration(config)
    lost, unknown = model.load_state_dict(dict(_weights(stock["model"])), strict=False)
    lost = [key for key in lost if "embed_positions" not in key]
    if lost or unknown:
        raise UserError(f"{name}: --hf: FSMT has other parts: {', '.join([*lost, *unknown][:3])}")
    # fairseq's --min-len 1, counted with the start: no translation is empty
    model.generation_config.min_length = 2
    model.save_pretrained(output)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, part) for part in ("source.json", "target.json", "merges.txt")]
        for path, vocabulary in zip(files, vocabularies, strict=False):
            path.write_text(json.dumps(vocabulary, ensure_ascii=False), "utf-8")
        lines = codes.read_text("utf-8").splitlines()
        merges = [line for line in lines if not line.startswith("#version")]
        files[2].write_text("".join(f"{line}\n" for line in merges), "utf-8")
        FSMTTokenizer(list(languages), *map(str, files)).save_pretrained(output)


def _vocabulary(path: Path) -> dict[str, int]:
    """Returns piece → number; a word's last piece ends in ``</w>`` instead of ``@@`` elsewhere."""
    dictionary = Dictionary.load(str(path))
    special = {dictionary.bos_word, dictionary.pad_word, dictionary.eos_word, dictionary.unk_word}
    return {
        word if word in special else word.removesuffix(MARK) if word.endswith(MARK) else word + END:
            number
        for number, word in enumerate(dictionary.symbols)
    }  # fmt: skip


def _weights(model: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields FSMT's names with the weights; its positions are computed."""
    for key, tensor in model.items():
        if "embed_positions" not in key and not key.endswith(".version"):
            yield f"model.{key}", tensor
