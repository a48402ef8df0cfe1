#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build and run all tests: the C tests under AddressSanitizer and
# UndefinedBehaviorSanitizer first, those of threads under ThreadSanitizer,
# with both the agent in a Python that trains. The default build runs all other tests.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/scripts/setup.sh"

# $1: folder below build/, $2: sanitizers, then options of cmake.
# -Og: the tests take a quarter less processor time than with -O0, and what stands in the sources is still checked.
build_sanitized() {
    say "Building in build/$1/"
    more_pythons='' configure_and_build "$root/build/$1" -DCMAKE_BUILD_TYPE=Debug -DTC_WERROR=ON \
        "-DCMAKE_C_FLAGS_DEBUG=-Og -g1" "-DTC_SANITIZE=$2" -DTC_SANITIZE_AGENT=ON "${@:3}"
}

# $1: "ON" with tests, "OFF" without.
# Most tests start a tool many times. One that is not relocated takes a quarter less processor time for that. One that traps at what
# is undefined takes half: else it has 40,000 tables of what to say then, each guarded as a variable is.
build_with_sanitizers() {
    build_sanitized asan address,undefined "-DBUILD_TESTING=$1" "-DCMAKE_EXE_LINKER_FLAGS=-no-pie" \
        "-DCMAKE_C_FLAGS=-fsanitize-undefined-trap-on-error"
    [ "$1" = OFF ] || local build_target=thread_tests
    build_sanitized tsan thread "-DBUILD_TESTING=$1"
}

setup_all test build_with_sanitizers

# Many tests wait for most of their time: for processes, for a browser, for what is to happen late.
jobs=$((2 * $(nproc) + 1))
# Threads of torch that wait for one another take processor time from the other tests.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

# $1: folder below build/, then what ctest selects.
run_sanitized() {
    say "C tests with the sanitizers of build/$1/"
    # With handle_sigill AddressSanitizer tells the line of a trap.
    ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:handle_sigill=1 \
        ctest --test-dir "$root/build/$1" --output-on-failure -j "$jobs" "${@:2}" || status=$?
    say
}

# The names of the tests that ctest selects, sorted.
names() { ctest -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p' | LC_ALL=C sort; }

status=0
without_torch=(-LE 'law|python|torch')
run_sanitized asan "${without_torch[@]}"
run_sanitized tsan -L 'threads|agent-sanitize'
# What ran with AddressSanitizer is not run again, but where another build could give another answer.
mapfile -t done_before < <(LC_ALL=C comm -23 <(names --test-dir build/asan "${without_torch[@]}") \
    <(names --test-dir build -L 'law|unit|cli|optimised'))
say "All other tests, and those that optimised code could fail"
# Many of these are real processes that are killed, starved and raced. One that fails is run once
# more, and both outcomes stand in the output: what fails twice fails the run.
ctest --test-dir build --output-on-failure -j "$jobs" --repeat until-pass:2 \
    -E "^($(IFS='|'; printf '%s' "${done_before[*]}"))\$" || status=$?
exit $status
