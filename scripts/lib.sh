# shellcheck shell=bash
# Shared helpers of the scripts: messages, required programs, choice of Python. Source it:
#   source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
DEFAULT_PYTHONS="3.11 3.12 3.10"
case ${DC_NMT_PYTHON:-} in
  "" | /*) ;;
  */*) export DC_NMT_PYTHON=$PWD/$DC_NMT_PYTHON ;; # the scripts go to other folders
esac

# say TEXT: one progress line, with the seconds since the script began.
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

# warn TEXT: a line on stderr.
warn() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# die TEXT: one sentence on stderr, then leave.
die() {
  warn "$@"
  exit 1
}

# need PROGRAM REMEDY: stop unless the program exists.
need() {
  command -v "$1" >/dev/null 2>&1 || die "the program '$1' is missing: $2"
}

# show_help: the comment at the head of the script that was started.
show_help() {
  sed -n '2,/^set -/p' "$0" | sed '$d; s/^# \{0,1\}//'
  exit 0
}

# fairseq_is_ready_made PYTHON: is there a wheel of fairseq for it, so that nothing is compiled?
fairseq_is_ready_made() {
  "$1" -c '
import platform, sys
ready = sys.version_info >= (3, 12) and (sys.platform, platform.machine()) == ("linux", "x86_64")
sys.exit(not ready)'
}

# python_is_usable PYTHON VERSION: can it make environments, is it that version (or any of
# ours where VERSION is empty), and, unless fairseq is ready-made for it, has it C headers?
python_is_usable() {
  "$1" - "$2" >/dev/null 2>&1 <<'EOF' || return 1
import ensurepip, sys, venv
version = "%d.%d" % sys.version_info[:2]
asked = sys.argv[1]
sys.exit(not (version == asked if asked else version in ("3.10", "3.11", "3.12")))
EOF
  "$1" -c '
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    fairseq_is_ready_made "$1"
}

# find_python [VERSION|PATH]: prints the path of a suitable Python. Shims of pyenv exist for
# versions that are not active, so every candidate is started, and pyenv's own folders are searched.
find_python() {
  local asked=${1:-} version candidate
  case $asked in
    */*)
      [ -x "$asked" ] || die "--python '$asked' is not a program; give a version (3.10, 3.11, 3.12) or the path of a Python"
      python_is_usable "$asked" "" ||
        die "--python '$asked' cannot be used: it must be 3.10, 3.11 or 3.12 with the venv module and its C headers (on Debian: python3-venv, python3-dev)"
      printf '%s\n' "$(cd "$(dirname "$asked")" && pwd)/$(basename "$asked")"
      return
      ;;
    "" | 3.10 | 3.11 | 3.12) ;;
    *) die "--python '$asked' is not supported; choose 3.10, 3.11, 3.12 or the path of a Python" ;;
  esac
  for version in ${asked:-$DEFAULT_PYTHONS}; do
    for candidate in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python \
      "/usr/bin/python$version" "/usr/local/bin/python$version" "/opt/homebrew/bin/python$version" python3; do
      candidate=$(command -v "$candidate" 2>/dev/null) || continue
      if python_is_usable "$candidate" "$version"; then
        "$candidate" -c 'import sys; print(sys.executable)'
        return
      fi
    done
  done
  die "no usable Python ${asked:-3.10, 3.11 or 3.12} found (it needs the venv module and its C headers; python3 here is $(python3 --version 2>/dev/null || echo missing)): install one, without root by 'uv python install ${asked:-3.11}', 'pyenv install ${asked:-3.11}' or conda, on Debian by 'sudo apt-get install python${asked:-3}-venv python${asked:-3}-dev', or name one with --python PATH"
}

# environment_folder [VERSION|PATH]: .venv for the default, .venv-3.10 and so on otherwise.
environment_folder() {
  case ${1:-} in
    "") printf '%s\n' "$ROOT/.venv" ;;
    */*) printf '%s\n' "$ROOT/.venv-$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" ;;
    *) printf '%s\n' "$ROOT/.venv-$1" ;;
  esac
}

# use_environment [--python VERSION|PATH] [--dev]: do the set-up that is missing, then put the
# environment's Python in PYTHON and its programs first on PATH.
use_environment() {
  local asked=""
  "$ROOT/scripts/setup.sh" "$@" || exit 1
  while [ $# -gt 0 ]; do
    [ "$1" = --python ] && asked=$2
    shift
  done
  if [ -n "${DC_NMT_PYTHON:-}" ]; then
    PYTHON=$(command -v "$DC_NMT_PYTHON")
    # another checkout that shares it may have installed itself since
    export PYTHONPATH=$ROOT${PYTHONPATH:+:$PYTHONPATH}
    PATH=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("scripts"))'):$PATH
  else
    PYTHON=$(environment_folder "$asked")/bin/python
    PATH=$(dirname "$PYTHON"):$PATH
  fi
  export PYTHON PATH
}

# take_python ARGUMENT…: --python VERSION, before a "--", into the array `setup`, as use_environment
# takes it, and everything else into `rest`.
take_python() {
  setup=() rest=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
      --python)
        [ $# -ge 2 ] || die "--python needs a value: 3.10, 3.11, 3.12 or the path of a Python"
        setup=(--python "$2")
        shift
        ;;
      --python=*) setup=(--python "${1#*=}") ;;
      *) rest+=("$1") ;;
    esac
    shift
  done
  rest+=("$@")
}

# dc_nmt COMMAND ARGUMENT…: become that command of dc-nmt, in the environment, which is set up
# first. --python VERSION, before a "--", is for the set-up; help needs no environment.
dc_nmt() {
  local command=$1 word
  local -a setup rest
  take_python "${@:2}"
  for word in ${rest[@]+"${rest[@]}"}; do
    case $word in
      --) break ;;
      -h | --help)
        local any=${DC_NMT_PYTHON:-$ROOT/.venv/bin/python} # the system's own may be too old
        command -v "$any" >/dev/null 2>&1 || any=$(find_python 2>/dev/null) || any=python3
        PYTHONPATH=$ROOT exec "$any" -m dc_nmt_plugin "$command" --help
        ;;
    esac
  done
  use_environment ${setup[@]+"${setup[@]}"}
  exec dc-nmt "$command" ${rest[@]+"${rest[@]}"}
}
