#!/usr/bin/env bash
# Draws the papers' analyses of trained models into docs/figures, as far as their runs exist.
#
# usage: scripts/draw_analyses.sh FOLDER SUFFIX [--python VERSION]
#   FOLDER   of runs, such as runs/multi30k_en_de
#   SUFFIX   part of the runs' names after the architecture, such as -s1
# FIGURES=names draws only these; DC_NMT_PYTHON=/path/to/python uses that environment.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

take_python "$@"
runs=${rest[0]:-} suffix=${rest[1]:-}
[ -d "$runs" ] && [ -n "$suffix" ] || die "name a folder of runs, and the end of their names"
figures=$ROOT/docs/figures
need_writable "$figures" "make it writable, or clone the project into a folder of yours"
use_environment ${setup[@]+"${setup[@]}"}

# draw NAME "COMMAND" "ARCH…" OPTIONS…: one figure of dc-nmt COMMAND, unless a run is missing.
draw() {
  local name=$1 arch folders=()
  case " ${FIGURES:-$name} " in *" $name "*) ;; *) return 0 ;; esac
  for arch in $3; do
    [ -d "$runs/$arch$suffix" ] || {
      say "left out: $name needs $runs/$arch$suffix"
      return 0
    }
    folders+=("$runs/$arch$suffix")
  done
  say "$name"
  # shellcheck disable=SC2086
  dc-nmt $2 "${folders[@]}" --names $3 --plot "$figures/$name.svg" "${@:4}"
}

both="transformer_standard transformer_dc"
search=(--beam 5 --max-len-a 2 --max-len-b 20)
every="$both transformer_ctxaware transformer_cross_agg transformer_mlmha transformer_ms_aux_aif"
draw learning "analyze curves" "$every" --numbers valid:ppl # whole training runs
draw divergence "analyze divergence" "transformer_dc transformer_dc-dc-kernel-size-5 transformer_dc-dc-kernel-size-8"
draw routing "analyze routing" transformer_cross_agg
draw source-layers "analyze source-layers" transformer_mlmha "${search[@]}"
draw dependency "analyze dependency" transformer_ms_aux_aif
draw previous-words "analyze previous-words" \
  "gru_selfattn_residual gru_selfattn_residual_memory gru_selfattn_residual_selfattn" --longest 10
# figures that show sentences: of this project's own text
own=(--source "$ROOT/examples/multi30k_en_de/sentences.en" --reference "$ROOT/examples/multi30k_en_de/sentences.de")
draw words-matrix "analyze matrix" gru_selfattn_residual --of decoder.words "${own[@]}"
draw trees "analyze trees" gru_selfattn_residual --index 3 "${own[@]}"
