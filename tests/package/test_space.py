#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A checkout in a folder whose name has a space can be configured, and its files compiled, in each type of build.

usage: test_space.py --python PYTHON
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = sys.executable


class Space(unittest.TestCase):
    def run_in(self, folder, command, **options):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False, **options)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])

    def test_a_folder_with_a_space(self):
        with tempfile.TemporaryDirectory() as scratch:
            source = pathlib.Path(scratch) / "a folder" / "checkout"
            source.parent.mkdir()
            source.symlink_to(ROOT)
            for kind in ("RelWithDebInfo", "Release"):
                build = source.parent / kind
                self.run_in(source.parent, ["cmake", "-S", source, "-B", build, f"-DTRAINCHECK_PYTHONS={PYTHON}", "-DBUILD_TESTING=OFF",
                                            f"-DCMAKE_BUILD_TYPE={kind}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])
                of = {pathlib.Path(c["file"]).name: c for c in json.loads((build / "compile_commands.json").read_text())}
                command = of["arena.c"]["command"]
                self.assertIn("a folder", command)  # that is what is tried
                pathlib.Path(of["arena.c"]["directory"]).mkdir(parents=True, exist_ok=True)
                self.run_in(of["arena.c"]["directory"], command.replace(" -c ", " -fsyntax-only -c "), shell=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable)
    PYTHON = parser.parse_args().python
    unittest.main(argv=sys.argv[:1])
