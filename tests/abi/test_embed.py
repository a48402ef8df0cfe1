# SPDX-License-Identifier: Apache-2.0
"""examples/embed links an installed copy, by pkg-config and by find_package, and finds what is wrong with a run.

usage: test_embed.py --build BUILD --cmake CMAKE --cc CC
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

from trace_writer import Trace

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "embed"
OPTIONS = None


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)


def write_run(folder, frozen_from=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for step in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer, changes=[] if frozen_from is not None and step >= frozen_from else None)
        t.cut()
    t.end()


class Embed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = pathlib.Path(cls.folder.name)
        cls.prefix = cls.work / "installed"
        run(OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", cls.prefix, check=True)
        cls.lib = next(cls.prefix.glob("lib*/**/libtraincheck.so")).parent

    def judge(self, gate):
        for i in range(2):
            write_run(self.work / f"healthy{i}")
        write_run(self.work / "broken", frozen_from=3)
        run(self.prefix / "bin/traincheck-infer", "-q", self.work / "healthy0", self.work / "healthy1", "-o",
            self.work / "i.jsonl", check=True)
        p = run(gate, self.work / "broken", self.work / "i.jsonl", cwd=self.work)
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertIn(3, [json.loads(line)["step"] for line in p.stdout.splitlines()])
        self.assertRegex(p.stderr, r"libtraincheck \d+\.\d+\.\d+: \d\d+ calls, [1-9]")
        p = run(gate, self.work / "healthy0", self.work / "i.jsonl", cwd=self.work)
        self.assertEqual((p.returncode, p.stdout), (0, ""), p.stderr)
        p = run(gate, self.work / "nowhere", self.work / "i.jsonl", cwd=self.work)
        self.assertEqual((p.returncode, p.stdout), (2, ""))
        self.assertIn("nowhere", p.stderr)
        # The library finds what was installed with it, though the program lies elsewhere.
        p = run(gate, self.work / "healthy0", "@nonsense", cwd=self.work)
        self.assertIn("there are @all, @deepspeed, @distributed, @llm, @pytorch", p.stderr)

    def test_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "traincheck", check=True,
                    env=os.environ | {"PKG_CONFIG_PATH": str(self.lib / "pkgconfig")})
        gate = self.work / "gate"
        p = run(OPTIONS.cc, "-std=c17", "-Wall", "-Wextra", "-Werror", EXAMPLE / "gate.c", "-o", gate,
                *shlex.split(flags.stdout), f"-Wl,-rpath,{self.lib}")
        self.assertEqual((p.returncode, p.stderr), (0, ""))
        self.judge(gate)

    def test_find_package(self):
        build = self.work / "build"
        p = run(OPTIONS.cmake, "-S", EXAMPLE, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                f"-DCMAKE_C_COMPILER={OPTIONS.cc}")
        self.assertEqual(p.returncode, 0, p.stderr)
        p = run(OPTIONS.cmake, "--build", build)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        self.judge(build / "gate")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("build", "cmake", "cc"):
        parser.add_argument("--" + name, required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
