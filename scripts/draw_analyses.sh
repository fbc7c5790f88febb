#!/usr/bin/env bash
# Draws the papers' analyses of trained models into docs/figures: those whose runs are there.
#
# usage: scripts/draw_analyses.sh FOLDER [SUFFIX]
#   FOLDER   of runs, such as quickstart_out/en-de or runs/multi30k_en_de
#   SUFFIX   of the runs' names behind the architecture's, such as -tiny-s1
# FIGURES=names draws these alone; DC_NMT_PYTHON=/path/to/python uses that environment.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 1 ] && [ -d "$1" ] || die "name a folder of runs"
runs=$1 suffix=${2:-}
use_environment
figures=$ROOT/docs/figures

# draw NAME ANALYSIS "ARCH…" OPTIONS…: one figure of one analysis, unless a run is missing.
draw() {
  local name=$1 analysis=$2 arch folders=()
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
  dc-nmt analyze "$analysis" "${folders[@]}" --names $3 --plot "$figures/$name.svg" "${@:4}"
}

both="transformer_standard transformer_dc"
search=(--beam 5 --max-len-a 2 --max-len-b 20)
draw attention attention "$both" --sentences 200
draw divergence divergence transformer_dc
draw curves curves "$both"
draw lengths lengths "$both" --groups 5 "${search[@]}"
draw gates gates transformer_ctxaware
draw parts-of-speech parts-of-speech transformer_ctxaware
draw routing routing transformer_cross_agg
draw source-layers source-layers transformer_mlmha "${search[@]}"
draw dependency dependency transformer_ms_aux_aif
draw previous-words previous-words gru_selfattn_residual --longest 10
draw words-matrix matrix gru_selfattn_residual --of decoder.words
draw trees trees gru_selfattn_residual
