#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Nth malloc, write, open, link, rename, fsync or mmap of a tool fails, for each N until none is reached.

usage: test_sweep.py --bin BUILD/bin --library FILE [--stride N] [--jobs N] [--agent PYTHON] [--preload FILE] [TEST...]

Whatever fails: the tool ends by itself with a status that it documents, says why when that is an error, leaves no
temporary file and no damaged output beside a good old one. --stride N tries, of each kind, the first ones and then every Nth.
--jobs N tries as many at a time, each in a folder of its own.
--preload names the library of a sanitizer that the tools were built with: whatever it says is wrong, too.
With --agent a small script is traced, and what it computes must not differ by a bit.
"""

import argparse
import concurrent.futures
import itertools
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import runs  # noqa: E402

KINDS = ("malloc", "write", "open", "link", "rename", "fsync", "mmap")
LIBRARY, STRIDE, JOBS, AGENT, PRELOAD = None, 1, 1, None, None
EACH, FEW = 40, 8  # of each kind these are all tried; few where each takes a second
ENDS = {"infer": {0, 2}, "check": {0, 1, 2, 3}, "onlinecheck": {0, 1, 2, 3}}
REASON = re.compile(r"out of memory|No space left|Permission denied|Input/output error|Cannot allocate|not enough memory|cannot|could not", re.I)

SCRIPT = """
import random, sys
sys.path.insert(0, {work!r})
import yard
value = 0.5
for i in range(200):
    value = yard.work(value)
