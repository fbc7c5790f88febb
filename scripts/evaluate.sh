#!/usr/bin/env bash
# Translate with a trained run and score it: dc-nmt evaluate in the project's environment.
#
# usage: scripts/evaluate.sh TASK ARCH [options] [--python VERSION] [fairseq-generate flags];
#   --help lists all options
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dc_nmt evaluate "$@"
