#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every Python that can be traced, with the torch releases that people have: is a job's result the same bits, is every
# step traced, is anything accused? Writes docs/matrix.md.
#
# usage: tests/matrix.sh [PYTHON:TORCH ...]        as 3.12:2.15.0; without arguments: all of the table, the newest first
#
# Not in CI: a cell downloads up to 3 GB, takes 6 GB on disk while it runs, and some minutes. An interpreter is looked for on PATH
# and in pyenv; 3.14 and 3.15 are else taken from a tree of Debian's forky, which needs root and debootstrap. Rows of
# cells that are not run stay in the table. MATRIX_VENVS=DIR keeps the environments, DIR/PYTHON-TORCH.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../scripts/setup.sh"

cells=(3.15:2.15.0 3.14:2.15.0 3.11:2.15.0 3.13:2.15.0 3.12:2.15.0 3.11:2.8.0 3.11:2.13.0 3.10:2.14.1 3.9:2.8.0
    3.11:2.4.1 3.11:2.0.1 3.10:1.13.1)
out=$root/build/matrix
tree=$out/forky
venvs=${MATRIX_VENVS:-$out/venvs}
authorities=/etc/ssl/certs/ca-certificates.crt
libraries=(libcjson-dev libzstd-dev libuv1-dev libxxhash-dev libyaml-dev)

interpreter() {
    local found
    for found in "$(command -v "python$1")" "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/"$1".*/bin/python; do
        if [ -x "$found" ] && "$found" -B "$root/scripts/python_header.py" >/dev/null 2>&1; then
            printf '%s' "$found"
            return
        fi
    done
}

# A Debian with Pythons 3.14 and 3.15, their headers, and what the tools need; the checkout at its own path in it.
make_tree() {
    [ "$(id -u)" = 0 ] && has debootstrap || fail "Python 3.14 and 3.15: not found; root and debootstrap can make a tree with them"
    local scripts=/usr/share/debootstrap/scripts
    if [ ! -e "$tree/usr/bin/python3.15" ]; then
        say "Making a tree of Debian forky in ${tree#"$root"/}"
        quietly debootstrap --variant=minbase forky "$tree" http://deb.debian.org/debian \
            "$([ -e $scripts/forky ] && echo $scripts/forky || echo $scripts/sid)"
        cp /etc/resolv.conf /etc/hosts "$tree/etc/" # torchrun asks for the name of the machine
        quietly chroot "$tree" apt-get install -y --no-install-recommends gcc libc6-dev make cmake pkg-config ca-certificates \
            python3.1{4,5}-dev python3.1{4,5}-venv "${libraries[@]}"
    fi
    # It trusts what the machine trusts: pip may have to go through a proxy.
    [ ! -e $authorities ] || cp $authorities "$tree$authorities"
}

# $@: a command, here or in the tree. What the tree sees of the machine is mounted for this command alone, in a
# namespace of its own: nothing has to be unmounted, whatever happens.
inside() {
    if [ -z "$in_tree" ]; then
        "$@"
        return
    fi
    # shellcheck disable=SC2016  # the inner shell's words
    unshare --mount -- bash -euc '
        tree=$1 root=$2
        for path in "$root" "$3" /proc /dev; do
            mkdir -p -- "$tree$path"
            mount --rbind -- "$path" "$tree$path"
        done
        exec chroot "$tree" env -C "$root" "HOME=$root/build" "${@:4}"
    ' inside "$tree" "$root" "$venvs" "$@"
}

# numpy 2 came with torch 2.3: older releases were built for 1.
numpy_for() { case $1 in 1.* | 2.[012].*) echo "numpy<2" ;; *) echo numpy ;; esac; }

run_cell() {
    local version=${1%:*} torch=${1#*:} in_tree='' base build failed=0
    base=$(interpreter "$version")
    build=$root/build/matrix/tools
    if [ -z "$base" ]; then
        case $version in 3.14 | 3.15) ;; *) fail "python$version with its headers: not found" ;; esac
        make_tree
        in_tree=1 base=python$version build+=-forky
    fi
    local venv=$venvs/$version-$torch
    say "Python $version with torch $torch"
    if [ ! -e "$venv/installed" ]; then
        quietly inside "$base" -m venv --clear -- "$venv"
        quietly inside "$venv/bin/python" -m pip install --disable-pip-version-check "torch==$torch" "$(numpy_for "$torch")" scikit-learn
        touch -- "$venv/installed"
    fi
    quietly inside cmake -S "$root" -B "$build" -DBUILD_TESTING=OFF "-DTRAINCHECK_PYTHONS=$base"
    quietly inside cmake --build "$build" --parallel "$(nproc)"
    inside "$venv/bin/python" -B "$root/tests/matrix/cell.py" --bin "$build/bin" --python "$venv/bin/python" \
        --out "$out/$version-$torch.json" || { failed=1; say "  not well: build/matrix/$version-$torch.json"; }
    [ -n "${MATRIX_VENVS:-}" ] || rm -rf -- "${venv:?}"
    return $failed
}

cd -- "$root"
mkdir -p -- "$out" "$venvs"
status=0
[ $# -eq 0 ] || cells=("$@")
for cell in "${cells[@]}"; do (run_cell "$cell") || status=1; done
compgen -G "$out/*.json" >/dev/null || fail "no cell was run"
python3 -B tests/matrix/table.py docs/matrix.md "$out"/*.json
say "docs/matrix.md"
exit $status
