# SPDX-License-Identifier: Apache-2.0
"""The steps of action.yml and the script of ci/gitlab.yml, on the example that is wrong and on scripts that fail.

usage: test_ci.py --bin BUILD/bin --python PYTHON

Needs PyYAML. PYTHON has torch and scikit-learn.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from warm import warm_python  # noqa: E402
RUN_ACTION = pathlib.Path(__file__).with_name("run_action.py")
BIN = PYTHON = None


class Services(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name)
        shutil.copy(ROOT / "examples/digits/train_broken.py", self.work)
        python3 = self.work / "bin/python3"  # that of the job's PATH; a link would leave PYTHON's environment
        python3.parent.mkdir()
        python3.write_text(f'#!/bin/sh\nexec {shlex.quote(str(PYTHON))} "$@"\n')
        python3.chmod(0o755)
        path = os.pathsep.join([str(BIN), str(python3.parent), os.environ["PATH"]])
        self.env = {**os.environ, "PATH": path, "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "OMP_NUM_THREADS": "1"}
        self.env.pop("PYTHONPATH", None)  # of the test's own interpreter, not of the job's

    def run_here(self, *command, env=()):
        return subprocess.run(command, cwd=self.work, env={**self.env, **dict(env)}, capture_output=True, text=True, check=False)

    def action(self, *inputs):
        return self.run_here(sys.executable, "-B", RUN_ACTION, ROOT / "action.yml", *inputs)

    def gitlab(self, **variables):
        """A runner has the variables in the environment and ends the job with the first line that fails."""
        job = yaml.safe_load((ROOT / "ci/gitlab.yml").read_text())[".traincheck"]
        return self.run_here("sh", "-ec", "\n".join(job["script"]), env={**job["variables"], **variables}), job

    def test_the_action_finds(self):
        p = self.action("script=train_broken.py --epochs 1", "invariants=@pytorch", "output=found here")
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        self.assertRegex(p.stdout, r"(?m)^::error file=train_broken\.py,line=\d+,title=TrainCheck%3A ")
        self.assertTrue(p.stdout.endswith("-- outputs\nstatus=1\nreport=found here/report/report.html\n"), p.stdout)
        names = {path.name for path in (self.work / "found here/report").iterdir()}
        self.assertLessEqual({"report.html", "report.sarif", "junit.xml"}, names)

    def without_tools(self):
        """The tools come by pip alone, which stands in: it says what it was asked to install, and brings them."""
        tools = " ".join(shlex.quote(str(BIN / f"traincheck-{name}")) for name in ("collect", "check"))
        bin = self.work / "bin"
        (bin / "python3").write_text(f"""#!/bin/sh
            if [ "$1 $2" = "-m pip" ]; then echo "pip: $*"; ln -s {tools} {shlex.quote(str(bin))}; exit; fi
            exec {shlex.quote(str(PYTHON))} "$@"\n""".replace(" " * 12, ""))
        paths = [path for path in os.environ["PATH"].split(os.pathsep) if not os.path.exists(f"{path}/traincheck-check")]
        self.env["PATH"] = os.pathsep.join([str(bin), *paths])

    def test_what_the_action_installs(self):
        wheel, index = "dist/libtraincheck-1-py3-none-any.whl", "https://index.example/simple"
        for inputs, installed in (([], ROOT), ([f"package={wheel}"], wheel), (["package=libtraincheck", f"index-url={index}"],
                                  f"--index-url {index} libtraincheck")):
            with self.subTest(inputs):
                self.setUp()
                self.without_tools()
                p = self.action("script=train_broken.py --epochs 1", "invariants=@pytorch", *inputs)
                self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
                self.assertIn(f"pip: -m pip install --disable-pip-version-check {installed}\n", p.stdout)
                self.assertIn("\nstatus=1\n", p.stdout)

    def test_what_gitlab_installs(self):
        wheel, index = "libtraincheck-1-py3-none-any.whl", "https://index.example/simple"
        for variables, installed in (({}, "./.traincheck"), ({"TC_PACKAGE": wheel}, wheel), ({"TC_PACKAGE": "libtraincheck",
                                     "TC_INDEX_URL": index}, f"--index-url {index} libtraincheck")):
            with self.subTest(variables):
                self.setUp()
                self.without_tools()
                (self.work / ".traincheck").symlink_to(ROOT)
                p, _ = self.gitlab(TC_SCRIPT="train_broken.py --epochs 1", TC_INVARIANTS="@pytorch", **variables)
                self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
                self.assertIn(f"pip: -m pip install --disable-pip-version-check {installed}\n", p.stdout)

    def test_what_is_known_does_not_count(self):
        p, _ = self.gitlab(TC_SCRIPT="train_broken.py --epochs 1", TC_INVARIANTS="@pytorch")
        violations = (self.work / "traincheck/report/violations.jsonl").read_text().splitlines()
        (self.work / "known.txt").write_text("".join(f"{json.loads(line)['id']} known\n" for line in violations))
        shutil.rmtree(self.work / "traincheck")
        p, _ = self.gitlab(TC_SCRIPT="train_broken.py --epochs 1", TC_INVARIANTS="@pytorch", TC_SUPPRESS="known.txt", TC_FAIL_ON="law")
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        p = self.action("script=train_broken.py --epochs 1", "invariants=@pytorch", "suppress=known.txt", "output=again", "fail-on=law")
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        self.assertIn("\nstatus=0\n", p.stdout)

    def test_the_action_ends_with_the_job(self):
        (self.work / "train.py").write_text("raise SystemExit(7)\n")
        p = self.action("script=train.py")
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        self.assertIn("-- left out: Check\n", p.stdout)
        self.assertTrue(p.stdout.endswith("-- outputs\n"), p.stdout)

    def test_gitlab_finds(self):
        p, job = self.gitlab(TC_SCRIPT="train_broken.py --epochs 1", TC_INVARIANTS="@pytorch")
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        report = xml.etree.ElementTree.parse(self.work / job["artifacts"]["reports"]["junit"])
        self.assertTrue(report.findall(".//failure"))
        self.assertTrue((self.work / job["artifacts"]["paths"][0]).is_dir())

    def test_gitlab_ends_with_the_job(self):
        (self.work / "train.py").write_text("raise SystemExit(7)\n")
        p, _ = self.gitlab()
        self.assertEqual(p.returncode, 7, p.stdout + p.stderr)
        self.assertNotIn("traincheck-check", p.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    BIN, PYTHON = options.bin.resolve(), warm_python(options.python.absolute(), ["sklearn.datasets"], OMP_NUM_THREADS="1")
    unittest.main(argv=[sys.argv[0], *rest])
