# shellcheck shell=bash
# What all recipes share: prepare text, train, average, translate, score. Source it after lib.sh.
#
# A recipe sets
#   SRC TGT       language codes, in this order the direction of translation
#   RAW           folder with train, valid and test of both languages, one sentence a line
#   WORK          folder of the prepared data
#   TOKENIZER     moses, or split (dc-nmt split-text) for text that Moses cannot put together again
#   BPE_OPS       number of joint BPE operations
#   UPDATES SAVE_EVERY AVERAGE    training updates, checkpoint interval, checkpoints averaged
#   TRAIN_FLAGS GENERATE_FLAGS    arrays of flags of fairseq-train and fairseq-generate
# and calls recipe_architectures, lock_data, recipe_prepare, unlock_data, then recipe_model ARCH
# FOLDER for each model.
# Each step leaves a stamp of its inputs and settings: a second call repeats nothing that is done.

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

# quietly COMMAND…: output into $LOG; where the command fails, its last words are shown.
quietly() {
  "$@" >>"$LOG" 2>&1 || {
    tail -n 15 "$LOG" >&2
    die "'$1' failed; the whole log is $LOG"
  }
}

# step WHAT FOLDER STAMP FUNCTION: run FUNCTION FOLDER.part, then rename that to FOLDER.
step() {
  local what=$1 folder=$2 stamp=$3 function=$4
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
  mkdir -p "$WORK" || die "'$WORK' cannot be made: choose another --out"
  command -v flock >/dev/null 2>&1 || return 0
  exec 8>"$WORK/.lock"
  flock -n 8 || { say "waiting for another preparation of $WORK"; flock 8; }
}

unlock_data() { exec 8>&-; }

# recipe_prepare: $WORK/tokenised, $WORK/bpe and $WORK/bin from $RAW, and DATA_STAMP.
recipe_prepare() {
  local split texts=()
  for split in train valid test; do texts+=("$RAW/$split.$SRC" "$RAW/$split.$TGT"); done
  DATA_STAMP=$(digest "$(file_digest "${texts[@]}")" "$SRC" "$TGT" "$TOKENIZER" "$BPE_OPS")
  if ! [ -f "$WORK/bin/.stamp" ] || [ "$(cat "$WORK/bin/.stamp")" != "$DATA_STAMP" ]; then
    dc-nmt check-text "${texts[@]}" >/dev/null || exit 1
  fi
  step "tokenise ($TOKENIZER)" "$WORK/tokenised" "$DATA_STAMP" tokenise
  step "learn and apply joint BPE ($BPE_OPS operations)" "$WORK/bpe" "$DATA_STAMP" byte_pairs
  step "fairseq-preprocess" "$WORK/bin" "$DATA_STAMP" binarise
}

tokenise() {
  local split lang
  if [ "$TOKENIZER" = split ]; then
    quietly dc-nmt split-text --out "$1" "$RAW"/{train,valid,test}."$SRC" "$RAW"/{train,valid,test}."$TGT"
    return
  fi
  for split in train valid test; do
    for lang in "$SRC" "$TGT"; do
      sacremoses -l "$lang" -j 1 -q tokenize <"$RAW/$split.$lang" >"$1/$split.$lang" 2>>"$LOG" ||
        die "sacremoses failed on $RAW/$split.$lang; the log is $LOG"
    done
  done
}

byte_pairs() {
  local split lang text=$WORK/tokenised
  cat "$text/train.$SRC" "$text/train.$TGT" >"$1/both"
  quietly subword-nmt learn-bpe -s "$BPE_OPS" -i "$1/both" -o "$1/codes"
  rm "$1/both"
  for split in train valid test; do
    for lang in "$SRC" "$TGT"; do
      quietly subword-nmt apply-bpe -c "$1/codes" -i "$text/$split.$lang" -o "$1/$split.$lang"
    done
  done
}

binarise() {
  quietly fairseq-preprocess --source-lang "$SRC" --target-lang "$TGT" --joined-dictionary \
    --trainpref "$WORK/bpe/train" --validpref "$WORK/bpe/valid" --testpref "$WORK/bpe/test" \
    --destdir "$1"
}

