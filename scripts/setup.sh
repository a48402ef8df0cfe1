# Sourced by quickstart.sh and test.sh: what they need, then configure and build.
#
#   setup_all [test]    packages, Python with torch, build/ configured and built
#
# Afterwards $python is an interpreter with torch and scikit-learn. Nothing is
# written outside of the checkout but Debian packages that are missing.
# shellcheck shell=bash

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
torch_version=2.13.0
log=$root/build/setup.log

say() { printf '%s\n' "$*"; }
fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 2
}

# A step whose output matters only when it fails.
quietly() {
    if ! "$@" >"$log" 2>&1; then
        tail -n 60 -- "$log" >&2
        fail "failed: $* (all of it: $log)"
    fi
}

# Without a home that can be written, caches go below build/.
setup_home() {
    mkdir -p -- "$root/build"
    if [ ! -d "${HOME:-}" ] || [ ! -w "${HOME:-}" ]; then
        export XDG_CACHE_HOME=$root/build/cache XDG_CONFIG_HOME=$root/build/config
        export PIP_CACHE_DIR=$root/build/cache/pip
    fi
}

has() { command -v "$1" >/dev/null 2>&1; }
has_module() { has pkg-config && pkg-config --exists "$1"; }
has_cmake() { has cmake && cmake -P "$root/cmake/minimum.cmake" >/dev/null 2>&1; }
# An interpreter that no agent can be built for is refused by CMake, which says why.
has_header() { has python3 && { python3 "$root/scripts/python_header.py" >/dev/null 2>&1 || [ $? -eq 2 ]; }; }
has_venv() { has python3 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

# The Debian packages that are missing, one a line; $1: "test" for those of the tests, too.
missing_packages() {
    has cc || echo gcc
    has cc && echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 || echo libc6-dev
    has make || echo make
    has_cmake || echo cmake
    has pkg-config || echo pkg-config
    has_module libcjson || echo libcjson-dev
    has_module libzstd || echo libzstd-dev
    has_module libuv || echo libuv1-dev
    has_module libxxhash || echo libxxhash-dev
    has_module yaml-0.1 || echo libyaml-dev
    has python3 || echo python3
    has_header || echo python3-dev
    has_venv || echo python3-venv
    if [ "${1:-}" = test ]; then
        has_module cmocka || echo libcmocka-dev
        has clang-format-14 || echo clang-format-14
        has chromium || has chromium-browser || has google-chrome || echo chromium
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] || { has sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }
}

setup_packages() {
    local packages
    mapfile -t packages < <(missing_packages "${1:-}")
    [ ${#packages[@]} -eq 0 ] && return
    has apt-get || fail "missing, by their names in Debian: ${packages[*]}"
    can_be_root || fail "needs root for: apt-get update && apt-get install -y ${packages[*]}"
    say "Installing ${packages[*]}"
    quietly as_root apt-get update
    quietly as_root apt-get install -y --no-install-recommends "${packages[@]}"
    mapfile -t packages < <(missing_packages "${1:-}")
    [ ${#packages[@]} -eq 0 ] || fail "still missing: ${packages[*]}"
}

has_torch() { "$1" "$root/scripts/has_torch.py" >/dev/null 2>&1; }

# The active python3 if it has what the examples import, else .venv with it; $1: "test" for what only tests import.
setup_python() {
    python=$(python3 -c 'import sys; print(sys.executable)')
    has_torch "$python" && return
    local base=$python
    python=$root/.venv/bin/python
    if ! has_torch "$python"; then
        say "Installing torch $torch_version and scikit-learn in .venv (once, some minutes)"
        quietly "$base" -m venv -- "$root/.venv"
        quietly "$python" -m pip install --disable-pip-version-check "torch==$torch_version" scikit-learn
        has_torch "$python" || fail "$python cannot import torch and sklearn"
    fi
    [ "${1:-}" = test ] || return 0
    if ! "$python" -c 'import accelerate, coverage, lightning, transformers' >/dev/null 2>&1; then
        say "Installing the libraries of the tests in .venv"
        quietly "$python" -m pip install --disable-pip-version-check "torch==$torch_version" \
            transformers==5.23.0 accelerate==1.15.0 lightning==2.6.6 coverage==7.17.3
    fi
}

# Interpreters of the other Pythons that can be traced, as CMake takes them: of PATH and of pyenv.
other_pythons() {
    local minor found
    for minor in 9 10 11 12 13; do
        for found in "$(command -v "python3.$minor")" "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3."$minor".*/bin/python; do
            if [ -x "$found" ] && "$found" "$root/scripts/python_header.py" >/dev/null 2>&1; then
                printf ';%s' "$found"
                break
            fi
        done
    done
}

# Parsers of the reports' formats, for the tests: small packages of PyPI, in a place of their own.
setup_readers() {
    local readers=$root/build/readers
    local wanted=$root/tests/report/requirements.txt
    cmp -s -- "$wanted" "$readers/installed.txt" && return
    say "Installing what reads the reports in build/readers"
    quietly "$python" -m venv -- "$readers"
    quietly "$readers/bin/python" -m pip install --disable-pip-version-check -r "$wanted"
    cp -- "$wanted" "$readers/installed.txt"
}

# $1: build folder, then options of cmake. A folder that was configured elsewhere starts anew.
configure_and_build() {
    local folder=$1 fresh=()
    shift
    if [ -f "$folder/CMakeCache.txt" ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        fresh=(--fresh)
    fi
    quietly cmake ${fresh[@]+"${fresh[@]}"} -S "$root" -B "$folder" \
        "-DTRAINCHECK_PYTHONS=$python${more_pythons:-}" "$@"
    quietly cmake --build "$folder" --parallel "$(nproc)"
}

setup_all() {
    cd -- "$root"
    setup_home
    setup_packages "${1:-}"
    setup_python "${1:-}"
    [ "${1:-}" != test ] || setup_readers
    say "Building in build/"
    if [ "${1:-}" = test ]; then
        more_pythons=$(other_pythons) configure_and_build "$root/build" -DBUILD_TESTING=ON
    else
        configure_and_build "$root/build" -DBUILD_TESTING=OFF
    fi
}
