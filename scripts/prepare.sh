#!/usr/bin/env bash
# Prepares the text of a published task for fairseq: dc-nmt prepare in the project's environment.
#
# usage: scripts/prepare.sh TASK [ARCH …] [options] [--python VERSION]; --help lists all options
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dc_nmt prepare "$@"
