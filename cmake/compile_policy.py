# SPDX-License-Identifier: Apache-2.0
"""Compile Python files into a C file, as the interpreter that runs this compiles them:

    python compile_policy.py OUT PACKAGE FILE...

An agent is loaded by any interpreter of its version. Code is of use to those with the same magic number: others compile the text,
which embed.cmake embeds in the same order under the same names."""
import importlib.util
import marshal
import pathlib
import sys


def literal(data):
    """Octal: a hexadecimal escape would go on with the digits behind it."""
    lines = (data[i:i + 40] for i in range(0, len(data), 40))
    return "\n".join('    "%s"' % "".join("\\%03o" % byte for byte in line) for line in lines)


def main():
    out, package, *files = sys.argv[1:]
    arrays, rows = [], []
    for i, file in enumerate(map(pathlib.Path, files)):
        text = file.read_text(encoding="utf-8")
        code = marshal.dumps(compile(text, f"<embedded {package}/{file.name}>", "exec", dont_inherit=True, optimize=0))
        arrays.append(f"static const char code{i}[] =\n{literal(code)};\n")
        rows.append(f"    {{code{i}, {len(code)}}},\n")
    magic = int.from_bytes(importlib.util.MAGIC_NUMBER, "little")
    pathlib.Path(out).write_text(f"""/* Made by cmake/compile_policy.py. */
#include "collect/agent/embedded.h"

{"".join(arrays)}
const long tc_compiled_magic = {magic};
const struct tc_compiled tc_compiled[] = {{
{"".join(rows)}}};
""", encoding="ascii")


main()
