#!/usr/bin/env bash
# Runs every recipe small, on generated files: dc-nmt sample-recipes in the project's environment.
#
# usage: scripts/sample_recipes.sh [TASK:ARCH …] [options] [--python VERSION]; --help lists all options
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
dc_nmt sample-recipes "$@"
