#!/usr/bin/env bash
# shellcheck disable=SC2153
# Average a run's checkpoints, translate the test set as its paper did, and score it: every line
# that papers print, and which one is this paper's.
#
# usage: scripts/evaluate.sh TASK ARCH [options] [-- fairseq-generate flags]
#   --size --seed --name --out --sample --average   as given to scripts/train.sh
#   --as NAME      one of several ways to decode a run: its translation and score get folders of
#                  their own, generate-NAME and score-NAME, and a row in dc-nmt results
#   --dry-run      print the commands and do nothing
#   --python       as in scripts/setup.sh
#   --             what follows goes to fairseq-generate, after the recipe's own flags
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

recipe_begin "$@"
plan=$(dc-nmt recipe plan evaluation ${ARGUMENTS[@]+"${ARGUMENTS[@]}"}) || exit 1
eval "$plan"
ARCH_FLAGS[$ARCH]=$ARCH_WORDS
GENERATE_FLAGS+=(${EXTRA[@]+"${EXTRA[@]}"})
if [ -z "${DRY_RUN:-}" ]; then
  [ -f "$RUN/checkpoints/checkpoint_last.pt" ] ||
    die "$RUN/checkpoints has no checkpoints: train first, with scripts/train.sh $TASK $ARCH and the same --name, --seed, --out and --sample"
  [ -f "$BIN/.stamp" ] ||
    die "$BIN is not there: prepare the text again, with scripts/prepare.sh $TASK $ARCH"
  TRAIN_STAMP=$(cat "$RUN/settings.stamp" 2>/dev/null) || die "$RUN/settings.stamp is missing: $RUN was not made by scripts/train.sh"
  if [ ! -f "$RUN/training.stamp" ]; then
    warn "the training in $RUN has not finished; what is there is evaluated"
    TRAIN_STAMP=$TRAIN_STAMP-$(digest "$RUN"/checkpoints/*)
  fi
  lock_run
fi
# shellcheck disable=SC2034  # read by recipe.sh
SCORE_STAMP=-$(digest "${SCORE_FLAGS[@]}")
recipe_evaluate
[ -n "${DRY_RUN:-}" ] || cat "$RUN/score$WAY.log"
