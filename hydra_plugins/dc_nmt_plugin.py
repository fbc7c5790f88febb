"""Stores the architectures for ``fairseq-hydra-train model=NAME``.

Hydra imports every module in this namespace before it reads a configuration; fairseq reads
``common.user_dir`` only afterwards, which is too late for ``model=transformer_dc``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class StoreArchitectures(SearchPathPlugin):
    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        program = Path(getattr(sys.modules["__main__"], "__file__", None) or "").name
        # other programs of fairseq compose a configuration too, and need no store
        trains = "fairseq_cli.hydra_train" in sys.modules or program == "hydra_train.py"
        # for its help, Hydra copies all of the store once for each group of settings: minutes
        if not trains or "--help" in sys.argv or "-h" in sys.argv:
            return
        try:
            from dc_nmt_plugin.extension import import_user_dirs
            from dc_nmt_plugin.registration import store_for_hydra
        except ImportError:  # installed without the package
            return
        for word in sys.argv[1:]:  # a folder with mechanisms of the user's own
            if word.startswith("common.user_dir="):
                import_user_dirs(word.partition("=")[2], "common.user_dir")
        store_for_hydra()
