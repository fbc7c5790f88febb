#!/usr/bin/env bash
# shellcheck disable=SC2153
# Train an architecture on a prepared task with its paper's settings.
#
# usage: scripts/train.sh TASK ARCH [options] [fairseq-train flags]
#   TASK, ARCH     ARCH without a size gets the paper's (transformer_dc: transformer_dc_iwslt_ff512
#                  on IWSLT); 'dc-nmt arch-flags' lists all
#   --size         another size, such as big; base for the one without a name
#   --seed         default 1
#   --name         folder of the run; default ARCH-sSEED
#   --out          folder of data and runs; default runs/TASK (prepare with the same --out)
#   --sample       as it was prepared: a narrow model, 100 updates
#   --max-update   another number of updates; checkpoints come as often in proportion
#   --max-tokens   what one GPU is given at a time; gradients are added up to the paper's tokens per
#                  update (--update-freq), whatever the number of GPUs
#   --update-freq  instead: this many times, and as many tokens per update as come out of it
#   --average      how many of the last checkpoints are kept for scripts/evaluate.sh
#   --gpus         of this machine, or of each; default: all; 0 for the CPU
#   --launcher     fairseq (one machine, the default), torchrun, or srun (the default in a Slurm job
#                  of several tasks; see scripts/train.slurm)
#   --nodes --node-rank --rendezvous   with torchrun: machines, which this is (from 0), and
#                  HOST:PORT of the first; call the script on each
#   --dry-run      print the command and do nothing
#   --python       as in scripts/setup.sh
# All other flags go to fairseq-train, such as --fp16 --dropout 0.2. An interrupted training
# continues from its last checkpoint.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/recipe.sh
source "$(dirname "${BASH_SOURCE[0]}")/recipe.sh"

recipe_begin "$@"
plan=$(dc-nmt recipe plan run ${ARGUMENTS[@]+"${ARGUMENTS[@]}"} ${EXTRA[@]+-- "${EXTRA[@]}"}) || exit 1
eval "$plan"
ARCH_FLAGS[$ARCH]=$ARCH_WORDS
if [ -z "${DRY_RUN:-}" ]; then
  DATA_STAMP=$(cat "$BIN/.stamp" 2>/dev/null) ||
    die "$BIN is not there: prepare the text first, with scripts/prepare.sh $TASK $ARCH and the same --out and --sample"
fi
printf '%s: %s\n%s\n' "$TASK" "$TITLE" "$SETTINGS"
say "$BATCH"
if [ "$NODE_RANK" -gt 0 ]; then # the first machine keeps the books
  train_command
  exec "${LAUNCHER[@]}" "$BIN" --user-dir "$PLUGIN" "${TRAIN_FIXED[@]}" "${TRAIN_FLAGS[@]}" \
    --save-dir "$RUN/checkpoints"
fi
recipe_train
[ -n "${DRY_RUN:-}" ] || say "done; the checkpoints are in $RUN/checkpoints"
