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
say "1. Trace a healthy run and learn what held in it."
run $bin/traincheck-collect --python "$python" -o $out/train examples/digits/train.py
run $bin/traincheck-infer $out/train -o $out/invariants.jsonl
say
say "2. Trace a run with a silent bug, as far as the invariants need it, and check it."
run $bin/traincheck-collect --python "$python" -i $out/invariants.jsonl -o $out/broken \
    examples/digits/train_broken.py
status=0
run $bin/traincheck-check $out/broken -i $out/invariants.jsonl -o $out/report || status=$?

say
if [ $status -ne 1 ]; then
    say "The bug was not found: traincheck-check ended with $status, 1 was expected."
    exit 1
fi
say "Found: the optimizer of train_broken.py changes no parameter, from its first step on."
say "Open $out/report/report.html in a browser."
say
say "With a script of your own:"
say "  $bin/traincheck-collect -o good1 train.py    # again with -o good2 and another seed, if it takes one"
say "  $bin/traincheck-infer --specific good1 good2 -o invariants.jsonl"
say "  $bin/traincheck-check run -i invariants.jsonl    # run: the trace of any other run"
