#!/usr/bin/env bash
# Kills a recipe (SIGKILL) at random moments of random steps, and compares it with an undisturbed one. Prepared text,
# parameters, translation and scores have to be the same to the last bit.
#
# usage: scripts/chaos.sh [--kills 50] [--updates 30] [--seed 1] [--out DIR] [--python VERSION]
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
take_python "$@"
use_environment ${setup[@]+"${setup[@]}"}
exec "$PYTHON" "$ROOT/scripts/chaos.py" ${rest[@]+"${rest[@]}"}
