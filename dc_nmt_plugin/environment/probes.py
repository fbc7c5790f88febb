"""Tries imports in separate processes, so that a crash cannot end ``dc-nmt doctor``.

Uses only the standard library.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

TORCH = """
import json, torch
gpus = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
print(json.dumps(dict(version=torch.__version__, cuda=torch.version.cuda,
    gpus=["%s, %.0f GiB" % (g.name, g.total_memory / 2**30) for g in gpus])))
"""

FAIRSEQ = """
import argparse, importlib, importlib.util, json, sys
import fairseq
import fairseq.utils
broken = []
for name in ("fairseq.data.data_utils_fast", "fairseq.data.token_block_utils_fast"):
    try:
        importlib.import_module(name)
    except Exception as error:
        broken.append(f"{name.rpartition('.')[2]}: {error}")
if importlib.util.find_spec("fairseq.libbleu") is None:
    broken.append("libbleu: not compiled")
plugin_error = None
if not broken:
    try:
        fairseq.utils.import_user_module(argparse.Namespace(user_dir=sys.argv[1]))
    except BaseException as error:
        plugin_error = f"{type(error).__name__}: {error}"
changes = []
if not broken and plugin_error is None:
    from dc_nmt_plugin.compat import states
    from dc_nmt_plugin.compat.change import is_left_out
    changes = [dict(name=c.name, targets=dict(c.targets), reason=c.reason, since=c.since,
        test=c.test, loading=c.loading, state=state, left_out=is_left_out(state))
        for c, state in states()]
print(json.dumps(dict(broken=broken, plugin_error=plugin_error, changes=changes)))
"""

INSTALLED = """
import importlib.util, json
spec = importlib.util.find_spec("dc_nmt_plugin")
print(json.dumps(dict(origin=spec and spec.origin)))
"""


# files in the working folder of a probe are not imported
_NOT_FROM_HERE = "import sys\nsys.path[:] = [path for path in sys.path if path]\n"


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Starts ``code`` with this Python, outside the current folder."""
    command = [sys.executable, "-c", f"{_NOT_FROM_HERE}{code}", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tempfile.gettempdir(),
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Returns the result of the probe; ``error`` is one line when there is none."""
    out, err = process.communicate()
    try:
        return dict(json.loads(out.strip().splitlines()[-1]))
    except (IndexError, ValueError):
        lines = err.strip().splitlines() or [f"ended with status {process.returncode}"]
        return {"error": lines[-1]}
