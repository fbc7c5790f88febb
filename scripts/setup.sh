#!/usr/bin/env bash
# Makes the project's environment, or completes it; does nothing when it is complete.
#
# usage: scripts/setup.sh [--python 3.14|3.13|3.12|3.11|PATH] [--dev]
#   --python   the Python to use: a version or a path. Default: the newest on the PATH that works,
#              in .venv; a named version gets a folder of its own, such as .venv-3.12.
#   --dev      the tools of scripts/test.sh have to be there too (into .venv they go anyway, but
#              nothing fails where they cannot be installed).
#
# DC_NMT_PYTHON=/path/to/python uses that existing environment instead of one of our own: only
# what it lacks is installed there, and its torch is never touched.
# Where uv is installed, it makes the environment and installs; otherwise venv and pip do.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

arguments=("$@") dev=no
take_python "$@"
asked=${setup[1]:-}
for word in ${rest[@]+"${rest[@]}"}; do
  case $word in
    --dev) dev=yes ;;
    -h | --help) show_help ;;
    *) die "unknown option '$word'; choose among --python, --dev, --help" ;;
  esac
done

if [ -n "${DC_NMT_PYTHON:-}" ]; then
  [ -z "$asked" ] || die "--python '$asked' contradicts DC_NMT_PYTHON='$DC_NMT_PYTHON': unset one of them"
  python=$(command -v "$DC_NMT_PYTHON") || die "DC_NMT_PYTHON='$DC_NMT_PYTHON' is not a program: give the path of a Python ($PYTHONS)"
  state=$ROOT/.setup/$(printf '%s' "$python" | cksum | cut -d' ' -f1)
else
  [[ " $PYTHONS " = *" ${asked:-3.11} "* ]] || asked=$(find_python "$asked")
  state=$(environment_folder "$asked")
  python=$state/bin/python
  [ "$dev" = yes ] || dev=try
fi
cd "$ROOT"
stamp=$state/setup.stamp own=$ROOT/.setup/$(basename "$state")
log=$own.log

# The tools of the tests, once installed, are kept up too.
[ "$(head -n 1 "$stamp" 2>/dev/null)" != "$ROOT yes" ] || dev=yes

# What the environment is made from, and what is in it: when either changes, look again.
fingerprint() {
  printf '%s %s\n' "$ROOT" "$dev"
  find setup.py pyproject.toml requirements scripts/setup.sh scripts/lib.sh scripts/missing.py \
    scripts/install_fairseq.py -type f -exec cksum {} + | sort
  "$python" -c '
import os, sys, sysconfig
print(sys.version, sys.prefix, *sorted(os.listdir(sysconfig.get_path("purelib"))), sep="\n")' 2>&1 | cksum
}
if [ -f "$stamp" ] && [ -x "$python" ] && [ "$(fingerprint)" = "$(cat "$stamp")" ]; then
  exit 0
fi

if [ -n "${DC_NMT_PYTHON:-}" ]; then
  why=$(python_is_usable "$python") ||
    die "DC_NMT_PYTHON='$DC_NMT_PYTHON' cannot be used: ${why:-it is not one of $PYTHONS}"
  "$python" -m pip --version >/dev/null 2>&1 || die "DC_NMT_PYTHON='$DC_NMT_PYTHON' has no pip: run '$DC_NMT_PYTHON -m ensurepip'"
fi
for folder in "$ROOT/.setup" "$state"; do
  need_writable "$folder" "ask its owner to run 'scripts/setup.sh' there, or clone the project into a folder of yours"
done
# Two set-ups of one environment at a time would disturb each other.
mkdir -p "$ROOT/.setup"
if command -v flock >/dev/null 2>&1; then
  exec 9>"$own.lock"
  if ! flock -n 9; then
    say "waiting for another set-up of this environment"
    flock 9
    cd "$OLDPWD"
    exec "$ROOT/scripts/setup.sh" "${arguments[@]+"${arguments[@]}"}"
  fi
fi

