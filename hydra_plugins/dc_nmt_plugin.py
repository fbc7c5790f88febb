"""Lets ``fairseq-hydra-train`` know the architectures, tasks and criterions by name.

Hydra imports every module in this namespace before it reads a configuration; fairseq reads
``common.user_dir`` only afterwards, which is too late for ``model=transformer_dc``.
"""

from __future__ import annotations

import sys

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class RegisterArchitectures(SearchPathPlugin):
    """Fills Hydra's store in programs of fairseq, and does nothing in others."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if "fairseq" in sys.modules:
            try:
                from dc_nmt_plugin.registration import store_for_hydra
            except ImportError:  # installed without the package it belongs to
                return
            store_for_hydra()
