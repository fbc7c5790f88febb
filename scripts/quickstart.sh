#!/usr/bin/env bash
# From nothing to trained, scored and compared models, offline once the environment is there:
# dc-nmt quickstart in the project's environment.
#
# usage: scripts/quickstart.sh [options] [--python VERSION] [fairseq-train flags]; --help lists all
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dc_nmt quickstart "$@"
