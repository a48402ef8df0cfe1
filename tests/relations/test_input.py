#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces that lack something: infer learns what they show and says what they do not.

usage: test_input.py --bin BUILD/bin [TEST...]
"""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from trace_writer import Trace

BIN = None


def write_loop(folder, steps=4, **kwargs):
    t = Trace(folder, **kwargs)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(steps):
        t.train_step(model, optimizer)
    t.end()


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(os.path.realpath(scratch.name))

    def infer(self, *args, code=0, **kwargs):
        """Texts of what was learned, and stderr."""
        p = subprocess.run([str(BIN / "traincheck-infer"), "--overwrite", *map(str, args)], cwd=self.work, capture_output=True,
                           text=True, timeout=120, **kwargs)
        self.assertEqual(p.returncode, code, p.stderr)
        output = self.work / "invariants.jsonl"
        lines = output.read_text().splitlines() if output.exists() else []
        return [json.loads(x)["text"] for x in lines[1:]], p.stderr


class WhatIsMissing(Case):
    def test_an_empty_trace(self):
        (self.work / "run").mkdir()
        (self.work / "run" / "trace_a.jsonl").touch()
        _, err = self.infer("run", code=2)
        self.assertIn("run", err)
        self.assertEqual(list(self.work.glob("invariants*")), [])

    def test_an_empty_trace_among_others(self):
        write_loop(self.work / "run")
        (self.work / "run" / "trace_z.jsonl").touch()
        learned, err = self.infer("run")
        self.assertIn("Optimizer.step() changes data of at least one Parameter", learned)
        self.assertIn("trace_z.jsonl", err)

    def test_a_process_that_did_nothing(self):
        Trace(self.work / "run").end()
        learned, err = self.infer("run")
        self.assertEqual(learned, [])
        self.assertIn("note: run: no call: nothing is learned", err)

    def test_no_optimizer(self):
        t = Trace(self.work / "run")
        model = t.net("w")
        for _ in range(4):
            t.evaluate(model)
            t.cut("data")
        t.end()
        learned, err = self.infer("run")
        self.assertIn("the model is in evaluation mode", learned)
        self.assertIn("the root forward changes data of no Parameter", learned)
        self.assertIn("note: run: no optimizer step: nothing is learned about steps and their order", err)

    def test_one_step(self):
        write_loop(self.work / "run", steps=1)
        learned, err = self.infer("run")
        self.assertEqual([x for x in learned if "training step" in x or "changes data of" in x], [])
        self.assertIn("note: run: only 1 step: most relations need 3", err)

    def test_one_step_of_each_of_three_runs(self):
        for i in range(3):
            write_loop(self.work / f"run{i}", steps=1)
        learned, err = self.infer("run0", "run1", "run2")
        self.assertIn("Optimizer.step() changes data of at least one Parameter", learned)
        self.assertEqual(err.count("only 1 step"), 3)

    def test_no_variables(self):
        write_loop(self.work / "run", is_blind=True)
        learned, err = self.infer("run")
        self.assertEqual([x for x in learned if "Parameter" in x], [])
        self.assertTrue(any(x.startswith("every training step has ") for x in learned))
        self.assertIn("note: run: no parameter was looked at", err)

    def test_only_a_worker(self):
        write_loop(self.work / "run", role="worker")
        learned, err = self.infer("run")
        self.assertEqual(learned, [])
        self.assertIn("note: run: only DataLoader workers: nothing is learned about training", err)

    def test_nothing_is_missing(self):
        write_loop(self.work / "run")
        self.assertNotIn("note:", self.infer("run")[1])


class MixedInput(Case):
    def test_two_versions_of_torch(self):
        for name, version in (("old", "1.13.1"), ("new", "2.13.0"), ("other", "2.13.0")):
            write_loop(self.work / name, packages={"torch": version})
        learned, err = self.infer("old", "new", "other")
        self.assertIn("Optimizer.step() changes data of at least one Parameter", learned)
        self.assertIn("note: old: of torch 1.13.1, new of 2.13.0", err)

    def test_a_newer_schema_is_named_and_nothing_written(self):
        write_loop(self.work / "run", pid=1)
        write_loop(self.work / "run", pid=2, schema=9)
        _, err = self.infer("run", code=2)
        self.assertIn("its schema is 9, the newest known here is 6", err)
        self.assertEqual(list(self.work.glob("invariants*")), [])

    def test_a_thousand_files_with_few_descriptors(self):
        for i in range(1000):
            Trace(self.work / "run", pid=1000 + i, ppid=1, role="worker").end()
        write_loop(self.work / "run", pid=1)
        learned, err = self.infer("run", preexec_fn=few_files)
        write_loop(self.work / "alone", pid=1)
        self.assertEqual(learned, self.infer("alone")[0])
        self.assertNotIn("note:", err)


class Interrupted(Case):
    def setUp(self):
        """Hundreds of traces, all hard links to one: seconds of work."""
        super().setUp()
        write_loop(self.work / "one", steps=400)
        file = next((self.work / "one").iterdir())
        self.runs = []
        for i in range(600):
            run = self.work / "runs" / str(i)
            run.mkdir(parents=True)
            os.link(file, run / file.name)
            self.runs.append(str(run))

    @staticmethod
    def wait_until_caught(p, signal_number):
        """Until the tool has a handler of its own: a slow machine may take long to start it."""
        status = pathlib.Path(f"/proc/{p.pid}/status")
        while p.poll() is None:
            caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
            if int(caught.split()[1], 16) >> (signal_number - 1) & 1:
                return
            time.sleep(0.01)

    def interrupt(self, signal_number, *options):
        p = subprocess.Popen([str(BIN / "traincheck-infer"), "-j1", "--overwrite", *options, *self.runs], cwd=self.work,
                             stderr=subprocess.PIPE, text=True)
        self.wait_until_caught(p, signal_number)
        p.send_signal(signal_number)
        err = p.communicate(timeout=60)[1]
        self.assertEqual(p.returncode, 128 + signal_number, err)

    def test_nothing_is_written_by_halves(self):
        (self.work / "invariants.jsonl").write_text("mine\n")
        before = sorted(x.name for x in self.work.iterdir())
        self.interrupt(signal.SIGINT, "--failed", "failed")
        self.interrupt(signal.SIGTERM, "--evidence", "part.tce")
        self.assertEqual(sorted(x.name for x in self.work.iterdir()), before)
        self.assertEqual((self.work / "invariants.jsonl").read_text(), "mine\n")


if __name__ == "__main__":
    if "--bin" not in sys.argv:
        sys.exit(__doc__)
    at = sys.argv.index("--bin")
    BIN = pathlib.Path(sys.argv[at + 1]).resolve()
    unittest.main(argv=sys.argv[:at] + sys.argv[at + 2:])
