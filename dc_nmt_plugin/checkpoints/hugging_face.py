"""Converts a standard Transformer to FSMT, fairseq's Transformer in Hugging Face's transformers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from fairseq.data import Dictionary

from ..errors import UserError
from ..flags import flag_name

INSTALL = "pip install 'dc_nmt_plugin[transformers]'"
MARK = "@@"  # subword-nmt's, at a piece that another follows in the same word
END = "</w>"  # of a word's last piece, in FSMT's vocabulary
# FSMT always computes these as if they were off
_ABSENT = (
    *("encoder_normalize_before", "decoder_normalize_before", "layernorm_embedding"),
    *("encoder_learned_pos", "decoder_learned_pos", "no_token_positional_embeddings"),
    *("adaptive_softmax_cutoff", "cross_self_attention", "no_cross_attention"),
)
# settings of the same name in both
_SHARED = (
    *("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"),
    *("dropout", "attention_dropout", "activation_dropout"),
)


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
        stock: from ``models.transformer.stock.to_stock``
        data: folder with the dictionaries that the model was trained with
        languages: source and target, from :func:`.dictionaries.languages_of`
        codes: the source's BPE codes, from subword-nmt; None if there are none
        output: an empty folder
        name: path of the checkpoint

    Raises:
        UserError: ``transformers`` is not installed, FSMT lacks a part of the model, or there are
            no codes
    """
    try:
        from transformers import FSMTConfig, FSMTForConditionalGeneration, FSMTTokenizer
    except ImportError as error:
        raise UserError(f"transformers cannot be imported ({error}): {INSTALL}") from error
    settings = stock["cfg"]["model"]
    for setting in _ABSENT:
        if settings.get(setting):
            raise UserError(
                f"{name}: --hf: FSMT has no {flag_name(setting)}; --stock keeps this model"
            )
    if settings["encoder_embed_dim"] != settings["decoder_embed_dim"]:
        raise UserError(f"{name}: --hf: FSMT has one width for encoder and decoder")
    if codes is None or codes.suffix == ".model":
        raise UserError(f"--data {data}: has no BPE codes beside it, which FSMT's tokeniser needs")
    source, target = (_vocabulary(data / f"dict.{language}.txt") for language in languages)
    config = FSMTConfig(
        langs=list(languages),
        src_vocab_size=len(source),
        tgt_vocab_size=len(target),
        scale_embedding=not settings.get("no_scale_embedding"),
        tie_word_embeddings=bool(settings.get("share_all_embeddings")),
        d_model=settings["encoder_embed_dim"],
        encoder_ffn_dim=settings["encoder_ffn_embed_dim"],
        decoder_ffn_dim=settings["decoder_ffn_embed_dim"],
        activation_function=settings["activation_fn"],
        **{name: settings[name] for name in _SHARED},
    )
    model = FSMTForConditionalGeneration(config)
    weights = {
        f"model.{key}": tensor
        for key, tensor in stock["model"].items()
        if "embed_positions" not in key and not key.endswith(".version")  # FSMT computes positions
    }
    lost, unknown = model.load_state_dict(weights, strict=False)
    lost = [key for key in lost if "embed_positions" not in key]
    if lost or unknown:
        raise UserError(f"{name}: --hf: FSMT has other parts: {', '.join([*lost, *unknown][:3])}")
    # fairseq's --min-len 1, counted with the start: no translation is empty
    model.generation_config.min_length = 2
    model.save_pretrained(output)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, part) for part in ("source.json", "target.json", "merges.txt")]
        files[0].write_text(json.dumps(source, ensure_ascii=False), "utf-8")
        files[1].write_text(json.dumps(target, ensure_ascii=False), "utf-8")
        lines = codes.read_text("utf-8").split("\n")
        merges = [line for line in lines if line and not line.startswith("#version")]
        files[2].write_text("".join(f"{line}\n" for line in merges), "utf-8")
        FSMTTokenizer(list(languages), *map(str, files)).save_pretrained(output)


def _vocabulary(path: Path) -> dict[str, int]:
    """Returns piece → number; a word's last piece ends in ``</w>`` instead of ``@@`` elsewhere."""
    dictionary = Dictionary.load(str(path))
    special = {dictionary.bos_word, dictionary.pad_word, dictionary.eos_word, dictionary.unk_word}
    vocabulary = {}
    for number, word in enumerate(dictionary.symbols):
        if word.endswith(MARK) and word not in special:
            word = word.removesuffix(MARK)
        elif word not in special:
            word += END
        vocabulary[word] = number
    return vocabulary
