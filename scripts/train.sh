#!/usr/bin/env bash
# Train an architecture with its paper's settings: dc-nmt train in the project's environment.
#
# usage: scripts/train.sh TASK ARCH [options] [fairseq-train flags] [--python VERSION]; --help lists all
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dc_nmt train "$@"