# An index of packages that only pip was told of is not uv's.
uv=$(command -v uv) && [ -z "${PIP_INDEX_URL:-}${PIP_NO_INDEX:-}" ] || uv=

# remedy: what this call's part of the log says that a user can do; fails where nothing is known.
remedy() {
  local printed
  printed=$(tail -n "+$((earlier + 1))" "$log")
  shopt -s nocasematch
  if [[ $printed =~ "no space left" ]]; then
    echo "The disk is full: free some space in ${TMPDIR:-/tmp} and in $ROOT (a CUDA build of torch takes 7 GB), then run the same command again."
  elif [[ $printed =~ "no module named "\'?(ensurepip|venv) ]]; then
    echo "Install the package python3-venv, or name another Python with --python."
  elif [[ $printed =~ externally-managed ]]; then
    echo "DC_NMT_PYTHON is the system's own Python, which pip must not change: name the Python of a virtual environment."
  elif [[ $printed =~ connection|"temporary failure"|"timed out"|proxy ]]; then
    echo "A package could not be fetched: check the network (or pip's index settings), then run the same command again."
  elif [[ $printed =~ "could not find a version" ]]; then
    echo "pip's index has no such package for this system and Python: check pip's index settings, or try another --python."
  else
    return 1
  fi
}
fail() {
  local known
  known=$(remedy) || {
    known="The same command continues where it stopped."
    tail -n 12 "$log" >&2
  }
  die "$1 $known The whole log is $log."
}

# made_here: was the environment made here, for this path or another path to the same folder?
made_here() {
  local line="" folder
  read -r line 2>/dev/null <"$state/made_in" || return 1
  folder=${line% 2}
  [ "$line" != "$folder" ] || return 1 # of an earlier set-up
  [ "$folder" = "$state" ] || { [ "$folder" -ef "$state" ] && [ ! -L "$state" ]; }
}

# check_that_it_is_ours: nothing is deleted that this script did not make in this folder.
check_that_it_is_ours() {
  local line="" folder remove="move it away"
  [ ! -L "$state" ] || remove="remove the link"
  [ ! -x "$python" ] || remove="use it with DC_NMT_PYTHON=$python, or $remove"
  if [ -L "$state" ]; then
    die "$state is a link to another folder, which stays as it is: $remove"
  elif read -r line 2>/dev/null <"$state/made_in"; then
    folder=${line% 2}
    [ "$folder" -ef "$state" ] || [ ! -d "$folder" ] ||
      die "$state is a copy of $folder, which is still there: $remove"
  elif [ -n "$(ls -A "$state" 2>/dev/null)" ]; then
    [ "$(cat "$own.making" 2>/dev/null)" = "$state" ] || # its making was interrupted
      die "$state is an environment that this script did not make: $remove"
  fi
}

# make_environment BASE: an empty one that has pip.
make_environment() {
  if [ -n "$uv" ]; then
    uv venv --quiet --seed --clear --python "$1" "$state"
  else
    # in two steps, because venv does not print why pip could not be installed
    "$1" -m venv --clear --without-pip "$state" && "$python" -Im ensurepip --upgrade --default-pip
  fi
}

earlier=$(wc -l 2>/dev/null <"$log" || echo 0)
printf '== %s: %s\n' "$(date '+%F %T')" "$python" 2>/dev/null >>"$log" ||
  die "$log cannot be written: free some space on the disk of $ROOT, or remove the file"
replace=() locked=()
if [ -z "${DC_NMT_PYTHON:-}" ]; then
  replace=(--replace) locked=(-c requirements/constraints.txt)
  # An environment knows its own path: one that was moved with the project, whose making was
  # interrupted, or that is of an earlier set-up, is made anew.
  if ! made_here || ! "$python" -m pip --version >/dev/null 2>&1; then
    check_that_it_is_ours
    if ! base=$(find_python "$asked" 2>/dev/null); then
      [ -n "$uv" ] || find_python "$asked" # says what is missing
      base=${asked:-3.13}                  # uv fetches it
    fi
    say "making the environment ${state#"$ROOT"/} with $("$base" --version 2>/dev/null || echo "Python $base of uv's own")"
    printf '%s\n' "$state" >"$own.making"
    make_environment "$base" >>"$log" 2>&1 || fail "making an environment with $base failed."
    printf '%s 2\n' "$state" >"$state/made_in"
    rm -f "$own.making"
  fi
fi
mkdir -p "$state"

# must_install WHAT PIP-ARGUMENTS…: one progress line, everything else into the log.
must_install() {
  local what=$1
  shift
  say "installing $what"
  printf -- '-- %s: pip install %s\n' "$what" "$*" >>"$log"
  if [ -n "$uv" ]; then
    # auto: the build of torch for this machine, which is PyTorch's own index to have
    uv pip install --python "$python" --torch-backend auto "$@" >>"$log" 2>&1 && return
    echo "-- uv failed; pip tries, and goes on" >>"$log"
    uv=
  fi
  "$python" -m pip install --disable-pip-version-check --no-input "$@" >>"$log" 2>&1 ||
    fail "installing $what failed."
}

# install_missing WHAT FILE…: what the environment lacks of these requirement files.
install_missing() {
  local what=$1 lacking
  shift
  lacking=$("$python" scripts/missing.py "$@")
  [ -n "$lacking" ] || return 0
  printf '%s\n' "$lacking" >"$state/lacking.txt"
  must_install "$what" ${locked[@]+"${locked[@]}"} -r "$state/lacking.txt"
}

torch_version() { "$python" -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null; }
torch_before=$(torch_version) || must_install "torch (the largest part: minutes where it is a CUDA build)" -r requirements/torch.txt
[ -z "$(echo 'torch>=2.10' | "$python" scripts/missing.py /dev/stdin)" ] ||
  die "torch $(torch_version) of '$python' is older than 2.10, whose loader of checkpoints is safe: '$python -m pip install \"torch>=2.10\"', or unset DC_NMT_PYTHON"
install_missing "what fairseq needs, and libraries" requirements/build.txt requirements/run.txt
install_tools() {
  install_missing "the tools of the tests" requirements/dev.txt
  [ -z "$("$python" scripts/missing.py requirements/docs.txt)" ] ||
    must_install "what the notebook shows attention with" --no-deps -r requirements/docs.txt
}
case $dev in
  yes) install_tools ;;
  try)
    if (install_tools) 2>/dev/null; then
      dev=yes
    else
      warn "the tools of the tests could not be installed, and nothing else needs them: scripts/setup.sh --dev tells why"
    fi
    ;;
