#!/usr/bin/env bash
# Builds the documentation into site/, where site/index.html is its first page.
#
# usage: scripts/docs.sh [--python VERSION] [options of `mkdocs build`]
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for word in "$@"; do
  case $word in -h | --help) show_help ;; esac
done
cd "$ROOT"
take_python "$@"
need_writable "$ROOT" "make it writable, or clone the project into a folder of yours"
use_environment --dev ${setup[@]+"${setup[@]}"}
NO_MKDOCS_2_WARNING=1 "$PYTHON" -m mkdocs build --strict --quiet ${rest[@]+"${rest[@]}"}
say "open site/index.html"
