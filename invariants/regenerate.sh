#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collect, learn, prune, split and validate: all that makes the shipped sets. `regenerate.sh --help` tells the options; the
# work is in sets.py, the roles of the pipelines in sets.json.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
exec "${PYTHON:-python3}" -B "$here/sets.py" "$@"
