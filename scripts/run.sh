#!/usr/bin/env bash
# From the raw text of a task to scored models: dc-nmt run in the project's environment.
#
# usage: scripts/run.sh TASK [ARCH …] [options] [fairseq-train flags] [--python VERSION]; --help lists all
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dc_nmt run "$@"
