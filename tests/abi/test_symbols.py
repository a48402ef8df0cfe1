#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared library exports what symbols.txt says, and public structs have the sizes it says.

usage: test_symbols.py --library LIBRARY --cc CC --nm NM [--update]

symbols.txt begins with the version of the interface. After a change run it with --update, and raise the version in
include/traincheck/version.h: TC_ABI_MINOR if there is only more, TC_ABI_MAJOR if something went or a size changed.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = HERE.parents[1] / "include" / "traincheck"
LIST = HERE / "symbols.txt"


def exported(nm, library):
    lines = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1].split("@")[0] for line in lines.splitlines()}
    return sorted(name for name in names if not re.match(r"__(asan|ubsan|tsan|lsan|sanitizer)_|_(init|fini)$", name))


def declared():
    text = "".join(path.read_text() for path in sorted(HEADERS.glob("*.h")))
    return sorted(re.findall(r"^TC_API [^(]*?(\w+)\(", text, re.M)), sorted(set(re.findall(r"^struct (\w+) \{", text, re.M)))


def measured(cc, structs):
    """Sizes of the structs and the version, asked of the compiler."""
    prints = [f'printf("struct {name} %zu\\n", sizeof(struct {name}));' for name in structs]
    source = "".join(f"#include <traincheck/{path.name}>\n" for path in sorted(HEADERS.glob("*.h"))) + "#include <stdio.h>\n"
    source += 'int main(void) { printf("ABI %d.%d\\n", TC_ABI_MAJOR, TC_ABI_MINOR);\n' + "\n".join(prints) + "return 0; }\n"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "sizes.c")
        file.write_text(source)
        subprocess.run([cc, "-std=c17", "-I", HEADERS.parent, file, "-o", file.with_suffix("")], check=True)
        return subprocess.run([file.with_suffix("")], check=True, capture_output=True, text=True).stdout.splitlines()


def breaks(old, new):
    """Would a program that was built with the old interface miss something?"""
    return [line for line in old[1:] if line not in new]


def main():
    parser = argparse.ArgumentParser()
    for name in ("library", "cc", "nm"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    functions, structs = declared()
    symbols = exported(options.nm, options.library)
    assert symbols == functions, f"exported and declared differ: {set(symbols) ^ set(functions)}"
    now = measured(options.cc, structs) + symbols
    before = LIST.read_text().splitlines() if LIST.exists() else []
    if options.update:
        LIST.write_text("\n".join(now) + "\n")
    elif now != before:
        major = "TC_ABI_MAJOR" if breaks(before, now) else "TC_ABI_MINOR"
        print(f"The interface is not that of {LIST.name}: {sorted(set(now) ^ set(before))}\n"
              f"If that is meant: raise {major} in version.h, unless it rose since the last release, and run this with "
              "--update.")
        sys.exit(1)


if __name__ == "__main__":
    main()
