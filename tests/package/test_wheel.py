# SPDX-License-Identifier: Apache-2.0
"""A wheel in a fresh environment: the steps of quickstart.sh, with what was installed alone.

usage: test_wheel.py WHEEL [--python PYTHON]... [--site-packages FOLDER]

Each PYTHON gets an environment of its own. FOLDER holds torch and scikit-learn for them; without it they are installed.
Not part of ctest, as it needs a wheel: scripts/release.sh and the workflow run it.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = None


class Wheel(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)

    def run_in(self, *command, code=0):
        """With no home, no compiler and nothing of the checkout on its paths."""
        env = {"PATH": f"{self.venv}/bin:/usr/bin:/bin", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}
        p = subprocess.run([str(part) for part in command], cwd=self.work, env=env, capture_output=True, text=True)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p.stdout + p.stderr

    def install(self, python):
        self.venv = self.work / "venv"
        subprocess.run([python, "-m", "venv", self.venv], check=True)
        more = [] if OPTIONS.site_packages else ["torch", "scikit-learn"]
        subprocess.run([self.venv / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
                        OPTIONS.wheel.resolve(), *more], check=True)
        if OPTIONS.site_packages:
            folder = next(self.venv.glob("lib/python3*/site-packages"))
            (folder / "torch.pth").write_text(str(OPTIONS.site_packages) + "\n")
        for name in ("train.py", "train_broken.py"):
            shutil.copy(ROOT / "examples/digits" / name, self.work)

    def check_steps(self):
        self.run_in("traincheck-collect", "-o", "healthy", "train.py")
        self.run_in("traincheck-infer", "healthy", "-o", "i.jsonl")
        self.run_in("traincheck-collect", "-i", "i.jsonl", "-o", "broken", "train_broken.py")
        self.assertIn("train_broken.py:", self.run_in("traincheck-check", "broken", "-i", "i.jsonl", "-o", "report", code=1))
        self.assertTrue(json.loads((self.work / "report/violations_summary.json").read_text())["groups"])
        self.assertIn("@all takes @pytorch", self.run_in("traincheck-onlinecheck", "broken", "-i", "@all", "--exit-zero"))

    def check_package(self):
        code = """import libtraincheck as t
report = t.check("broken", "i.jsonl")
assert report.causes[0].step == 0 and t.check("healthy", ["i.jsonl", "@pytorch"]).invariants > 50, report
assert next(t.read("healthy"))["type"] == "process"
"""
        self.run_in(self.venv / "bin/python", "-c", code)
        for tool in ("collect", "infer", "check", "onlinecheck"):
            self.assertTrue((self.venv / f"share/man/man1/traincheck-{tool}.1").exists())

    def test_quickstart(self):
        for python in OPTIONS.python or [sys.executable]:
            with self.subTest(python=python):
                shutil.rmtree(self.work)
                self.work.mkdir()
                self.install(python)
                self.check_steps()
                self.check_package()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--python", action="append")
    parser.add_argument("--site-packages", type=pathlib.Path)
    OPTIONS = parser.parse_args()
    os.environ.pop("PYTHONPATH", None)
    unittest.main(argv=[sys.argv[0]])
