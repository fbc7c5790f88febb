"""Registers everything with fairseq, once a process."""

import torch

from . import criterions, models, tasks
from .allocator import keep_freed_memory
from .gate.install import explain_under_hydra
from .models.presets import store_for_hydra

__all__ = ["criterions", "explain_under_hydra", "models", "store_for_hydra", "tasks"]

if not torch.cuda.is_available():  # tensors on a GPU have PyTorch's own allocator
    keep_freed_memory()
