"""Computes COMET (Rei et al. 2020) with Unbabel's package; needs the source and a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..errors import UsageError, UserError
from ..runs.record import Score

INSTALL = (
    "pip install 'dc_nmt_plugin[comet]', in an environment of Python 3.11 or 3.12 whose numpy may "
    "become older than 2 and whose setuptools older than 81"
)
CHECKPOINT = Path("checkpoints", "model.ckpt")  # in a model's folder, beside hparams.yaml
BATCH = 16  # sentences


def score_comet(
    hypotheses: Sequence[str],
    references: Sequence[str],
    source: Sequence[str],
    model: str,
    download: bool = False,
) -> Score:
    """Returns COMET of the whole test set, times 100.

    Args:
        hypotheses, references, source: detokenised lines
        model: a checkpoint, its folder, or a name on Hugging Face's hub such as
            ``Unbabel/wmt22-comet-da``
        download: fetch a model that is not here; otherwise no network is used

    Raises:
        UserError: COMET is not installed, or there is no such model here
    """
    try:
        import comet
    except ImportError as error:
        raise UserError(f"COMET cannot be imported ({error}): {INSTALL}") from error
    import torch

    path = _find_model(model, download)
    try:
        scorer = comet.load_from_checkpoint(str(path), local_files_only=not download)
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


def _find_model(model: str, download: bool) -> Path:
    """Returns the checkpoint file of a model."""
    for path in (Path(model), Path(model) / CHECKPOINT):
        if path.is_file():
            return path
    if Path(model).exists():
        raise UsageError(f"--comet-model {model}: has no {CHECKPOINT} in it")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repo_id=model, local_files_only=not download)) / CHECKPOINT
    except Exception as error:  # its own, and those of the network
        how = "could not be downloaded" if download else "give a path, or --comet-download"
        raise UserError(f"--comet-model {model}: is not here: {how} ({error})") from error
