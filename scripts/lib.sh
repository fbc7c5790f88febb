# shellcheck shell=bash
# Shared helpers of the scripts: messages, required programs, choice of Python. Source it:
#   source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHONS="3.14 3.13 3.12 3.11" # the newest that works is taken
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

# need_writable FOLDER REMEDY: stop unless this user may write there, or make it.
need_writable() {
  local folder=$1
  while [ ! -e "$folder" ] && [ ! -L "$folder" ]; do folder=$(dirname "$folder"); done
  [ -d "$folder" ] || die "$folder is not a folder: move it away"
  [ -w "$folder" ] || die "$folder is not writable for you: $2"
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

# python_is_usable PYTHON [VERSION]: can it run the project? Prints why not.
python_is_usable() {
  "$1" "$ROOT/scripts/install_fairseq.py" --only-check "${2:-}" 2>/dev/null
}

# find_python [VERSION|PATH]: prints the path of a suitable Python. Shims of pyenv exist for
# versions that are not active, so every candidate is started; pyenv's own folders come last.
find_python() {
  local asked=${1:-} version candidate why
  case $asked in
    */*)
      [ -x "$asked" ] || die "--python '$asked' is not a program; give a version ($PYTHONS) or the path of a Python"
      why=$(python_is_usable "$asked") ||
        die "--python '$asked' cannot be used: ${why:-it is not one of $PYTHONS}"
      printf '%s\n' "$(cd "$(dirname "$asked")" && pwd)/$(basename "$asked")"
      return
      ;;
    *) [[ " $PYTHONS " = *" ${asked:-3.11} "* ]] ||
      die "--python '$asked' is not supported; choose among $PYTHONS, or give the path of a Python" ;;
  esac
  local -a places=()
  for version in ${asked:-$PYTHONS}; do
    places+=("python$version" "/usr/bin/python$version" "/usr/local/bin/python$version" "/opt/homebrew/bin/python$version")
  done
  places+=(python3)
  for version in ${asked:-$PYTHONS}; do places+=("$HOME/.pyenv/versions/$version".*/bin/python); done
  for candidate in "${places[@]}"; do
    candidate=$(command -v "$candidate" 2>/dev/null) || continue
    if python_is_usable "$candidate" "$asked" >/dev/null; then
      "$candidate" -I -c 'import sys; print(sys.executable)'
      return
    fi
  done
  die "no usable Python ${asked:-among $PYTHONS} found (it needs the venv module and, unless fairseq is ready-made for it, C headers; python3 here is $(python3 --version 2>/dev/null || echo missing)): on Debian 'sudo apt-get install python3-venv python3-dev g++', without root install uv, which these scripts use, or name one with --python PATH"
}

# environment_folder [VERSION|PATH]: .venv for the default, .venv-3.12 and so on otherwise.
environment_folder() {
  case ${1:-} in
    "") printf '%s\n' "$ROOT/.venv" ;;
    */*) printf '%s\n' "$ROOT/.venv-$("$1" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])')" ;;
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
    PATH=$("$PYTHON" -I -c 'import sysconfig; print(sysconfig.get_path("scripts"))'):$PATH
  else
    PYTHON=$(environment_folder "$asked")/bin/python
    PATH=$(dirname "$PYTHON"):$PATH
  fi
  # With another encoding of file names, Python looks for a clone in "Köln" where there is none.
  [ "$(locale charmap 2>/dev/null)" = UTF-8 ] || export PYTHONUTF8=1
  export PYTHON PATH
}

# take_python ARGUMENT…: --python VERSION, before a "--", into the array `setup`, as use_environment
# takes it, and everything else into `rest`.
take_python() {
  setup=() rest=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
      --python)
        [ $# -ge 2 ] || die "--python needs a value: one of $PYTHONS, or the path of a Python"
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
