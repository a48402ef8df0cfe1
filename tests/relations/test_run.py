#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py names each case that fails, with the difference, and runs the others.

usage: test_run.py --bin BUILD/bin
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FORM, CASE = "APIArg_constant", "eval-forgotten"
BIN = None


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tc run ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("run.py", "invariant_file.py", "trace_writer.py"):
            shutil.copy(HERE / name, self.folder)
        for name in ("a-good", "b-other", "c-raises", "d-refused", "e-good"):
            shutil.copytree(HERE / FORM / CASE, self.folder / FORM / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.append("b-other/expected_invariants", "a sentence that nobody says\n")
        self.append("c-raises/case.py", "\n\ndef fine_but_raising(folder):\n    raise ValueError('no such trace')\n")
        self.append("d-refused/case.py", "\n\nOPTIONS = ['--no-such-option']\n")

    def append(self, file, text):
        with open(self.folder / FORM / file, "a", encoding="utf-8") as f:
            f.write(text)

    def run_cases(self, *args):
        return subprocess.run([sys.executable, "-B", str(self.folder / "run.py"), "--bin", str(BIN), *args], text=True,
                              capture_output=True, timeout=120)

    def assert_all_are_told(self, p):
        self.assertEqual((p.returncode, p.stderr), (1, ""))
        self.assertEqual([line for line in p.stdout.splitlines() if line.startswith(FORM)],
                         [f"{FORM}/{name}:" for name in ("b-other", "c-raises", "d-refused")])
        for told in ("\n-a sentence that nobody says\n", "\nValueError: no such trace\n", "no-such-option", "exit status 2, not 0"):
            self.assertIn(told, p.stdout)
        self.assertTrue(p.stdout.endswith("\n5 cases, 3 failed\n"), p.stdout)

    def test_each_failure_is_told(self):
        self.assert_all_are_told(self.run_cases("-j", "1", str(self.folder / FORM)))

    def test_side_by_side(self):
        self.assert_all_are_told(self.run_cases("-j", "4"))

    def test_one_case(self):
        p = self.run_cases(str(self.folder / FORM / "e-good"))
        self.assertEqual((p.returncode, p.stdout, p.stderr), (0, "1 cases, 0 failed\n", ""))

    def test_no_case_is_a_failure(self):
        p = self.run_cases("--only", "no such case")
        self.assertEqual((p.returncode, p.stdout), (1, "0 cases, 0 failed\n"))

    def test_update_writes_what_is_said(self):
        file = self.folder / FORM / "b-other" / "expected_invariants"
        self.assertEqual(self.run_cases("--update", "--only", "b-other").stdout, "1 cases, 0 failed\n")
        self.assertEqual(file.read_bytes(), (HERE / FORM / CASE / file.name).read_bytes())
        self.assertEqual(self.run_cases("--only", "b-other").stdout, "1 cases, 0 failed\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    args, rest = parser.parse_known_args()
    BIN = args.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
