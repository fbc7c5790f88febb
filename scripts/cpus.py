"""Print how many CPUs this process may use, as the package counts them, without importing it."""

import runpy
from pathlib import Path

machine = runpy.run_path(str(Path(__file__).parents[1] / "dc_nmt_plugin" / "machine.py"))
print(machine["usable_cpus"]())
