#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of src/relation into docs/relations.md, so that the page says what the code does.

usage: relation_tables.py [--check]     --check writes nothing and exits with 1 if the page is not what the tables say

Excuses: src/relation/excuse.h, between the lines <!-- excuses --> and <!-- end -->.
Support: src/relation/support.h, between <!-- support --> and <!-- end -->.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "relations.md"


def rows_of(header, n):
    """The rows X("text", ...) of a table in a header: of each the last n parts, without the quotes."""
    text = re.sub(r" *\\\n *", " ", (ROOT / header).read_text(encoding="utf-8"))
    text = re.sub(r'" "', "", text)
    rows = re.findall(r'X\(((?:\w+|"[^"]*"|, )+)\)', text)
    return [[part.strip('"') for part in re.findall(r'\w+|"[^"]*"', row)][-n:] for row in rows if '"' in row]


def excuses():
    lines = ["| excuse | not judged, as | forced by | test |", "|---|---|---|---|"]
    for name, about, why, forced_by, test in rows_of("src/relation/excuse.h", 5):
        scope = "" if about == "TC_NO_SYM" else f" (of `{about.removeprefix('TC_SYM_').lower()}` alone)"
        lines.append(f"| `{name}` | {why}{scope} | {forced_by} | `{test}` |")
    return "\n".join(lines)


def support():
    lines = ["| support | pipelines | why | the number comes from | claims |", "|---|---|---|---|---|"]
    words = {"TC_PIPELINES_ALL": "all", "TC_PIPELINES_ONLY": "only one"}
    for name, pipelines, why, origin, claims in rows_of("src/relation/support.h", 5):
        lines.append(f"| {name.lower()} | {words.get(pipelines, pipelines)} | {why} | {origin} | {claims} |")
    return "\n".join(lines)


def main():
    page = PAGE.read_text(encoding="utf-8")
    made = page
    for name, table in (("excuses", excuses()), ("support", support())):
        made = re.sub(rf"(?s)(<!-- {name} -->\n\n).*?(\n\n<!-- end -->)", lambda m, table=table: m[1] + table + m[2], made)
    if "--check" in sys.argv[1:]:
        return made != page
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
