#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build and run all tests: the C tests under AddressSanitizer and
# UndefinedBehaviorSanitizer first, those of threads under ThreadSanitizer,
# with both the agent in a Python that trains, then everything in the default build.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/scripts/setup.sh"
setup_all test

# $1: folder below build/, $2: sanitizers, then what ctest selects.
run_sanitized() {
    local folder=$root/build/$1
    say "Building in build/$1/"
    configure_and_build "$folder" -DBUILD_TESTING=ON -DCMAKE_BUILD_TYPE=Debug -DTC_WERROR=ON "-DTC_SANITIZE=$2" \
        -DTC_SANITIZE_AGENT=ON
    say "C tests with -fsanitize=$2"
    shift 2
    ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
        ctest --test-dir "$folder" --output-on-failure -j2 "$@" || status=$?
    say
}

status=0
run_sanitized asan address,undefined -LE 'law|python|torch'
run_sanitized tsan thread -L 'threads|agent-sanitize'
say "All tests"
# Many of these are real processes that are killed, starved and raced. One that fails is run once
# more, and both outcomes stand in the output: what fails twice fails the run.
ctest --test-dir build --output-on-failure -j2 --repeat until-pass:2 || status=$?
exit $status
