#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trace train.py, as it stands and without its line of zero_grad(), for traincheck-check --self-test.
#
#   tools/self_test/make.sh BUILD/bin PYTHON
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
bin=$(cd -- "$1" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"

# $1: name of the trace. What is told of this machine is replaced.
trace() {
    "$bin/traincheck-collect" -q --python "$2" -o "$1" train.py
    zstd -dcq "$1"/trace_*.jsonl.zst |
        sed -E "s|$work|/job|g; 1s/\"host\":\"[^\"]*\"/\"host\":\"host\"/; 1s/\"(p?pid)\":[0-9]+/\"\1\":1/g" |
        zstd -19cq >"$here/$1.jsonl.zst"
}

cp -- "$here/train.py" .
trace healthy "$2"
sed -i '/zero_grad/d' train.py
trace broken "$2"
