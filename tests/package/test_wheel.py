# SPDX-License-Identifier: Apache-2.0
"""A wheel in a fresh environment: the steps of quickstart.sh and examples/embed, with what was installed alone.

usage: test_wheel.py WHEEL

WHEEL may be a folder that holds one. The environment is of the interpreter that runs this, and sees its torch and
scikit-learn; where it has none, they are installed. ctest takes the wheel that package.wheel has built.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEEL = None


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.work = pathlib.Path(scratch.name)
        cls.venv = cls.work / "venv"
        has_torch = importlib.util.find_spec("torch") and importlib.util.find_spec("sklearn")
        subprocess.run([sys.executable, "-m", "venv", cls.venv], check=True)
        subprocess.run([cls.venv / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", WHEEL,
                        *([] if has_torch else ["torch", "scikit-learn"])], check=True)
        folder = next(cls.venv.glob("lib/python3*/site-packages"))
        (folder / "torch.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")) + "\n")
        for path in (*ROOT.glob("examples/digits/*.py"), *ROOT.glob("examples/embed/[gC]*")):
            shutil.copy(path, cls.work)

    def run_in(self, *command, code=0, **more):
        """With no home, and nothing of the checkout on its paths."""
        env = {"PATH": f"{self.venv}/bin:/usr/local/bin:/usr/bin:/bin", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8", **more}
        p = subprocess.run([str(part) for part in command], cwd=self.work, env=env, capture_output=True, text=True)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p.stdout + p.stderr

    def test_quickstart(self):
        self.run_in("traincheck-collect", "-o", "healthy", "train.py")
        self.run_in("traincheck-infer", "healthy", "-o", "i.jsonl")
        self.run_in("traincheck-collect", "-i", "i.jsonl", "-o", "broken", "train_broken.py")
        self.assertIn("train_broken.py:", self.run_in("traincheck-check", "broken", "-i", "i.jsonl", "-o", "report", code=1))
        self.assertTrue(json.loads((self.work / "report/violations_summary.json").read_text())["findings"])
        self.assertIn("@all takes @pytorch", self.run_in("traincheck-onlinecheck", "broken", "-i", "@all", "--exit-zero"))
        code = """import libtraincheck as t
report = t.check("broken", "i.jsonl")
assert report.findings[0].step == 0 and t.check("healthy", ["i.jsonl", "@pytorch"]).invariants > 50, report
assert next(t.read("healthy"))["type"] == "process"
"""
        self.run_in(self.venv / "bin/python", "-c", code)

    def test_what_comes_with_it(self):
        self.assertIn("self-test passed", self.run_in("traincheck-check", "--self-test"))
        for tool in ("collect", "infer", "check", "onlinecheck"):
            self.assertIn(f"traincheck-{tool}", (self.venv / f"share/man/man1/traincheck-{tool}.1").read_text())
        metadata = next(self.venv.glob("lib/python3*/site-packages/libtraincheck-*.dist-info"))
        self.assertIn("Apache License", (metadata / "licenses/LICENSE").read_text())

    def folder(self, kind):
        return self.run_in(self.venv / "bin/python", "-m", "libtraincheck", f"--{kind}dir").strip()

    def judge(self, gate):
        self.assertIn("nowhere", self.run_in(gate, "nowhere", "@all", code=2))
        (self.work / "empty").mkdir(exist_ok=True)
        (self.work / "empty/trace_1.jsonl").write_text('{"type": "process", "schema": 1, "pid": 1, "role": "main"}\n')
        self.assertIn("there are @all, @deepspeed, @distributed, @llm, @pytorch", self.run_in(gate, "empty", "@nonsense", code=2))

    @unittest.skipUnless(shutil.which("cc") and shutil.which("pkg-config"), "no C compiler or no pkg-config")
    def test_linking_by_pkg_config(self):
        flags = self.run_in("pkg-config", "--cflags", "--libs", "traincheck", PKG_CONFIG_LIBDIR=self.folder("pkgconfig"))
        library = next(self.venv.glob("lib/python3*/site-packages/libtraincheck"))
        self.run_in("cc", "-std=c17", "gate.c", "-o", "gate", *shlex.split(flags), f"-Wl,-rpath,{library}")
        self.judge("./gate")

    @unittest.skipUnless(shutil.which("cc") and shutil.which("cmake"), "no C compiler or no CMake")
    def test_linking_by_find_package(self):
        self.run_in(shutil.which("cmake"), "-S", ".", "-B", "build", f"-Dtraincheck_DIR={self.folder('cmake')}")
        self.run_in(shutil.which("cmake"), "--build", "build")
        self.judge("build/gate")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    options, rest = parser.parse_known_args()
    WHEEL = options.wheel.resolve()
    if WHEEL.is_dir():
        (WHEEL,) = WHEEL.glob("*.whl")
    os.environ.pop("PYTHONPATH", None)
    unittest.main(argv=[sys.argv[0], *rest])
