#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzz each target, or those named, with clang's libFuzzer under ASan and UBSan.
#
#   tests/fuzz/run.sh [--minutes N] [--build DIR] [TARGET...]
#
# What is found stays in DIR/findings, new inputs in DIR/corpus/TARGET (both kept between runs). A line for each target: executions, executions
# a second by the clock and of processor time (the same unless the machine has other work), edges covered, findings. The exit status is 1 if anything was found, 2 if a target did not run. How many lines are
# covered by all that: tests/fuzz/coverage.sh.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
minutes=10 build=$root/build/fuzz targets=()
while [ $# -gt 0 ]; do
    case $1 in
        --minutes) minutes=$2; shift 2 ;;
        --build) build=$2; shift 2 ;;
        --help) sed -n '3,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
        -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
        *) targets+=("$1"); shift ;;
    esac
done
[ ${#targets[@]} -gt 0 ] ||
    targets=(scan record zio safe suppress pickle yaml apis invariants evidence excerpt plan verify import trace)

mkdir -p "$build"
cmake -S "$root" -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTC_FUZZ=ON \
    -DTC_SANITIZE=address,undefined -DBUILD_TESTING=ON >"$build.log" 2>&1 || { tail -20 "$build.log" >&2; exit 2; }
cmake --build "$build" -j2 --target "${targets[@]/#/fuzz_}" >>"$build.log" 2>&1 || { tail -20 "$build.log" >&2; exit 2; }

# No stacks of allocations, and a quarantine that holds the blocks of some executions and fits the cache of a core. A finding
# that is run again has its stacks.
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=4:${ASAN_OPTIONS:-}
found=0 failed=0
for target in "${targets[@]}"; do
    corpus=$build/corpus/$target findings=$build/findings/$target log=$build/$target.log
    mkdir -p "$corpus" "$findings"
    before=$(find "$findings" -type f | wc -l)
    longest=8192
    case $target in # what is longer only takes longer
        trace) longest=5120 ;; # two ranks of two steps
        zio) longest=2048 ;;
        safe) longest=1024 ;;
    esac
    timeout=$(awk -v m="$minutes" 'BEGIN { print int(m * 60) }')
    # One that crashes is looked at first: the others still have their turn.
    TIMEFORMAT='%U %S'
    { time "$build/tests/bin/fuzz_$target" -max_total_time="$timeout" -timeout=10 -rss_limit_mb=2048 -max_len=$longest -entropic=0 \
        -print_final_stats=1 -detect_leaks=0 -dict="$root/tests/fuzz/words.dict" -artifact_prefix="$findings/" "$corpus" "$root/tests/fuzz/corpus/$target" \
        >"$log" 2>&1 || true; } 2>"$log.time"
    # To count each allocation for leaks takes a tenth of the time: the new inputs are run again for that, once.
    "$build/tests/bin/fuzz_$target" -runs=0 -timeout=10 -rss_limit_mb=2048 -max_len=$longest -artifact_prefix="$findings/" "$corpus" \
        >"$log.leaks" 2>&1 || true
    n=$(($(find "$findings" -type f | wc -l) - before))
    found=$((found + n))
    if [ "$n" -eq 0 ] && ! grep -q number_of_executed_units "$log"; then
        failed=1
        echo "$target did not run: $log" >&2
    fi
    awk -v target="$target" -v n="$n" -v time="$(tail -n 1 "$log.time")" '
        /cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
        /number_of_executed_units/ { runs = $2 } /average_exec_per_sec/ { speed = $2 }
        END { split(time, spent, " ")
              printf "%-10s %10d executions  %7d a second  %7d of processor time  %6d edges  %d found\n",
                     target, runs, speed, runs / (spent[1] + spent[2] + 0.01), edges, n }' "$log"
done
[ $failed -eq 0 ] || exit 2
exit $((found > 0))
