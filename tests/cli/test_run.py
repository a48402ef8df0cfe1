#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run.py names each case that fails, with the difference, and runs the others.

usage: test_run.py [TEST...]
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[1] / "run.py"
CASES = {
    "a-good": {"cmd": "echo out; echo err >&2; exit 3", "stdout": "out\n", "stderr": "err\n", "code": "3\n"},
    "b-other": {"cmd": "echo one; echo two", "stdout": "one\nthree\n"},
    "c-raises": {"cmd": "echo one", "stdout": b"\xff"},
    "d-exits": {"cmd": "exit 4"},
    "e-good": {"cmd": ":"},
}


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tc run ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        for name, files in CASES.items():
            (self.folder / name).mkdir()
            for file, text in files.items():
                (self.folder / name / file).write_bytes(text if isinstance(text, bytes) else text.encode())

    def run_cases(self, *args):
        return subprocess.run([sys.executable, "-B", str(RUN), "--bin", str(self.folder), *map(str, args)], text=True,
                              capture_output=True, timeout=120)

    def test_each_failure_is_told(self):
        p = self.run_cases(self.folder)
        self.assertEqual((p.returncode, p.stderr), (1, ""))
        self.assertEqual([line for line in p.stdout.splitlines() if line.startswith(str(self.folder))],
                         [f"{self.folder / name}:" for name in ("b-other", "c-raises", "d-exits")])
        for told in ("\n-three\n+two\n", "\nUnicodeDecodeError: ", "\n-0\n+4\n"):
            self.assertIn(told, p.stdout)
        self.assertTrue(p.stdout.endswith("\n5 cases, 3 failed\nwhere what is printed is right, --update writes it\n"), p.stdout)

    def test_some_cases(self):
        p = self.run_cases(self.folder / "a-good", self.folder / "e-good")
        self.assertEqual((p.returncode, p.stdout, p.stderr), (0, "2 cases, 0 failed\n", ""))

    def test_no_case_is_a_failure(self):
        (self.folder / "empty").mkdir()
        p = self.run_cases(self.folder / "empty")
        self.assertEqual((p.returncode, p.stdout), (1, "0 cases, 0 failed\n"))

    def test_update_writes_what_is_printed(self):
        self.assertEqual(self.run_cases("--update", self.folder).stdout, "5 cases, 0 failed\n")
        self.assertEqual((self.folder / "b-other" / "stdout").read_text(), "one\ntwo\n")
        self.assertEqual(self.run_cases(self.folder).stdout, "5 cases, 0 failed\n")


if __name__ == "__main__":
    unittest.main()
