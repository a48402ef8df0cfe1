#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build the documentation site of docs/ in build/site, without a single warning.
#
#   scripts/docs.sh            build it
#   scripts/docs.sh serve      build it, show it at http://127.0.0.1:8000, build anew what changes
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
cd -- "$root"
setup_home
python=$(python3 -c 'import sys; print(sys.executable)')
setup_site
export NO_MKDOCS_2_WARNING=1 # of a tool that is pinned
# Not --quiet: a warning that is not said is not counted, either.
exec "$root/build/mkdocs/bin/python" -B -m mkdocs "${1:-build}" --strict
