"""``python -m dc_nmt_plugin``: the same as ``dc-nmt``."""

import sys

from .cli import main

sys.exit(main())