print(repr(value))
"""


class Sweep(runs.Case):
    def setUp(self):
        super().setUp()
        self.library = shutil.copy(LIBRARY, self.work)  # LD_PRELOAD takes no path with a space

    def numbers(self, each=EACH):
        n = 0
        while True:
            n += 1 if n < each else STRIDE
            yield n

    def once(self, command, folder, kind, n, env=None, timeout=60):
        """The process that ended, and whether the call was reached."""
        mark = folder / "reached"
        mark.unlink(missing_ok=True)
        env = {**os.environ, **(env or {}), "LD_PRELOAD": " ".join(filter(None, (str(self.library), PRELOAD))),
               "NTH_FAILS": f"{kind}:{n}", "NTH_FAILS_REACHED": str(mark)}
        if PRELOAD:
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        p = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           timeout=timeout, check=False)
        return p, mark.exists()

    def share(self, i, folder, command, kind, each, env, begin, judge):
        """How many faults of a kind this one of JOBS tried, and what was wrong."""
        tried, wrong = 0, []
        for n in itertools.islice(self.numbers(each), i, None, JOBS):
            begin(folder)
            p, is_reached = self.once(command, folder, kind, n, env)
            if not is_reached:
                return tried, wrong
            tried += 1
            try:
                judge(folder, p)
            except AssertionError as e:
                wrong.append((n, e))

    def each_fault(self, name, command, each, judge, begin=lambda folder: None, env=None):
        folders = [shutil.copytree(self.work, self.work / f"worker{i}", ignore=shutil.ignore_patterns("worker*"))
                   for i in range(JOBS)]
        tried = {}
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for kind in KINDS:
                parts = list(pool.map(lambda i, kind=kind: self.share(i, folders[i], command, kind, each, env, begin, judge),
                                      range(JOBS)))
                tried[kind] = sum(n for n, _ in parts)
                for n, error in sorted(w for _, wrong in parts for w in wrong):
                    with self.subTest(kind=kind, n=n):
                        raise error
        print(f"{name}: " + ", ".join(f"{k} {v}" for k, v in tried.items() if v), file=sys.stderr, flush=True)
        self.assertGreaterEqual(tried["malloc"], each)

    def sweep(self, tool, args, outputs, each=EACH):
        """outputs: files that are there, whole, before and after."""
        whole = runs.run(tool, *args, cwd=self.work)
        good = {name: (self.work / name).read_bytes() for name in outputs}

        def begin(folder):
            for name in outputs:
                (folder / name).write_bytes(b"old")

        self.each_fault(tool, [str(runs.BIN / f"traincheck-{tool}"), *args], each,
                        lambda folder, p: self.judge(tool, folder, p, whole, outputs, good), begin)

    def judge(self, tool, folder, p, whole, outputs, good):
        self.assertNotIn("Sanitizer", p.stderr)
        self.assertIn(p.returncode, ENDS[tool], p.stderr)
        if p.returncode == 2:
            self.assertRegex(p.stderr, REASON)
        elif not REASON.search(p.stderr):
            self.assertEqual(p.returncode, whole.returncode, p.stderr)
        for name in outputs:
            now = (folder / name).read_bytes()
            if now != good[name]:
                self.assertEqual(now, b"old", f"{name} is damaged")
                self.assertRegex(p.stderr, REASON)
        left = list(folder.rglob("*.tmp"))
        for f in left:
            f.unlink()
        if "out of memory" not in p.stderr:  # nothing is cleaned up then
            self.assertEqual(left, [])

    def test_infer(self):
        self.sweep("infer", ["-q", "-j", "1", "run", "-o", "new.jsonl", "--overwrite"], ["new.jsonl"])

    def test_evidence(self):
        self.sweep("infer", ["-q", "-j", "1", "run", "--evidence", "new.tce"], ["new.tce"])

    def test_check(self):
        self.sweep("check", ["-j", "1", "bad", "-i", "invariants.jsonl", "-o", "out", "--format", "sarif,junit,chrome"],
                   ["out/violations.jsonl", "out/report.sarif", "out/junit.xml"])

    def test_onlinecheck(self):
        self.sweep("onlinecheck", ["bad", "-i", "invariants.jsonl", "-o", "online", "--exit-on-idle", "1"],
                   ["online/violations.jsonl"], FEW)

    def test_descriptors(self):
        """With few descriptors, and one more each time until there are enough, each tool says what it lacks."""
        for tool, args in (("infer", ["-q", "-j", "1", "run", "-o", "new.jsonl"]),
                           ("check", ["-q", "-j", "1", "bad", "-i", "invariants.jsonl", "-o", "out"]),
                           ("onlinecheck", ["-q", "bad", "-i", "invariants.jsonl", "-o", "online", "--exit-on-idle", "1"])):
            whole = runs.run(tool, *args, cwd=self.work)
            for n in range(4, 64):  # what the loader needs, at least
                p = subprocess.run([str(runs.BIN / f"traincheck-{tool}"), *args], cwd=self.work, capture_output=True, text=True,
                                   timeout=60, check=False,
                                   preexec_fn=lambda n=n: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
                if p.returncode == whole.returncode:
                    break
                with self.subTest(tool=tool, n=n):
                    self.assertEqual(p.returncode, 2, p.stderr)
                    self.assertRegex(p.stderr, re.compile("too many open files", re.I))
            self.assertEqual((p.returncode, p.stdout), (whole.returncode, whole.stdout))

    def test_agent(self):
        if not AGENT:
            self.skipTest("--agent names the Python whose jobs are traced")
        (self.work / "yard.py").write_text("def work(x):\n    return 3.7 * x * (1 - x)\n")
        (self.work / "job.py").write_text(SCRIPT.format(work=str(self.work)))
        plain = subprocess.run([AGENT, "job.py"], cwd=self.work, capture_output=True, text=True, check=True).stdout
        command = [str(runs.BIN / "traincheck-collect"), "--python", AGENT, "-o", "trace", "--overwrite", "--instrument",
                   "yard", "--", AGENT, "job.py"]

        def judge(folder, p):  # what ended a trace early stands in it
            self.assertEqual((p.returncode, p.stdout), (0, plain), p.stderr)
            if "tracing ended early: out of memory" in p.stderr and any((folder / "trace").iterdir()):
                done = runs.run("check", "trace", "-i", "@all", "-o", "out", cwd=folder)
                self.assertIn("lost: tracing ended early: out of memory", done.stderr)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.ended_early += 1

        self.ended_early = 0
        self.each_fault("agent", command, 2 * FEW, judge, env={"NTH_FAILS_IN": "traincheck_agent"})
        self.assertGreater(self.ended_early, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--library", type=lambda name: pathlib.Path(name).resolve(), required=True)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--agent")
    parser.add_argument("--preload")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    LIBRARY, STRIDE, JOBS = arguments.library, arguments.stride, arguments.jobs
    AGENT, PRELOAD = arguments.agent, arguments.preload
    sys.argv = [sys.argv[0], "--bin", arguments.bin, *arguments.tests]
    runs.main()
