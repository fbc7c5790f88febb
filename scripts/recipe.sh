# shellcheck shell=bash
# What all recipes share: prepare text, train, average, translate, score. Source it after lib.sh.
#
# A recipe sets
#   SRC TGT       language codes, in this order the direction of translation
#   RAW           folder with train, valid and test of both languages, one sentence a line
#   WORK          folder of the prepared data
#   TOKENIZER     split (dc-nmt split-text); where TOKENISED is set, only a name of what was done
#   TOKENISED     folder with the same files tokenised, where the recipe makes them itself
#   BPE_OPS       number of BPE operations
#   UPDATES SAVE_EVERY AVERAGE    training updates, checkpoint interval, checkpoints averaged
#   TRAIN_FLAGS GENERATE_FLAGS    arrays of flags of fairseq-train and fairseq-generate
# and calls recipe_architectures, lock_data, recipe_prepare, unlock_data, then recipe_model ARCH
# FOLDER for each model (recipe_train and recipe_evaluate are its halves).
# Each step leaves a stamp of its inputs and settings: a second call repeats nothing that is done.
# With DRY_RUN=yes the commands are printed and nothing is done.

PLUGIN=$ROOT/dc_nmt_plugin

# flag_value FLAG NUMBER-OF-ARGUMENTS-LEFT: stop unless the flag has a value.
flag_value() { [ "$2" -ge 2 ] || die "$1 needs a value; see --help"; }

