#!/usr/bin/env bash
# Builds the documentation into site/, where site/index.html is its first page.
#
# usage: scripts/docs.sh [--check] [--python VERSION] [options of `mkdocs build`]
#   --check  also looks at the pages: no dead link, no error in the console, no code that is cut, no
#            text over text, and a search that works from disk. Writes screenshots of each page for a
#            desk and a phone, light and dark, to site-check/. It needs the Python package playwright
#            and Chromium or Chrome; without them, it checks the links alone and says so.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for word in "$@"; do
  case $word in -h | --help) show_help ;; esac
done
cd "$ROOT"
take_python "$@"
check="" site=site
declare -a options=()
for word in ${rest[@]+"${rest[@]}"}; do
  case $word in
    --check) check=yes ;;
    *) options+=("$word") ;;
  esac
  case ${previous:-} in -d | --site-dir) site=$word ;; esac
  case $word in --site-dir=*) site=${word#*=} ;; esac
  previous=$word
done
use_environment --dev ${setup[@]+"${setup[@]}"}
NO_MKDOCS_2_WARNING=1 "$PYTHON" -m mkdocs build --strict --quiet ${options[@]+"${options[@]}"}
site=$(cd "$site" && pwd)
say "open $site/index.html"
[ -z "$check" ] || exec "$PYTHON" "$ROOT/scripts/site/check.py" "$site" --out "$ROOT/site-check"
