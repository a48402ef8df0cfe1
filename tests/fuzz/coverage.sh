#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many lines do the fuzz corpora and the tests without torch reach? With clang's llvm-cov, by folder of src/.
#
#   tests/fuzz/coverage.sh [--build DIR] [--corpus DIR] [--files]
#
# DIR of --corpus has a folder for each target, as build/fuzz/corpus after run.sh. --files: a line for each file, too.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/coverage more=$root/build/fuzz/corpus files=0
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=$2; shift 2 ;;
        --corpus) more=$2; shift 2 ;;
        --files) files=1; shift ;;
        --help) sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "coverage.sh: unknown argument $1" >&2; exit 2 ;;
    esac
done
tool() { command -v "$1" || command -v "$1-$(clang -dumpversion | cut -d. -f1)" || { echo "coverage.sh: no $1" >&2; exit 2; }; }
merge=$(tool llvm-profdata) show=$(tool llvm-cov)

mkdir -p "$build"
cmake -S "$root" -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=ON \
    "-DCMAKE_C_FLAGS=-O1 -fprofile-instr-generate -fcoverage-mapping" >"$build.log" 2>&1 || { tail -20 "$build.log" >&2; exit 2; }
cmake --build "$build" -j2 >>"$build.log" 2>&1 || { tail -20 "$build.log" >&2; exit 2; }

rm -rf -- "$build/profiles"
export LLVM_PROFILE_FILE=$build/profiles/%4m.profraw
for target in "$root"/tests/fuzz/corpus/*; do
    name=$(basename -- "$target")
    folders=("$target")
    [ ! -d "$more/$name" ] || [ -z "$(ls -A "$more/$name")" ] || folders+=("$more/$name")
    "$build/tests/bin/fuzz_${name}_corpus" "${folders[@]}" >"$build/$name.log" 2>&1 ||
        { tail -5 "$build/$name.log" >&2; exit 1; }
done
ctest --test-dir "$build" -L 'unit|relations|cli|report|import|plan|online' -LE 'oracle|torch' -j2 >"$build/tests.log" 2>&1 ||
    { echo "coverage.sh: tests failed: $build/tests.log" >&2; grep -A30 'tests FAILED' "$build/tests.log" >&2 || true; }

"$merge" merge -o "$build/all.profdata" "$build"/profiles/*.profraw
objects=()
for binary in "$build"/bin/traincheck-* "$build"/tests/bin/*; do
    [ ! -x "$binary" ] || objects+=(-object "$binary")
done
"$show" export -summary-only -instr-profile "$build/all.profdata" "${objects[@]}" 2>/dev/null |
    python3 "$root/tests/fuzz/by_folder.py" "$root/src" "$files"
