# SPDX-License-Identifier: Apache-2.0
"""The structs of libtraincheck/_library.py are those of the headers, as a compiler lays them out.

usage: test_layout.py --cc CC
"""

import argparse
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import unittest

from libtraincheck import _library

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
CC = None


def ours():
    lines = []
    for struct in _library.STRUCTS:
        lines.append(f"{struct._name_} {ctypes.sizeof(struct)}")
        lines += [f"{struct._name_}.{name} {getattr(struct, name).offset} {getattr(struct, name).size}"
                  for name, _ in struct._fields_]
    return lines


def theirs(folder):
    out = ["#include <stddef.h>", "#include <stdio.h>", "#include <traincheck/compare.h>", "#include <traincheck/infer.h>",
           "#include <traincheck/online.h>", "#include <traincheck/remote.h>", "int main(void) {"]
    for struct in _library.STRUCTS:
        name = f"struct {struct._name_}"
        out.append(f'printf("{struct._name_} %zu\\n", sizeof({name}));')
        out += [f'printf("{struct._name_}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));'
                for field, _ in struct._fields_]
    source = pathlib.Path(folder, "layout.c")
    source.write_text("\n".join(out + ["return 0; }"]))
    subprocess.run([CC, "-std=c17", "-I", INCLUDE, source, "-o", source.with_suffix("")], check=True)
    return subprocess.run([source.with_suffix("")], check=True, capture_output=True, text=True).stdout.splitlines()


class Layout(unittest.TestCase):
    def test_structs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(ours(), theirs(folder))

    def test_status_codes(self):
        text = (INCLUDE / "traincheck/error.h").read_text()
        for name, value in (("OK", _library.OK), ("END", _library.END), ("E_INTERRUPTED", _library.INTERRUPTED),
                            ("E_NOTFOUND", -5), ("E_IO", -2), ("E_NOMEM", -8)):
            self.assertIn(f"X({name}, {value},", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cc", required=True)
    options, rest = parser.parse_known_args()
    CC = options.cc
    unittest.main(argv=[sys.argv[0]])
