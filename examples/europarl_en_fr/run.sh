#!/usr/bin/env bash
# From the raw text of this task to scored models: dc-nmt run in the project's environment.
#
# usage: examples/europarl_en_fr/run.sh [ARCH …] [options] [fairseq-train flags] [--python VERSION];
#   --help lists all options
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
dc_nmt run europarl_en_fr "$@"