# -- one model -------------------------------------------------------------------------------

# recipe_model ARCH FOLDER: train, average, translate and score; leaves FOLDER/score/result.json.
recipe_model() {
  ARCH=$1 RUN=$2
  local -a arch_flags command
  read -r -a arch_flags <<<"${ARCH_FLAGS[$ARCH]}"
  command=(--user-dir "$PLUGIN" "${arch_flags[@]}" --source-lang "$SRC" --target-lang "$TGT"
    --max-update "$UPDATES" --save-interval-updates "$SAVE_EVERY"
    --keep-interval-updates "$AVERAGE" --no-epoch-checkpoints --log-format json
    --log-interval "$((UPDATES < 100 ? 1 : 10))" "${TRAIN_FLAGS[@]}")
  TRAIN_STAMP=$(digest "$DATA_STAMP" "${command[@]:2}")
  mkdir -p "$RUN"
  if command -v flock >/dev/null 2>&1; then
    exec 7>"$RUN/.lock"
    flock -n 7 || die "another recipe is working in $RUN"
  fi
  train "${command[@]}"
  step "$ARCH: average the last $AVERAGE checkpoints" "$RUN/average" \
    "$(digest "$TRAIN_STAMP" "$AVERAGE")" average
  local generate_stamp
  generate_stamp=$(digest "$TRAIN_STAMP" "$AVERAGE" "${GENERATE_FLAGS[@]}")
  step "$ARCH: translate the test set" "$RUN/generate" "$generate_stamp" translate
  step "$ARCH: score" "$RUN/score" "$generate_stamp" score
  exec 7>&-
}

train() {
  local done_stamp=$RUN/training.stamp settings=$RUN/settings.stamp
  if [ -f "$done_stamp" ] && [ "$(cat "$done_stamp")" = "$TRAIN_STAMP" ]; then
    say "$ARCH: train $UPDATES updates: done before"
    return
  fi
  if [ -f "$settings" ] && [ "$(cat "$settings")" != "$TRAIN_STAMP" ]; then
    die "$RUN holds a training with other data or settings (see its command.txt): use another folder, or remove that one"
  fi
  printf 'fairseq-train %s' "$WORK/bin" >"$RUN/command.txt"
  printf ' %q' "$@" >>"$RUN/command.txt"
  printf '\n' >>"$RUN/command.txt"
  printf '%s\n' "$TRAIN_STAMP" >"$settings"
  if [ -f "$RUN/checkpoints/checkpoint_last.pt" ]; then
    say "$ARCH: train $UPDATES updates, from the last checkpoint on"
  else
    rm -f "$RUN/train.log"
    say "$ARCH: train $UPDATES updates"
  fi
  if ! fairseq-train "$WORK/bin" "$@" --save-dir "$RUN/checkpoints" 2>&1 |
    dc-nmt progress --name "$ARCH" --updates "$UPDATES" --log "$RUN/train.log"; then
    die "the training of $ARCH stopped; its log is $RUN/train.log, the same command continues it"
  fi
  printf '%s\n' "$TRAIN_STAMP" >"$done_stamp"
}

average() {
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
  quietly fairseq-generate "$WORK/bin" --user-dir "$PLUGIN" --task "$task" \
    --source-lang "$SRC" --target-lang "$TGT" --path "$RUN/average/checkpoint.pt" \
    --gen-subset test --results-path "$1" "${GENERATE_FLAGS[@]}"
}

score() {
  quietly dc-nmt score --generated "$RUN/generate/generate-test.txt" --name "$ARCH" \
    --generate-log "$RUN/generate.log" \
    --source "$RAW/test.$SRC" --reference "$RAW/test.$TGT" --source-lang "$SRC" \
    --target-lang "$TGT" --tokenizer "$TOKENIZER" --train-log "$RUN/train.log" \
    --hypotheses "$RUN/hypotheses.$TGT" --json "$1/result.json"
}
