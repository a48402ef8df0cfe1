# SPDX-License-Identifier: Apache-2.0
# Sourced by quickstart.sh and test.sh: what they need, then configure and build.
#
#   setup_all [test COMMAND]    packages, Python with torch, build/ configured and built; for tests what COMMAND builds, too
#
# Afterwards $python is an interpreter with torch and scikit-learn. Nothing is
# written outside of the checkout but Debian packages that are missing.
# shellcheck shell=bash

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck source=scripts/versions
. "$root/scripts/versions"
log=$root/build/setup.log

say() { printf '%s\n' "$*"; }
fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2
    exit 2
}

# A step whose output matters only when it fails. Jobs side by side print on after an error, so the
# errors come before the end.
quietly() {
    if ! "$@" >"$log" 2>&1; then
        grep -m 10 -A 4 -E '(error|Error|ERROR): ' -- "$log" >&2 || true
        tail -n 30 -- "$log" >&2
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
has_header() { has python3 && { python3 -B "$root/scripts/python_header.py" >/dev/null 2>&1 || [ $? -eq 2 ]; }; }
has_venv() { has python3 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Ubuntu's chromium-browser is a word on how to get one.
has_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do
        ! has $name || ! $name --version >/dev/null 2>&1 || return 0
    done
    return 1
}

# The linker that clang finds.
has_lld() { has clang && { has ld.lld || [ -x "$(clang --print-prog-name=ld.lld)" ]; }; }

# Can apt install $1? What grep -q has read enough of must not end in SIGPIPE: the answer would be no.
has_package() {
    local policy
    policy=$(LC_ALL=C apt-cache policy "$1")
    [[ $policy =~ Candidate:\ [^\(] ]]
}

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
        has zstd || echo zstd
        has patch || echo patch
        has g++ || echo g++
        has clang || echo clang
        has_lld || echo lld
        has_browser || [ -n "${no_browser:-}" ] || echo chromium
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
    if [ "${1:-}" = test ] && ! has_browser && ! has_package chromium; then
        say "No package chromium (Ubuntu has a snap): the test of report.html in a browser is left out"
        no_browser=1
        mapfile -t packages < <(missing_packages test)
    fi
    [ ${#packages[@]} -eq 0 ] || quietly as_root apt-get install -y --no-install-recommends "${packages[@]}"
    mapfile -t packages < <(missing_packages "${1:-}")
    [ ${#packages[@]} -eq 0 ] || fail "still missing: ${packages[*]}"
}

has_torch() { "$1" -B "$root/scripts/has_torch.py" --alone >/dev/null 2>&1; }
has_all() { "$1" -B "$root/scripts/has_torch.py" >/dev/null 2>&1; }
# What is never imported is not compiled: that took half of the processor time.
pip_install=(install --disable-pip-version-check --no-compile)
install() { quietly "$python" -m pip "${pip_install[@]}" "$@"; }

# uv takes a tenth of pip's processor time, but reads no settings of pip's: where those name another index, pip installs.
uv=
setup_uv() {
    local settings
    settings=$("$python" -m pip config list)
    [[ $settings != *.index-url=* ]] || return 0
    uv=$root/build/uv/bin/uv
    [ -x "$uv" ] || "$python" -m pip "${pip_install[@]}" --target "$root/build/uv" "uv==$UV" >"$log" 2>&1 || uv=
}

# Fill the environment $1. What uv does not get pip may: it knows the user's proxies and certificates.
install_into() {
    if [ -n "$uv" ] && "$uv" pip install --quiet --no-cache --python "$1/bin/python" "${@:2}" >"$log" 2>&1; then
        return
    elif [ -x "$1/bin/pip" ]; then
        quietly "$1/bin/python" -m pip "${pip_install[@]}" "${@:2}"
    else
        quietly "$python" -m pip --python "$1/bin/python" "${pip_install[@]}" "${@:2}"
    fi
}

# "torch==VERSION" for the interpreter $1: not every release has a wheel for every Python.
torch_for() {
    local own
    own=TORCH_FOR_$("$1" -c 'import sys; print("%d_%d" % sys.version_info[:2])')
    printf 'torch==%s' "${!own:-$TORCH}"
}

# The active python3 if it has what the examples import, else one of .venv, which is made if need be.
choose_python() {
    base=$(python3 -c 'import sys; print(sys.executable)')
    python=$base
    has_all "$python" && return
    python=$root/.venv/bin/python
    has_all "$python" || quietly "$base" -m venv -- "$root/.venv"
}

# What the examples import, into .venv; a torch that the interpreter $base has is used as it is.
install_torch() {
    if has_torch "$base"; then
        say "Installing scikit-learn in .venv, for the torch of $base"
        "$base" -c 'import sys; print("\n".join(filter(None, sys.path)))' \
            >"$("$python" -c 'import site; print(site.getsitepackages()[0])')/torch.pth"
        install scikit-learn
    else
        say "Installing torch ${torch#*==} and scikit-learn in .venv (once, some minutes)"
        install "$torch" scikit-learn
    fi
    has_all "$python" || fail "$python cannot import torch and sklearn"
}

# Make the interpreter $1 of an environment of ours start faster: compile the modules that tests import again and again, and look
# for cycles less often, and no more when it ends: looking took a sixth of the processor time of tests that trace torch.
make_fast() {
    local kept=${1%/bin/*}/bytecode.txt
    echo 'import atexit, gc; gc.set_threshold(10000); atexit.register(gc.freeze)' \
        >"$("$1" -c 'import site; print(site.getsitepackages()[0])')/fewer_collections.pth"
    [ "${*:2}" != "$(cat -- "$kept" 2>/dev/null)" ] || return 0
    quietly "$1" "$root/scripts/keep_bytecode.py" "${@:2}"
    printf '%s\n' "${*:2}" >"$kept"
}

# Fill .venv; $1: "test" for what only tests import.
setup_python() {
    local torch
    [ "$python" != "$base" ] || return 0
    torch=$(torch_for "$base")
    has_all "$python" || install_torch
    [ "${1:-}" = test ] || return 0
    if ! "$python" -c 'import accelerate, coverage, lightning, transformers' >/dev/null 2>&1; then
        say "Installing the libraries of the tests in .venv"
        set -- "transformers==$TRANSFORMERS" "accelerate==$ACCELERATE" "lightning==$LIGHTNING" "coverage==$COVERAGE"
        if has_torch "$base"; then # of which pip knows
            install "$@"
        else
            install_into "$root/.venv" "$torch" "$@"
        fi
    fi
    make_fast "$python" torch._inductor.compile_fx torch.distributed.checkpoint torch.distributed.fsdp \
        torch.distributed.pipelining torch.distributed.run torch.distributed.tensor.parallel sklearn.datasets \
        transformers.trainer lightning.pytorch accelerate.commands.launch coverage
}

# Interpreters of the other Pythons that can be traced, as CMake takes them: of PATH and of pyenv.
other_pythons() {
    local minor found
    for minor in $(seq "${OLDEST_PYTHON#3.}" "${NEWEST_PYTHON#3.}"); do
        for found in "$(command -v "python3.$minor")" "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3."$minor".*/bin/python; do
            if [ -x "$found" ] && "$found" -B "$root/scripts/python_header.py" >/dev/null 2>&1; then
                printf ';%s' "$("$found" -c 'import sys; print(sys.executable)')" # a shim of pyenv takes longer than Python
                break
            fi
        done
    done
}

# Small packages of PyPI for the tests, in a place of their own: $1 below build/, then what pip installs there.
setup_apart() {
    local folder=$root/build/$1
    shift
    [ "$*" != "$(cat -- "$folder/installed.txt" 2>/dev/null)" ] || return 0
    say "Installing $* in build/${folder##*/}"
    if "$python" -m pip --python "$python" --version >/dev/null 2>&1; then # pip 22.3 installs elsewhere
        quietly "$python" -m venv --without-pip -- "$folder"
    else
        quietly "$python" -m venv -- "$folder"
    fi
    install_into "$folder" "$@"
    printf '%s\n' "$*" >"$folder/installed.txt"
}

# Parsers of the reports' formats; trackers, notebooks and what builds wheels, pip among it; engines of clusters; what checks
# the package's types, one of them with a Node of its own; the formatter that law.format asks, as Debian's differ from suite
# to suite.
setup_tools_of_tests() {
    local readers integrations engines remote more=()
    mapfile -t readers <"$root/tests/report/requirements.txt"
    mapfile -t integrations <"$root/tests/package/requirements.txt"
    setup_apart readers "${readers[@]}"
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then # as wandb and mlflow want
        setup_apart integrations "${integrations[@]}"
        make_fast "$root/build/integrations/bin/python" wandb mlflow tensorboard nbclient ipykernel.kernelapp \
            opentelemetry.sdk.trace opentelemetry.exporter.otlp.proto.http.trace_exporter
        setup_apart types "mypy==$MYPY" "pyright[nodejs]==$PYRIGHT"
        mapfile -t engines <"$root/tests/package/engines.txt"
        [ "${TRAINCHECK_ENGINES:-}" != all ] || mapfile -t more <"$root/tests/package/engines-all.txt"
        mapfile -t remote <"$root/tests/package/remote.txt"
        setup_apart remote "${remote[@]}"
        setup_apart engines "${engines[@]}" ${more[@]+"${more[@]}"}
        make_fast "$root/build/engines/bin/python" distributed
    fi
    setup_apart formatter "clang-format==$CLANG_FORMAT"
    setup_site
}

# MkDocs, for the documentation site.
setup_site() {
    local packages
    mapfile -t packages <"$root/docs/requirements.txt"
    setup_apart mkdocs "${packages[@]}"
}

# $1: build folder, then options of cmake; build_target in the environment: what to build. A folder that was configured
# elsewhere starts anew. Debug information is for backtraces: all of it takes a sixth of the compiler's time.
configure_and_build() {
    local folder=$1 fresh=()
    shift
    if [ -f "$folder/CMakeCache.txt" ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
        fresh=(--fresh)
    fi
    quietly cmake ${fresh[@]+"${fresh[@]}"} -S "$root" -B "$folder" "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" \
        "-DTRAINCHECK_PYTHONS=$python${more_pythons:-}" -DTC_NO_TORCH=FALSE -DCMAKE_RULE_MESSAGES=OFF "$@"
    quietly cmake --build "$folder" --parallel "$(nproc)" --target "${build_target:-all}"
}

# All that comes from PyPI, into logs of its own.
setup_libraries() {
    log=$root/build/setup_libraries.log
    [ "${1:-}" != test ] || setup_uv
    setup_python "${1:-}"
    [ "${1:-}" != test ] || setup_tools_of_tests
}

# $1: "ON" with tests, "OFF" without, then a command that builds the rest and is given that.
build_all() {
    say "Building in build/"
    configure_and_build "$root/build" "-DBUILD_TESTING=$1"
    "$2" "$1"
}

# Packages come over the network while the compiler has the cores. What a test needs is asked for by
# CMake, so tests are configured behind both.
setup_all() {
    local libraries
    cd -- "$root"
    setup_home
    setup_packages "${1:-}"
    choose_python
    setup_libraries "${1:-}" &
    libraries=$!
    trap 'kill "$libraries" 2>/dev/null' EXIT
    [ "${1:-}" != test ] || more_pythons=$(other_pythons)
    build_all OFF "${2:-:}"
    wait "$libraries" || exit
    trap - EXIT
    [ "${1:-}" != test ] || build_all ON "$2"
}
