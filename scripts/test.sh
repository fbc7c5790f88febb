#!/usr/bin/env bash
# All checks of the project: set-up, ruff, mypy, import-linter, shellcheck, the documentation's build,
# pytest. Leaves with the exit code of the step that failed.
#
# usage: scripts/test.sh [--python 3.14|3.13|3.12|3.11|PATH] [--fast] [--all] [pytest arguments …]
#   --python   as for scripts/setup.sh
#   --fast     leaves out tests/system, which train and translate through the command line
#   --all      tests every combination of the axes, not only a set that has every pair of values, and every
#              architecture where few stand for all (some twenty minutes of two cores); then, as root on
#              Linux, the files that start trainings once more, as on a CPU with bfloat16 or without
# DC_NMT_PYTHON=/path/to/python tests in that existing environment.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# files in their order: the short ones of tests/unit, last, fill up what the long ones leave
pytest=(--dist loadfile --no-loadscope-reorder) all=no
take_python "$@"
for word in ${rest[@]+"${rest[@]}"}; do
  case $word in
    --fast) pytest+=(--ignore tests/system) ;;
    -h | --help) show_help ;;
    --all) all=yes pytest+=("$word") ;;
    *) pytest+=("$word") ;;
  esac
done

need_writable "$ROOT" "make it writable, or clone the project into a folder of yours"
use_environment --dev ${setup[@]+"${setup[@]}"}
cd "$ROOT"
unset PYTHONDONTWRITEBYTECODE # otherwise each of the many processes compiles the package again
times="set-up $SECONDS s"

# step NAME COMMAND…: one check, its time, and a sentence when it fails.
step() {
  local name=$1 began=$SECONDS code=0
  shift
  "$@" || code=$?
  times="$times, $name $((SECONDS - began)) s"
  [ "$code" -eq 0 ] || {
    warn "the step '$name' failed (exit code $code)"
    exit "$code"
  }
}

shell_scripts=(.ci/run)
while IFS= read -r file; do
  shell_scripts+=("$file")
done < <(find benchmarks docs examples scripts tests -name '*.sh' | sort)

step "ruff check" "$PYTHON" -m ruff check .
step "ruff format" "$PYTHON" -m ruff format --check --quiet .
# mypy takes as long as the others together, and one CPU
types=$(mktemp) stray=$(mktemp) cpuinfo=$(mktemp)
"$PYTHON" -m mypy >"$types" 2>&1 &
mypy=$!
trap 'kill "$mypy" 2>/dev/null || true; rm -f "$types" "$stray" "$cpuinfo"' EXIT
run_mypy() {
  local code=0
  wait "$mypy" || code=$?
  cat "$types"
  return "$code"
}
step lint-imports lint-imports --no-cache
step shellcheck shellcheck --external-sources "${shell_scripts[@]}"
NO_MKDOCS_2_WARNING=1 step docs "$PYTHON" -m mkdocs build --strict --quiet
step mypy run_mypy

# Processes with one thread each: the models are tiny, threads would only get in each other's way. One more
# than there are CPUs, because some tests wait for programs. A file's tests stay together, because they share
# what the file's fixtures trained.
workers=$(($("$PYTHON" scripts/cpus.py) + 1))
((workers <= 8)) || workers=8
say "times: $times"
export OMP_NUM_THREADS=1
# The last line is pytest's own: how many passed, in how many seconds. What libraries write to
# stderr would come after it, and is shown when something failed.
run_pytest() {
  "$@" "$PYTHON" -m pytest -q -n "$workers" "${pytest[@]}" 2>"$stray" || {
    local code=$?
    cat "$stray" >&2
    return "$code"
  }
}
step pytest run_pytest
[ "$all" = yes ] || exit 0

# on_the_other_cpu COMMAND…: shows it a /proc/cpuinfo with bfloat16 where this CPU has none, and without
# where it has; fails where the kernel does not let this user.
on_the_other_cpu() {
  # shellcheck disable=SC2016
  unshare --mount bash -c 'mount --bind "$1" /proc/cpuinfo && shift && "$@"' bash "$cpuinfo" "$@"
}
if grep -qswE 'avx512_bf16|amx_bf16' /proc/cpuinfo; then
  sed -E 's/ (avx512_bf16|amx_bf16)\>//g' /proc/cpuinfo >"$cpuinfo"
else
  sed 's/^flags.*/& avx512_bf16/' /proc/cpuinfo >"$cpuinfo" 2>/dev/null || true
fi
if ! on_the_other_cpu true 2>/dev/null; then
  say "left out: the other kind of CPU, which root on Linux alone can show to the tests"
  exit 0
fi
say "once more, on the other kind of CPU"
pytest=(--dist loadfile tests/system/test_{bfloat16,chaos,continuing,hydra,recipe_commands,recipe_run,recipe_scripts,use}.py)
step "pytest on the other kind of CPU" run_pytest on_the_other_cpu
