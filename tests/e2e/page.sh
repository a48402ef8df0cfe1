# SPDX-License-Identifier: Apache-2.0
# Sourced by cases: pages quote what a check of an example says.

# The lines that a page lacks of what traincheck-check says from a folder of the checkout: page, folder, trace, invariants.
missing_in_page() {
    (cd "$2" && traincheck-check "$3" -i "$4" -o "$work/again" 2>&1) |
        sed 's/ in [0-9.]* s: .*//; /reports in/d' |
        while IFS= read -r line; do
            grep -qF -- "$line" "$1" || echo "$(basename "$(dirname "$1")")/$(basename "$1") lacks: $line"
        done
}
