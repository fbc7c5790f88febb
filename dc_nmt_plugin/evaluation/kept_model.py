"""Keeps the model of a run in half precision, with what turns text into its tokens."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..checkpoints.names import CHECKPOINTS
from ..errors import UserError
from ..files import replacing
from ..runs.finding import Run
from ..text.pieces import MODEL

DATA = "data/bin"  # inside the kept folder


def check_model(run: Run) -> tuple[Path, Path]:
    """Returns the checkpoint that translated, and the folder of its data.

    Raises:
        UserError: one of them is gone
    """
    checkpoint = run.located(run.decoding.checkpoint) or "no checkpoint is recorded"
    if not Path(checkpoint).is_file():
        raise UserError(f"{run.place}: its model is not there: {checkpoint}")
    data = run.located(run.record.data.folder) or "no folder is recorded"
    if not any(Path(data).glob("dict.*.txt")):
        raise UserError(f"{run.place}: its dictionaries are not there: {data}")
    return Path(checkpoint), Path(data)


def keep_model(run: Run, folder: Path) -> None:
    """Writes model, dictionaries, segmentation, and the translated set into a kept run.

    Its record names :data:`DATA`.

    Args:
        run: with the translation whose model is kept
        folder: the kept run

    Raises:
        UserError: model or data are gone, or a parameter is too large for half precision
    """
    import torch

    from ..checkpoints.loading import load_checkpoint
    from ..checkpoints.plain import portable

    checkpoint, data = check_model(run)
    state = portable(load_checkpoint(str(checkpoint)), str(checkpoint), DATA)
    place = folder / CHECKPOINTS[0]
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place) as temporary:
        torch.save(state, temporary)
    # of what translating that subset and new text needs
    for origin, to, names in (
        (data, "bin", ("dict.*.txt", f"{run.decoding.subset}.*")),
        (data.parent / data.name.replace("bin", "bpe", 1), "bpe", ("codes*", f"*{MODEL}")),
        (data.parent / "raw", "raw", ("manifest.json", "truecase.*")),
    ):
        for file in (each for name in names for each in origin.glob(name)):
            (folder / "data" / to).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / "data" / to / file.name)