esac

# installed_from: where the plugin in the environment is from; fails where there is none.
installed_from() {
  "$python" -I -c '
import importlib.metadata, json
plugin = importlib.metadata.distribution("dc_nmt_plugin")
print(json.loads(plugin.read_text("direct_url.json") or "{}").get("url", "an index of packages"))' 2>/dev/null
}
from=$(installed_from) || from=
if [ -n "${DC_NMT_PYTHON:-}" ] && [ -n "$from" ] && [ "$from" != "file://$ROOT" ]; then
  say "the plugin there is from ${from#file://} and stays; scripts of this folder run this folder's code; to replace it: $python -m pip install --no-deps --no-build-isolation -e $ROOT"
else
  must_install "the plugin, from this folder" --no-deps --no-build-isolation -e .
fi

# after the plugin, without which fairseq cannot be imported on Python 3.14
say "looking for fairseq, which is compiled in a minute where no wheel is"
"$python" scripts/install_fairseq.py ${replace[@]+"${replace[@]}"} >>"$log" 2>&1 || fail "installing fairseq failed."
[ -z "$torch_before" ] || [ "$(torch_version)" = "$torch_before" ] ||
  die "torch changed from $torch_before to $(torch_version), which must not happen: please report it with $log"
fingerprint >"$stamp.new"
mv "$stamp.new" "$stamp"
say "the environment is complete: ${state#"$ROOT"/}, torch $(torch_version)"
