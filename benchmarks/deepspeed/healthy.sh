#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Are healthy jobs of DeepSpeed accused, by what held in two runs of each or by the shipped sets?
#
# usage: benchmarks/deepspeed/healthy.sh [SCRIPT ...]      names below healthy/, without .py; all by default
#
# PYTHON (with torch, scikit-learn and deepspeed; default: python3) trains on two ranks over gloo, BIN (default: build/bin) has the
# tools. The third run has another seed, rate and length. Traces stay in build/deepspeed, and are taken as they are if they are there.
set -euo pipefail
python=$(realpath -s -- "$(command -v "${PYTHON:-python3}")")
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.."
bin=${BIN:-$PWD/build/bin} out=$PWD/build/deepspeed scripts=$PWD/benchmarks/deepspeed/healthy
export DS_ACCELERATOR=cpu OMP_NUM_THREADS=1 PATH=$(dirname -- "$python"):$PATH # DeepSpeed builds with the ninja beside its Python
mkdir -p -- "$out"
[ $# -gt 0 ] || for script in "$scripts"/[!o]*.py; do set -- "$@" "$(basename -- "$script" .py)"; done

# $1: script, $2: run, then its arguments
trace() {
    local folder=$out/$1.$2
    [ -d "$folder" ] || "$bin/traincheck-collect" -q --python "$python" -o "$folder" -- "$python" -m torch.distributed.run \
        --nproc_per_node 2 "$scripts/$1.py" "${@:3}" >"$folder.log" 2>&1 || { cat -- "$folder.log"; exit 1; }
}

# $1: script, $2: invariants
verdict() {
    "$bin/traincheck-check" "$out/$1.run" -i "$2" --fail-on law --no-html-report -o "$out/$1.report" 2>&1 |
        sed -n "s/^traincheck-check: \([0-9]* invariants:.*\)/$1: \1/p"
}

for name; do
    trace "$name" good1 --seed 1
    trace "$name" good2 --seed 2
    trace "$name" run --seed 3 --lr x0.7 --steps x1.5
    "$bin/traincheck-infer" -q --specific "$out/$name.good1" "$out/$name.good2" -o "$out/$name.jsonl"
    verdict "$name" "$out/$name.jsonl"
    verdict "$name" @all
done