# positive FLAG VALUE: stop unless the value is a whole number above zero.
positive() {
  [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 '$2' is not a whole number above zero"
}

# digest WORD…: a short stamp of settings.
digest() { printf '%s\n' "$@" | cksum | tr ' ' '-'; }

# file_digest FILE…: a short stamp of contents.
file_digest() { cat "$@" | cksum | tr ' ' '-'; }

# shown COMMAND…: where DRY_RUN is set, print the command and succeed.
shown() {
  [ -n "${DRY_RUN:-}" ] || return 1
  printf '%s' "$1"
  shift
  [ $# -eq 0 ] || printf ' %q' "$@"
  printf '\n'
}

# quietly COMMAND…: output into $LOG; where the command fails, its last words are shown.
quietly() {
  shown "$@" && return
  "$@" >>"$LOG" 2>&1 || {
    tail -n 15 "$LOG" >&2
    die "'$1' failed; the whole log is $LOG"
  }
}

# step WHAT FOLDER STAMP FUNCTION: run FUNCTION FOLDER.part, then rename that to FOLDER.
step() {
  local what=$1 folder=$2 stamp=$3 function=$4
  if [ -n "${DRY_RUN:-}" ]; then
    printf '\n# %s\n' "$what"
    "$function" "$folder"
    return
  fi
  if [ -f "$folder/.stamp" ] && [ "$(cat "$folder/.stamp")" = "$stamp" ]; then
    say "$what: done before"
    return
  fi
  say "$what"
  rm -rf "$folder.part"
  mkdir -p "$folder.part"
  LOG=$folder.log
  : >"$LOG"
  "$function" "$folder.part"
  printf '%s\n' "$stamp" >"$folder.part/.stamp"
  rm -rf "$folder"
  mv "$folder.part" "$folder"
}

# -- architectures --------------------------------------------------------------------------

# recipe_architectures LIST: set ARCHITECTURES from names separated by commas or spaces, and
# check each name before any work is done.
declare -A ARCH_FLAGS
recipe_architectures() {
  local arch
  read -r -a ARCHITECTURES <<<"${1//,/ }"
  [ ${#ARCHITECTURES[@]} -gt 0 ] || die "--arch is empty: name at least one architecture"
  for arch in "${ARCHITECTURES[@]}"; do
    if [ -z "${ARCH_FLAGS[$arch]:-}" ]; then
      ARCH_FLAGS[$arch]=$(dc-nmt arch-flags "$arch") || exit 1
    fi
  done
}

# -- data ------------------------------------------------------------------------------------

# lock_data: two recipes may share prepared data; the second waits until the first has made it.
lock_data() {
  [ -z "${DRY_RUN:-}" ] || return 0
  mkdir -p "$WORK" || die "'$WORK' cannot be made: choose another --out"
  command -v flock >/dev/null 2>&1 || return 0
  exec 8>"$WORK/.lock"
  flock -n 8 || { say "waiting for another preparation of $WORK"; flock 8; }
}

unlock_data() { exec 8>&-; }

# recipe_prepare: $WORK/bpe, $WORK/bin and DATA_STAMP from $RAW and, unless TOKENISED is set,
# $WORK/tokenised. What else may be set:
#   BPE_NAME            put behind the names of the folders bpe and bin
#   BPE_WORKERS         processes
#   BPE_JOINT=no        operations of their own for each language
#   DICTIONARY=separate a dictionary for each language
#   BPE_LIMIT           "MAX RATIO": drop training pairs with a longer side, or that much longer
recipe_prepare() {
  local split texts=() suffix=${BPE_NAME:+-$BPE_NAME}
  BPE=$WORK/bpe$suffix BIN=$WORK/bin$suffix
  for split in train valid test; do texts+=("$RAW/$split.$SRC" "$RAW/$split.$TGT"); done
  if [ -z "${DRY_RUN:-}" ]; then
    # shellcheck disable=SC2153  # TOKENIZER is the recipe's, like SRC
    DATA_STAMP=$(digest "$(file_digest "${texts[@]}")" "$SRC" "$TGT" "$TOKENIZER" "$BPE_OPS$(cut_stamp)")
    if [ -z "${TOKENISED:-}" ] && { ! [ -f "$BIN/.stamp" ] || [ "$(cat "$BIN/.stamp")" != "$DATA_STAMP" ]; }; then
      dc-nmt check-text "${texts[@]}" >/dev/null || exit 1
    fi
  fi
  if [ -z "${TOKENISED:-}" ]; then
    step "tokenise ($TOKENIZER)" "$WORK/tokenised" "$DATA_STAMP" tokenise
  fi
  step "learn and apply BPE ($BPE_OPS operations)" "$BPE" "${DATA_STAMP:-}" byte_pairs
  step "fairseq-preprocess" "$BIN" "${DATA_STAMP:-}" binarise
}

# cut_stamp: what differs from one joint code and dictionary, nothing dropped.
cut_stamp() {
  [ "${BPE_JOINT:-yes}" = yes ] || printf ' codes-apart'
  [ "${DICTIONARY:-joint}" = joint ] || printf ' dictionaries-apart'
  [ "${BPE_LIMIT:-0 0}" = "0 0" ] || printf ' %s' "$BPE_LIMIT"
}

tokenise() {
  quietly dc-nmt split-text --out "$1" "$RAW"/{train,valid,test}."$SRC" "$RAW"/{train,valid,test}."$TGT"
}

byte_pairs() {
  local split lang text=${TOKENISED:-$WORK/tokenised} codes=$1/codes
  if [ "${BPE_JOINT:-yes}" = yes ]; then
    shown cat "$text/train.$SRC" "$text/train.$TGT" ">$1/both" || cat "$text/train.$SRC" "$text/train.$TGT" >"$1/both"
    quietly subword-nmt learn-bpe -s "$BPE_OPS" -i "$1/both" -o "$codes"
    shown rm "$1/both" || rm "$1/both"
  fi
  for lang in "$SRC" "$TGT"; do
    if [ "${BPE_JOINT:-yes}" = no ]; then
      codes=$1/codes.$lang
      quietly subword-nmt learn-bpe -s "$BPE_OPS" -i "$text/train.$lang" -o "$codes"
    fi
    for split in train valid test; do
      # Several processes are worth their start on large files only.
      quietly subword-nmt apply-bpe -c "$codes" ${BPE_WORKERS:+--num-workers "$BPE_WORKERS"} \
        -i "$text/$split.$lang" -o "$1/$split.$lang"
    done
  done
  if [ -n "${BPE_LIMIT:-}" ]; then
    # shellcheck disable=SC2086
    quietly dc-nmt recipe clean "$1" "$SRC" "$TGT" $BPE_LIMIT
  fi
}

binarise() {
  local joined=(--joined-dictionary)
  [ "${DICTIONARY:-joint}" = joint ] || joined=()
  quietly fairseq-preprocess --source-lang "$SRC" --target-lang "$TGT" ${joined[@]+"${joined[@]}"} \
    --trainpref "$BPE/train" --validpref "$BPE/valid" --testpref "$BPE/test" \
    ${BPE_WORKERS:+--workers "$BPE_WORKERS"} --destdir "$1"
}

# -- one model -------------------------------------------------------------------------------

# recipe_model ARCH FOLDER: train, average, translate and score; leaves FOLDER/score/result.json.
recipe_model() {
  ARCH=$1 RUN=$2
  recipe_train
  recipe_evaluate
}

# lock_run: one recipe at a time in $RUN.
lock_run() {
  [ -z "${DRY_RUN:-}" ] || return 0
  mkdir -p "$RUN" || die "'$RUN' cannot be made: choose another --out"
  command -v flock >/dev/null 2>&1 || return 0
  exec 7>"$RUN/.lock"
  flock -n 7 || die "another recipe is working in $RUN"
}

# train_command: TRAIN_FIXED, the flags that every training of this recipe has.
train_command() {
  local -a arch_flags
  read -r -a arch_flags <<<"${ARCH_FLAGS[$ARCH]}"
  TRAIN_FIXED=("${arch_flags[@]}" --source-lang "$SRC" --target-lang "$TGT"
    --max-update "$UPDATES" --save-interval-updates "$SAVE_EVERY"
    --keep-interval-updates "$((AVERAGE > 1 ? AVERAGE : 1))" --no-epoch-checkpoints --log-format json
    --log-interval "$((UPDATES < 100 ? 1 : 10))")
}

# recipe_train: $RUN/checkpoints. What else may be set: TRAIN_IDENTITY, TRAIN_FLAGS without what
# only the number of GPUs decides; LAUNCHER, the words before fairseq-train's flags.
recipe_train() {
  train_command
  [ -n "${TRAIN_IDENTITY+set}" ] || TRAIN_IDENTITY=("${TRAIN_FLAGS[@]}")
  [ -n "${LAUNCHER+set}" ] || LAUNCHER=(fairseq-train)
  if [ -n "${DRY_RUN:-}" ]; then
    printf '\n# %s: train %s updates\n' "$ARCH" "$UPDATES"
    shown "${LAUNCHER[@]}" "${BIN:-$WORK/bin}" --user-dir "$PLUGIN" "${TRAIN_FIXED[@]}" "${TRAIN_FLAGS[@]}" --save-dir "$RUN/checkpoints"
    return
  fi
  TRAIN_STAMP=$(digest "$DATA_STAMP" "${TRAIN_FIXED[@]}" "${TRAIN_IDENTITY[@]}")
  lock_run
  train --user-dir "$PLUGIN" "${TRAIN_FIXED[@]}" "${TRAIN_FLAGS[@]}"
}

# recipe_evaluate: $RUN/average, generate and score. What else may be set: SCORE_FLAGS; WAY, put
# behind the names of what is made of the averaged model.
recipe_evaluate() {
  local stamp way=${WAY:-}
  [ -n "${SCORE_FLAGS+set}" ] || SCORE_FLAGS=(--tokenizer "$TOKENIZER")
  stamp=$(digest "${TRAIN_STAMP:-}" "$AVERAGE")
  step "$ARCH: average the last $AVERAGE checkpoints" "$RUN/average" "$stamp" average
  stamp=$(digest "${TRAIN_STAMP:-}" "$AVERAGE" "${GENERATE_FLAGS[@]}")
  step "$ARCH: translate the test set" "$RUN/generate$way" "$stamp" translate
  step "$ARCH: score" "$RUN/score$way" "$stamp${SCORE_STAMP:-}" score
  [ -n "${DRY_RUN:-}" ] || exec 7>&-
}

train() {
  local done_stamp=$RUN/training.stamp settings=$RUN/settings.stamp data=${BIN:-$WORK/bin}
  if [ -f "$done_stamp" ] && [ "$(cat "$done_stamp")" = "$TRAIN_STAMP" ]; then
    say "$ARCH: train $UPDATES updates: done before"
    return
  fi
  if [ -f "$settings" ] && [ "$(cat "$settings")" != "$TRAIN_STAMP" ]; then
    die "$RUN holds a training with other data or settings (see its command.txt): use another folder, or remove that one"
  fi
  printf '%s %s' "${LAUNCHER[*]}" "$data" >"$RUN/command.txt"
  printf ' %q' "$@" >>"$RUN/command.txt"
  printf '\n' >>"$RUN/command.txt"
  printf '%s\n' "$TRAIN_STAMP" >"$settings"
  if [ -f "$RUN/checkpoints/checkpoint_last.pt" ]; then
    say "$ARCH: train $UPDATES updates, from the last checkpoint on"
  else
    rm -f "$RUN/train.log"
    say "$ARCH: train $UPDATES updates"
  fi
  if ! "${LAUNCHER[@]}" "$data" "$@" --save-dir "$RUN/checkpoints" 2>&1 |
    dc-nmt progress --name "$ARCH" --updates "$UPDATES" --log "$RUN/train.log"; then
    die "the training of $ARCH stopped; its log is $RUN/train.log, the same command continues it"
  fi
  printf '%s\n' "$TRAIN_STAMP" >"$done_stamp"
}

average() {
  if [ "$AVERAGE" -eq 0 ]; then
    quietly dc-nmt average --inputs "$RUN/checkpoints/checkpoint_best.pt" --output "$1/checkpoint.pt"
    return
  fi
  quietly dc-nmt average --dir "$RUN/checkpoints" --last "$AVERAGE" --kind update \
    --output "$1/checkpoint.pt"
}

translate() {
  local -a arch_flags
  local position
  read -r -a arch_flags <<<"${ARCH_FLAGS[$ARCH]}"
  local task=translation
  for position in "${!arch_flags[@]}"; do
    [ "${arch_flags[$position]}" != --task ] || task=${arch_flags[$position + 1]}
  done
  quietly fairseq-generate "${BIN:-$WORK/bin}" --user-dir "$PLUGIN" --task "$task" \
    --source-lang "$SRC" --target-lang "$TGT" --path "$RUN/average/checkpoint.pt" \
    --gen-subset test --results-path "$1" "${GENERATE_FLAGS[@]}"
}

score() {
  local way=${WAY:-}
  quietly dc-nmt score --generated "$RUN/generate$way/generate-test.txt" --name "$ARCH" \
    --generate-log "$RUN/generate$way.log" \
    --source "$RAW/test.$SRC" --reference "$RAW/test.$TGT" --source-lang "$SRC" \
    --target-lang "$TGT" "${SCORE_FLAGS[@]}" --train-log "$RUN/train.log" \
    --hypotheses "$RUN/hypotheses$way.$TGT" --json "$1/result.json"
}

# -- command lines ---------------------------------------------------------------------------

# stop_gently: say what an interrupted command leaves.
stop_gently() {
  trap 'echo; die "stopped; the same command continues where it stopped"' INT TERM
}

# recipe_begin ARGUMENT…: --python, --dry-run and --help are the scripts' own; what follows
# -- goes to EXTRA where the script reads it, everything else to ARGUMENTS. Then the environment.
# shellcheck disable=SC2034  # read by the scripts
recipe_begin() {
  local -a setup=()
  ARGUMENTS=() EXTRA=() DRY_RUN=""
  while [ $# -gt 0 ]; do
    case $1 in
      --python) flag_value "$1" $#; setup=(--python "$2"); shift ;;
      --python=*) setup=(--python "${1#*=}") ;;
      --dry-run) DRY_RUN=yes ;;
      -h | --help) sed -n '3,/^set -/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
      --) shift; EXTRA=("$@"); break ;;
      *) ARGUMENTS+=("$1") ;;
    esac
    shift
  done
  stop_gently
  use_environment ${setup[@]+"${setup[@]}"}
}
