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
stamp=$state/setup.stamp log=$state/setup.log own=$ROOT/.setup/$(basename "$state")

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
elif [ -e "$state/pyvenv.cfg" ] && [ ! -e "$state/made_in" ] && [ ! -e "$own.making" ]; then
  die "$state is an environment that this script did not make: use it with DC_NMT_PYTHON=$python, or move it away"
fi
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

replace=() locked=()
if [ -z "${DC_NMT_PYTHON:-}" ]; then
  replace=(--replace) locked=(-c requirements/constraints.txt)
  # An environment knows its own path: one that was copied or moved with the project, whose making
  # was interrupted, or that is of an earlier set-up, is made anew.
  made="$state 2"
  if [ ! -f "$state/made_in" ] || [ "$(cat "$state/made_in")" != "$made" ] || ! "$python" -m pip --version >/dev/null 2>&1; then
    if ! base=$(find_python "$asked" 2>/dev/null); then
      [ -n "$uv" ] || find_python "$asked" # says what is missing
      base=${asked:-3.13}                  # uv fetches it
    fi
    say "making the environment ${state#"$ROOT"/} with $("$base" --version 2>/dev/null || echo "Python $base of uv's own")"
    touch "$own.making"
    if [ -n "$uv" ]; then
      uv venv --quiet --seed --clear --python "$base" "$state" || die "'uv venv --python $base' failed: name another Python with --python"
    else
      "$base" -m venv --clear "$state" || die "'$base -m venv' failed: install the package python3-venv, or name another Python with --python"
    fi
    printf '%s\n' "$made" >"$state/made_in"
    rm -f "$own.making"
  fi
fi
mkdir -p "$state"
earlier=$(wc -l 2>/dev/null <"$log" || echo 0)
printf '== %s: %s\n' "$(date '+%F %T')" "$python" >>"$log"

# remedy: what this call's part of the log says that a user can do.
remedy() {
  local said
  said=$(tail -n "+$((earlier + 1))" "$log")
  if grep -qiE 'no space left' <<<"$said"; then
    echo "The disk is full: free some space (a CUDA build of torch takes 7 GB), then run the same command again."
  elif grep -qiE 'externally-managed' <<<"$said"; then
    echo "DC_NMT_PYTHON is the system's own Python, which pip must not change: name the Python of a virtual environment."
  elif grep -qiE 'connection|temporary failure|timed out|proxy' <<<"$said"; then
    echo "A package could not be fetched: check the network (or pip's index settings), then run the same command again."
  elif grep -qiE 'could not find a version' <<<"$said"; then
    echo "pip's index has no such package for this system and Python: check pip's index settings, or try another --python."
  else
    echo "The whole log is $log; the same command continues where it stopped."
  fi
}

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
fail() {
  tail -n 12 "$log" >&2
  die "$1 $(remedy)"
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
case $dev in
  yes) install_missing "the tools of the tests" requirements/dev.txt ;;
  try)
    if (install_missing "the tools of the tests" requirements/dev.txt) 2>/dev/null; then
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
