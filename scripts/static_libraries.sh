#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C libraries that a wheel holds, as static archives with their pkg-config files and licenses.
#
#   CC=compiler static_libraries.sh PREFIX      static_libraries.sh --list
#
# Sources are Debian's, by their digests; those that lie in $TRAINCHECK_SOURCES (default PREFIX/sources) are not fetched again.
set -euo pipefail
# name, version, path in the pool, sha256; sbom.py asks for it
libraries() {
    cat <<'TABLE'
zstd 1.5.4 libz/libzstd/libzstd_1.5.4+dfsg2.orig.tar.xz 8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953
libuv 1.44.2 libu/libuv1/libuv1_1.44.2.orig.tar.gz d79b4b06ef04be85fb890bf39d55942cc64c2e15fd14eaa32dae5dce94485484
cJSON 1.7.15 c/cjson/cjson_1.7.15.orig.tar.gz 5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2
libyaml 0.2.5 liby/libyaml/libyaml_0.2.5.orig.tar.gz fa240dbf262be053f3898006d502d514936c818e422afdcf33921c63bed9bf2e
xxHash 0.8.1 x/xxhash/xxhash_0.8.1.orig.tar.gz 3bb6b7d6f30c591dd65aaaff1c8b7a5b94d81687998ca9400082c739a690436c
TABLE
}
if [ "$1" = --list ]; then
    libraries
    exit
fi

prefix=$(mkdir -p -- "$1" && cd -- "$1" && pwd -P)
sources=${TRAINCHECK_SOURCES:-$prefix/sources}
pool=${TRAINCHECK_POOL:-http://deb.debian.org/debian/pool/main}
work=$prefix/work
export CC=${CC:-cc} CFLAGS="-O2 -fPIC -fvisibility=hidden ${CFLAGS:-}"

# Prints the folder with the unpacked sources.
unpack() {
    local name path digest file
    read -r name _ path digest < <(libraries | grep "^$1 ")
    file=$sources/$(basename -- "$path")
    mkdir -p -- "$sources" "$work/$name"
    [ -f "$file" ] || curl -fsSL --retry 3 -o "$file.part" "$pool/$path"
    [ -f "$file" ] || mv -- "$file.part" "$file"
    printf '%s  %s\n' "$digest" "$file" | sha256sum --check --quiet >&2
    tar -xf "$file" -C "$work/$name" --strip-components=1
    find "$work/$name" -maxdepth 1 -iname license -exec install -Dm644 {} "$prefix/licenses/$name" ';' >&2
    printf '%s\n' "$work/$name"
}

# name of the archive, folder, then patterns of C files there: compiled without the library's own build system.
archive() {
    local name=$1 folder=$2
    shift 2
    # shellcheck disable=SC2048,SC2086
    (cd -- "$folder" && rm -f ./*.o && "$CC" $CFLAGS -c $* && ar rcs "$prefix/lib/lib$name.a" ./*.o)
}

# module, version, archive, further libraries; the prefix is what the reader of the file calls it
describe() {
    cat >"$prefix/lib/pkgconfig/$1.pc" <<PC
prefix=\${pcfiledir}/../..
Name: $1
Description: $1
Version: $2
Libs: -L\${prefix}/lib -l$3 ${4:-}
Cflags: -I\${prefix}/include
PC
}

version() { libraries | sed -n "s/^$1 \([^ ]*\) .*/\1/p"; }

make_zstd() {
    local folder
    folder=$(unpack zstd)/lib
    cp -- "$folder"/zstd.h "$folder"/zdict.h "$folder"/zstd_errors.h "$prefix/include"
    CFLAGS="$CFLAGS -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_ -I." \
        archive zstd "$folder" common/*.c compress/*.c decompress/*.c dictBuilder/*.c
    describe libzstd "$(version zstd)" zstd
}

make_libuv() {
    local folder
    folder=$(unpack libuv)
    cp -r -- "$folder"/include/. "$prefix/include"
    CFLAGS="$CFLAGS -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE -Iinclude -Isrc" \
        archive uv "$folder" src/*.c src/unix/{async,core,dl,fs,getaddrinfo,getnameinfo,loop-watcher,loop,pipe,poll}.c \
        src/unix/{process,random-devurandom,random-getrandom,random-sysctl-linux,signal,stream,tcp,thread,tty,udp}.c \
        src/unix/{linux-core,linux-inotify,linux-syscalls,procfs-exepath,epoll,proctitle}.c
    describe libuv "$(version libuv)" uv "-ldl -lpthread -lrt"
}

make_cjson() {
    local folder
    folder=$(unpack cJSON)
    install -Dm644 "$folder/cJSON.h" "$prefix/include/cjson/cJSON.h"
    CFLAGS="$CFLAGS -DCJSON_HIDE_SYMBOLS" archive cjson "$folder" cJSON.c
    describe libcjson "$(version cJSON)" cjson -lm
}

make_libyaml() {
    local folder
    folder=$(unpack libyaml)
    cp -- "$folder/include/yaml.h" "$prefix/include"
    CFLAGS="$CFLAGS -Iinclude -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING=\"0.2.5\"" \
        archive yaml "$folder" src/*.c
    describe yaml-0.1 "$(version libyaml)" yaml
}

make_xxhash() {
    local folder
    folder=$(unpack xxHash)
    cp -- "$folder"/xxhash.h "$folder"/xxh3.h "$folder"/xxh_x86dispatch.h "$prefix/include"
    archive xxhash "$folder" xxhash.c
    describe libxxhash "$(version xxHash)" xxhash
}

rm -rf -- "$work"
mkdir -p -- "$prefix/include" "$prefix/lib/pkgconfig"
make_zstd
make_libuv
make_cjson
make_libyaml
make_xxhash
rm -rf -- "$work"
