#!/usr/bin/env bash
# shellcheck disable=SC2153
# The text of a published task: fetched, verified, tokenised, split, cut by BPE and binarised.
#
# usage: scripts/prepare.sh TASK [ARCH …] [--raw DIR] [--downloads DIR] [--out DIR] [--sample N]
#          [--any-counts] [--dry-run] [--python VERSION]
#   TASK          a folder of examples; 'dc-nmt recipe list' shows all. The other direction of a
#                 task, such as iwslt15_vi_en, shares its data
#   ARCH          prepare what these architectures need; default: all that the task's papers need
#   --raw         folder with files that are already here, packed or not
#   --downloads   folder of fetched files; default DC_NMT_DOWNLOADS, else runs/downloads
#   --out         folder of what is made; default runs/TASK
#   --sample      about N training pairs only, in runs/TASK-sampleN
#   --any-counts  go on where the numbers of lines are not the published ones
#   --dry-run     print the commands and do nothing
#   --python      as in scripts/setup.sh
# Every step that is done is skipped the next time. DC_NMT_MIRROR=ADDRESS is tried before a file's
# own homes, as ADDRESS/NAME.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

recipe_begin "$@"
plan=$(dc-nmt recipe plan data ${ARGUMENTS[@]+"${ARGUMENTS[@]}"}) || exit 1
eval "$plan"

# The output is progress: it is shown, and kept as the step's log.
text() {
  shown dc-nmt recipe "${TEXT_COMMAND[@]}" --to "$1" && return
  dc-nmt recipe "${TEXT_COMMAND[@]}" --to "$1" 2>&1 | tee -a "$LOG" || exit 1
}

# Read by recipe.sh.
# shellcheck disable=SC2034
{
  RAW=$WORK/raw TOKENISED=$WORK/raw/tokenised
  BPE_WORKERS=$("$PYTHON" "$ROOT/scripts/cpus.py")
}
lock_data
step "text of $TASK" "$RAW" "$TEXT_STAMP" text
for i in "${!BPE_NAMES[@]}"; do
  # shellcheck disable=SC2034
  {
    BPE_NAME=${BPE_NAMES[i]} BPE_OPS=${BPE_OPERATIONS[i]} BPE_JOINT=${BPE_JOINTS[i]}
    DICTIONARY=${BPE_DICTIONARIES[i]} BPE_LIMIT=${BPE_LIMITS[i]}
  }
  recipe_prepare
  [ -n "${DRY_RUN:-}" ] || for lang in "$SRC" "$TGT"; do
    say "dictionary of $lang: $(($(wc -l <"$BIN/dict.$lang.txt"))) types${BPE_VOCABULARIES[i]:+, published: about ${BPE_VOCABULARIES[i]}}"
  done
done
[ -n "${DRY_RUN:-}" ] || say "done; everything is in $WORK"
