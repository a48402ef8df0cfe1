# SPDX-License-Identifier: Apache-2.0
"""What `import libtraincheck` does, on traces that a test writes; nothing of it needs torch.

usage: test_package.py --bin BUILD/bin
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import threading
import time
import unittest

import libtraincheck
import live
from live import more_steps, write_loop


class Package(live.Case):
    def setUp(self):
        super().setUp()
        for i in range(2):
            write_loop(self.work / f"healthy{i}")
        self.learned = libtraincheck.infer([self.work / "healthy0", self.work / "healthy1"], self.work / "i.jsonl")
        self.invariants = self.learned.output
        self.trace = self.work / "trace"

    def test_learning_is_that_of_the_tool(self):
        told = self.learn("healthy0", "healthy1", output="told.jsonl")
        self.assertEqual(pathlib.Path(self.invariants).read_text(), told.read_text())
        self.assertEqual((self.learned.pipelines, sum(self.learned.per_relation.values())), (2, self.learned.invariants))

    def test_a_check_is_that_of_the_tool(self):
        write_loop(self.trace, broken_from=3)
        report = libtraincheck.check(self.trace, self.invariants)
        lines = self.check(self.trace, self.invariants, "offline", self.work).decode().splitlines()
        self.assertEqual([v.raw for v in report.violations], [json.loads(line) for line in lines])
        self.assertFalse(report)
        self.assertEqual(report.failed, len(report.violations))
        lines = (self.work / "offline" / "findings.jsonl").read_text().splitlines()
        self.assertEqual([f.raw for f in report.findings], [json.loads(line) for line in lines])
        first = report.findings[0]
        self.assertEqual((first.finding, first.kind, first.step), (1, "violation", 3))
        self.assertEqual([v.id for v in report.violations if v.finding == 1 and v.head], first.violations[:1])
        self.assertIn(first.sentence, str(report))
        self.assertIn("step 3", str(report))
        self.assertIsNone(report.output_dir)

    def test_what_is_shown_steers_nothing(self):
        """A name of the trace that would set a terminal's title, or begin a command in the log of a CI job."""
        write_loop(self.trace, broken_from=3)
        report = libtraincheck.check(self.trace, self.invariants)
        at = "::error::x\x1b]0;title\x07 ::add-mask::y##[error]\u202e<script>\n::error::z"
        report = dataclasses.replace(report, findings=[dataclasses.replace(f, at=at) for f in report.findings],
                                     violations=[dataclasses.replace(v, at=at) for v in report.violations])
        self.assertEqual((report.findings[0].at, report.violations[0].at), (at, at))  # the field is as it was
        shown = "?:error::x?]0;title? ?:add-mask::y#?[error]?"
        for text in str(report.findings[0]), str(report.violations[0]), str(report), report._repr_html_():
            self.assertIn(shown, text)
            self.assertNotRegex(text.replace("\n  ", ""), "[\x00-\x1f\x7f-\x9f\u202e]")
        self.assertNotIn("<script>", report._repr_html_())

    def test_a_healthy_run_is_true(self):
        report = libtraincheck.check([self.work / "healthy0", self.work / "healthy1"], [self.invariants],
                                     output_dir=self.work / "report")
        self.assertTrue(report)
        self.assertEqual((report.findings, report.violations, report.failed), ([], [], 0))
        self.assertTrue((self.work / "report" / "report.html").exists())

    def test_a_check_that_judged_nothing_is_not_true(self):
        write_loop(self.trace, steps=2)
        file = next(self.trace.glob("*.jsonl"))
        file.write_text(file.read_text().splitlines(keepends=True)[0])
        report = libtraincheck.check(self.trace, self.invariants)
        self.assertEqual((bool(report), report.judged, report.failed), (False, 0, 0))
        self.assertIn(": nothing was judged", str(report))

    def test_records(self):
        write_loop(self.trace, steps=2)
        lines = [json.loads(line) for line in (self.trace / "trace_host_r-_p100.jsonl").read_text().splitlines()]
        records = list(libtraincheck.read(self.trace))
        self.assertEqual([{k: v for k, v in record.items() if k != "file"} for record in records], lines)
        self.assertEqual({record["file"] for record in records}, {"trace_host_r-_p100.jsonl"})

    def test_long_records(self):
        self.trace.mkdir()
        head = {"type": "process", "schema": 1, "pid": 1, "role": "main"}
        note = {"type": "note", "code": "x", "text": "é" * 200000}
        (self.trace / "trace_1.jsonl").write_text("\n".join(map(json.dumps, (head, note))) + "\n")
        self.assertEqual(list(libtraincheck.read(self.trace))[1]["text"], note["text"])

    def test_errors(self):
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            libtraincheck.check(self.work / "nowhere", self.invariants)
        with self.assertRaisesRegex(FileNotFoundError, "no shipped set is called '@nonsense'"):
            libtraincheck.check(self.work / "healthy0", "@nonsense")
        (self.work / "text").write_text("hello\n")
        with self.assertRaisesRegex(libtraincheck.TrainCheckError, "text"):
            libtraincheck.check(self.work / "healthy0", self.work / "text")
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            next(libtraincheck.read(self.work / "nowhere"))

    def test_an_exception_in_progress_passes_through(self):
        def progress(*_):
            raise KeyboardInterrupt

        write_loop(self.trace, steps=3000)
        with self.assertRaises(KeyboardInterrupt):
            libtraincheck.check(self.trace, self.invariants, progress=progress)

    def test_live(self):
        t = write_loop(self.trace, steps=3, end=False)
        seen = threading.Event()
        with libtraincheck.LiveCheck(self.trace, self.invariants, on_violation=lambda v: seen.set()) as check:
            more_steps(t, 3, broken_from=3)
            self.assertTrue(seen.wait(live.PATIENCE))
            self.assertEqual(check.new()[0].step, 3)
            (begun,) = check.new_findings()
            self.assertEqual((begun.step, check.findings), (3, [begun]))
            more_steps(t, 12, broken_from=3)
            t.end()
            end = time.monotonic() + live.PATIENCE
            while not check.report and time.monotonic() < end:  # it has seen that the run is over
                time.sleep(0.05)
        self.assertIsNone(check.error)
        after = libtraincheck.check(self.trace, self.invariants)
        self.assertEqual(check.report.failed, len(after.violations))
        self.assertEqual([f.raw for f in check.findings], [{**f.raw, "last": True} for f in after.findings])
        self.assertEqual(check.report.findings, check.findings)
        self.assertEqual(check.new_findings(), [])  # one that has grown is no new one
        self.assertGreater(len(check.findings[0].violations), len(begun.violations))

    def test_live_without_a_trace(self):
        with libtraincheck.LiveCheck(self.trace, self.invariants) as check:
            time.sleep(0.3)
        self.assertIsNone(check.report)

    def test_live_without_what_it_checks_by(self):
        """It ends at its start, with the reason, and not as a run in which nothing broke."""
        for more, missing in (({"invariants": self.work / "nowhere.jsonl"}, "nowhere.jsonl: No such file or directory"),
                              ({"invariants": "@nobody"}, "no shipped set is called '@nobody'"),
                              ({"invariants": self.invariants, "suppress": self.work / "list"}, "list: No such file or directory")):
            with self.subTest(missing), self.assertRaisesRegex(FileNotFoundError, missing):
                with libtraincheck.LiveCheck(self.trace, **more):
                    self.fail("the run has begun")

    def test_annotations_do_nothing_elsewhere(self):
        libtraincheck.annotate_stage("training")
        libtraincheck.annotate(step=3)
        self.assertIsNone(libtraincheck.trace_folder())

    def test_no_torch_is_imported(self):
        code = "import sys, libtraincheck; sys.exit(any(name.split('.')[0] in ('torch', 'numpy') for name in sys.modules))"
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0]])
