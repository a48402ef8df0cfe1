#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From `llvm-cov export -summary-only` on stdin a line for each folder below SRC: lines, those reached, in percent.

usage: by_folder.py SRC FILES    FILES 1: a line for each file, too
"""
import collections
import json
import os
import sys

GOAL = ("trace", "replay", "relation", "check", "report", "invariant", "import", "python_tool")


def main():
    src, with_files = sys.argv[1], sys.argv[2] == "1"
    folders = collections.defaultdict(lambda: [0, 0])
    for file in json.load(sys.stdin)["data"][0]["files"]:
        name = os.path.relpath(file["filename"], src)
        folder = name.split("/")[0]
        if folder == ".." or not name.endswith(".c"):
            continue
        lines = file["summary"]["lines"]
        for key in [folder] + ["all eight"] * (folder in GOAL) + [name] * with_files:
            folders[key][0] += lines["covered"]
            folders[key][1] += lines["count"]
    for key, (covered, count) in sorted(folders.items(), key=lambda item: (item[0] == "all eight", item[0])):
        print(f"{key:28} {covered:6} of {count:6} lines  {100 * covered / max(count, 1):5.1f} %")


if __name__ == "__main__":
    main()
