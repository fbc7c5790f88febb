#!/usr/bin/env bash
# Builds the documentation into site/, where site/index.html is its first page.
#
# usage: scripts/docs.sh [--python VERSION] [options of `mkdocs build`]
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$ROOT"
take_python "$@"
use_environment --dev ${setup[@]+"${setup[@]}"}
NO_MKDOCS_2_WARNING=1 "$PYTHON" -m mkdocs build --strict --quiet ${rest[@]+"${rest[@]}"}
