"""Lets ``fairseq-hydra-train`` know the architectures, tasks and criterions by name.

Hydra imports every module in this namespace before it reads a configuration; fairseq reads
``common.user_dir`` only afterwards, which is too late for ``model=transformer_dc``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class RegisterArchitectures(SearchPathPlugin):
    """Fills Hydra's store in ``fairseq-hydra-train``, and does nothing in other programs.

    fairseq's others compose a configuration too, of their flags: 300 architectures in the store
    would cost each of them three seconds.
    """

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if _is_hydra_train():
            try:
                from dc_nmt_plugin import patches
                from dc_nmt_plugin.registration import store_for_hydra
            except ImportError:  # installed without the package it belongs to
                return
            patches.apply()
            store_for_hydra()


def _is_hydra_train() -> bool:
    program = getattr(sys.modules["__main__"], "__file__", None) or ""
    return "fairseq_cli.hydra_train" in sys.modules or Path(program).name == "hydra_train.py"
