"""Computes COMET (Rei et al. 2020) with Unbabel's package; needs the source and a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..runs.record import Score

INSTALL = (
    "pip install 'dc_nmt_plugin[comet]', in an environment of Python 3.11 or 3.12 whose numpy may "
    "become older than 2 and whose setuptools older than 81"
)
CHECKPOINT = Path("checkpoints", "model.ckpt")  # in a model's folder, beside hparams.yaml
BATCH = 16  # sentences


def score_comet(
    hypotheses: Sequence[str], references: Sequence[str], source: Sequence[str], model: Path
) -> Score:
    """Returns COMET of the whole test set, times 100.

    Args:
        hypotheses, references, source: detokenised lines
        model: a checkpoint, or the folder of a model

    Raises:
        UserError: COMET is not installed, or there is no such model
    """
    try:
        import comet
    except ImportError as error:
        raise UserError(f"COMET cannot be imported ({error}): {INSTALL}") from error
    import torch

    path = model / CHECKPOINT if model.is_dir() else model
    if not path.is_file():
        raise UserError(f"--comet-model {model}: {path} is not there")
    try:
        scorer = comet.load_from_checkpoint(str(path), local_files_only=True)
    except Exception as error:  # Lightning, transformers and COMET each raise their own
        raise UserError(f"--comet-model {model}: cannot be loaded: {error}") from error
    data = [
        {"src": src, "mt": mt, "ref": ref}
        for src, mt, ref in zip(source, hypotheses, references, strict=True)
    ]
    gpus = int(torch.cuda.is_available())
    result: Any = scorer.predict(data, batch_size=BATCH, gpus=gpus, progress_bar=False)
    signature = f"model:{model}|version:{version('unbabel-comet')}"
    text = "hypotheses, references and source detokenised, cased"
    return Score("comet", 100 * float(result.system_score), signature, text)
