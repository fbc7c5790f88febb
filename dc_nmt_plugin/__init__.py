"""Six published architectures of neural machine translation as a fairseq plugin.

Importing registers models, criterions and tasks with fairseq (``--user-dir`` imports this).
"""

__version__ = "0.1.0"

try:
    import fairseq as _fairseq  # noqa: F401
except Exception:  # a missing or broken fairseq is what `dc-nmt doctor` is there to report
    pass
else:
    from . import registration as registration
