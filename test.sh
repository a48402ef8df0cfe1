#!/usr/bin/env bash
# Build and run all tests: the C tests under AddressSanitizer and
# UndefinedBehaviorSanitizer first, then everything in the default build.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/scripts/setup.sh"
setup_all test

say "Building in build/asan/"
configure_and_build "$root/build/asan" -DBUILD_TESTING=ON -DCMAKE_BUILD_TYPE=Debug \
    -DTC_WERROR=ON -DTC_SANITIZE=address,undefined

status=0
say "C tests with sanitizers"
ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --test-dir build/asan --output-on-failure -j2 -LE 'law|python|torch' || status=$?
say
say "All tests"
ctest --test-dir build --output-on-failure -j2 || status=$?
exit $status
