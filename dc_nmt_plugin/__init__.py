"""Published architectures for neural machine translation as a fairseq plugin.

``--user-dir`` imports this package from within fairseq: models, criterions and tasks are then
registered. Elsewhere (``dc-nmt``) importing it costs nothing and needs no fairseq;
``import dc_nmt_plugin.registration`` registers explicitly.
"""

import sys

__version__ = "1.0.0"

if "fairseq" in sys.modules:
    from . import registration as registration
