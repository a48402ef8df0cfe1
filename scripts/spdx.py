"""Add the SPDX line to each source file of ours that lacks it; with --check only tell which do.

usage: spdx.py [--check]
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINE = "SPDX-License-Identifier: Apache-2.0"
COMMENTS = {".c": ("/* ", " */"), ".h": ("/* ", " */"), ".css": ("/* ", " */"), ".js": ("// ", ""), ".html": ("<!-- ", " -->"),
            ".py": ("# ", ""), ".sh": ("# ", ""), ".cmake": ("# ", ""), ".yml": ("# ", "")}
# What is compared or embedded as it is.
EXCEPT = re.compile(r"^(tests/(cli|e2e|relations|fuzz/corpus|unit/data)/.*(?<!\.c)(?<!\.py)(?<!\.sh)|src/report/html/.*)$")


def comment_of(path):
    name = path.name
    if name in ("CMakeLists.txt", "Dockerfile"):
        return COMMENTS[".cmake"]
    return COMMENTS.get(path.suffix)


def lacking():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in files:
        path = ROOT / name
        if comment_of(path) and not EXCEPT.match(name) and path.is_file() and path.stat().st_size and \
                LINE not in path.read_text():
            yield path


def add(path):
    text, (begin, end) = path.read_text(), comment_of(path)
    if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("examples", "benchmarks"):
        path.write_text(f"{text.rstrip()}\n\n# {LINE}\n")  # reports and expectations name lines of these
        return
    first = text.split("\n", 1)[0] + "\n" if text.startswith("#!") else ""
    path.write_text(f"{first}{begin}{LINE}{end}\n{text[len(first):]}")


def main():
    paths = list(lacking())
    for path in paths:
        if "--check" not in sys.argv:
            add(path)
        print(path.relative_to(ROOT))
    sys.exit("--check" in sys.argv and bool(paths))


main()
