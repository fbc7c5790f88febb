#!/usr/bin/env bash
# Runs every recipe small, on generated files, in the project's environment; it needs no network.
#
# usage: scripts/sample_recipes.sh [TASK:ARCH …] [options] [--python VERSION]; --help lists all options
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
take_python "$@"
use_environment ${setup[@]+"${setup[@]}"}
exec "$PYTHON" "$ROOT/tests/sample_recipes.py" ${rest[@]+"${rest[@]}"}
