#!/usr/bin/env bash
# From nothing to trained, scored and compared models, offline once the environment is there. It writes a
# small English-German text, then calls dc-nmt new and dc-nmt run. A second call continues.
#
# usage: scripts/quickstart.sh [ARCH …] [options of dc-nmt run] [--python VERSION]
#   ARCH        default: transformer_standard transformer_dc
#   QUICKSTART  in the environment: folder for everything; default: quickstart_out
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case " $* " in *" -h "* | *" --help "*) show_help ;; esac
take_python "$@"
out=${QUICKSTART:-quickstart_out}
need_writable "$out" "start this script in a folder of yours, or name another one by QUICKSTART=FOLDER"
use_environment ${setup[@]+"${setup[@]}"}

if [ ! -f "$out/en-de/recipe.yaml" ]; then
  say "an English-German text of 8,000 pairs, and its recipe"
  "$PYTHON" "$ROOT/scripts/toy_text.py" "$out/text"
  dc-nmt new "$out/en-de" transformer_standard transformer_dc \
    --train "$out/text/toy.en" "$out/text/toy.de" --bpe 1000
fi
# fewer updates and layers than the recipe's, so that two CPU cores need a few minutes
case " $* " in *" --max-update"*) ;; *) rest+=(--max-update 200) ;; esac
dc-nmt run "$out/en-de" "${rest[@]}" --encoder-layers 2 --decoder-layers 2
say "done; everything is in $out. The text is easy and the models are small: a score says nothing about real text"
