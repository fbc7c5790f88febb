#!/usr/bin/env bash
# From the raw text of this task to scored models: dc-nmt run in the project's environment.
#
# usage: examples/iwslt14_es_en/run.sh [ARCH …] [options] [fairseq-train flags] [--python VERSION];
#   --help lists all options
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
dc_nmt run iwslt14_es_en "$@"
