#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build TrainCheck and find a silent bug with it: learn invariants from
# examples/digits/train.py, check examples/digits/train_broken.py by them.
# Exits with 0 if the bug was found.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/scripts/setup.sh"
setup_all

bin=build/bin out=build/quickstart
python=${python#"$root"/}
rm -rf -- "${root:?}/$out"
mkdir -p -- "$root/$out"

run() {
    printf '\n$'
    printf ' %q' "$@"
    printf '\n'
    "$@"
}

say
say "1. Trace two healthy runs, with different seeds, and learn what held in both."
for seed in 1 2; do
    run $bin/traincheck-collect --python "$python" -o $out/good$seed examples/digits/train.py --seed $seed
done
run $bin/traincheck-infer --specific $out/good1 $out/good2 -o $out/invariants.jsonl
say
say "2. Trace a run of the same script with a silent bug, and check it."
run $bin/traincheck-collect --python "$python" -o $out/broken examples/digits/train_broken.py
status=0
run $bin/traincheck-check $out/broken -i $out/invariants.jsonl -o $out/report || status=$?

say
if [ $status -ne 1 ]; then
    say "The bug was not found: traincheck-check ended with $status, 1 was expected."
    exit 1
fi
say "Found: the optimizer of train_broken.py changes no parameter, from its first step on. The edited line leads."
say "Open $out/report/report.html in a browser."
say
say "With a script of your own:"
say "  $bin/traincheck-collect -o good1 train.py    # again with -o good2 and another seed, if it takes one"
say "  $bin/traincheck-infer --specific good1 good2 -o invariants.jsonl"
say "  $bin/traincheck-check run -i invariants.jsonl    # run: the trace of any other run"
