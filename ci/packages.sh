#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `pip install` of a checkout needs to build: the Debian packages that are missing.
set -euo pipefail
# shellcheck source=scripts/setup.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../scripts/setup.sh"
setup_home
setup_packages
