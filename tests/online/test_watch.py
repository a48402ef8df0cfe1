#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""traincheck-onlinecheck --watch: runs that come and go below a folder, each followed by the set of its script.

usage: test_watch.py --bin BUILD/bin [--sanitized] [TEST...]
"""

import argparse
import json
import pathlib
import signal
import sys
import time
import unittest

import live
from live import more_steps, write_loop

IS_SANITIZED = "--sanitized" in sys.argv  # it keeps what is freed


class Watch(live.Case):
    def setUp(self):
        super().setUp()
        for name in ("a", "b"):
            for i in range(2):
                write_loop(self.work / f"{name}{i}", argv=[f"src/{name}.py"])
            self.assertEqual(live.run("infer", "-q", "--specific", f"{name}0", f"{name}1", "-o", f"{name}.jsonl", cwd=self.work).returncode, 0)
        self.root = self.work / "runs"
        self.root.mkdir()

    def watch(self, *args):
        return self.follow("--watch", "runs", "-i", "a.jsonl", "b.jsonl", "-o", "out", *args)

    def lines(self):
        path = self.work / "out" / "runs.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for_lines(self, n):
        end = time.monotonic() + live.PATIENCE
        while len(self.lines()) < n:
            self.assertLess(time.monotonic(), end, f"{n} runs have not ended: {self.lines()}")
            time.sleep(0.05)

    def end(self, checker):
        checker.process.send_signal(signal.SIGTERM)
        self.assertEqual(checker.wait(), 143)

    def test_runs_come_and_go(self):
        checker = self.watch()
        healthy = write_loop(self.root / "one", steps=2, end=False, argv=["src/a.py"])
        broken = write_loop(self.root / "two", steps=2, end=False, argv=["src/b.py"])
        checker.wait_for(checker.err, "runs/two: followed")
        more_steps(broken, 6, broken_from=3)
        checker.wait_for(checker.out, "finding   runs/two")  # while it goes on
        more_steps(healthy, 4)
        for trace in (healthy, broken):
            trace.end()
        self.wait_for_lines(2)
        write_loop(self.root / "three", argv=["src/a.py"])
        self.wait_for_lines(3)
        self.end(checker)
        lines = {line["run"]: line for line in self.lines()}
        self.assertEqual({run: line["verdict"] for run, line in lines.items()},
                         {"runs/one": "passed", "runs/two": "failed", "runs/three": "passed"})
        for run, name in (("two", "b"), ("one", "a")):
            p = live.run("check", f"runs/{run}", "-i", f"{name}.jsonl", "-o", f"alone_{run}", cwd=self.work)
            self.assertEqual(lines[f"runs/{run}"]["status"], p.returncode)
            for file in ("findings.jsonl", "violations.jsonl"):
                self.assertEqual((self.work / f"alone_{run}" / file).read_bytes(), (self.work / "out" / run / file).read_bytes())
        page = (self.work / "out" / "index.html").read_text()
        self.assertIn("3 runs: 1 failed, 2 passed", page)
        self.assertEqual(len(checker.stdout().splitlines()), len(json.loads(
            (self.work / "out" / "two" / "violations_summary.json").read_text())["findings"]))

    def test_a_script_that_no_set_knows(self):
        checker = self.watch()
        write_loop(self.root / "other", argv=["src/c.py"])
        checker.wait_for(checker.err, "runs/other: no set of -i is for c.py: it is not followed")
        self.end(checker)
        self.assertEqual(self.lines(), [])

    def test_a_run_that_has_told_nothing_yet(self):
        """Its file is there before its first record is."""
        (self.root / "one").mkdir()
        going = (self.root / "one" / "trace_host_r-_p100.jsonl").open("w")
        checker = self.watch()
        write_loop(self.root / "two", argv=["a.py"])
        self.wait_for_lines(1)
        self.assertNotIn("runs/one", checker.stderr())
        going.close()
        write_loop(self.root / "one", argv=["a.py"])
        self.wait_for_lines(2)
        self.end(checker)

    def test_a_new_watch_goes_on(self):
        """What an earlier one has closed is not followed again, what was open is."""
        checker = self.watch()
        write_loop(self.root / "one", argv=["a.py"])
        going = write_loop(self.root / "two", end=False, argv=["a.py"])
        self.wait_for_lines(1)
        checker.wait_for(checker.err, "runs/two: followed")
        self.end(checker)
        again = self.watch()
        again.wait_for(again.err, "runs/two: followed")
        going.end()
        self.wait_for_lines(2)
        self.end(again)
        self.assertNotIn("runs/one", again.stderr())
        self.assertEqual([line["run"] for line in self.lines()], ["runs/one", "runs/two"])

    def test_a_run_that_could_not_be_checked_is_followed_by_a_new_watch(self):
        """Its reports cannot be written for now; of its two lines the page shows the last."""
        write_loop(self.root / "one", argv=["a.py"])
        (self.work / "out").mkdir()
        (self.work / "out" / "one").write_text("in the way")
        checker = self.watch()
        self.wait_for_lines(1)
        self.end(checker)
        (self.work / "out" / "one").unlink()
        checker = self.watch()
        self.wait_for_lines(2)
        self.end(checker)
        self.assertEqual([line["verdict"] for line in self.lines()], ["unread", "passed"])
        self.assertIn("<h1>1 run: 1 passed</h1>", (self.work / "out" / "index.html").read_text())

    @unittest.skipIf(IS_SANITIZED, "a sanitizer keeps what is freed")
    def test_memory_is_flat(self):
        """Of runs that have ended nothing is kept but their names."""
        checker = self.watch("--no-html-report", "-q")
        peaks = []
        for n in (10, 60):
            for i in range(len(self.lines()), n):
                write_loop(self.root / f"run{i}", steps=3, argv=["a.py"])
            self.wait_for_lines(n)
            status = pathlib.Path(f"/proc/{checker.process.pid}/status").read_text()
            peaks.append(int(status.split("VmRSS:")[1].split()[0]))
        self.end(checker)
        self.assertLess(peaks[1] - peaks[0], 512, peaks)  # kB, and fifty runs more

    def test_what_is_there_is_not_followed_all_at_once(self):
        """Of a folder with many runs most have ended; a process for each would be too many."""
        for i in range(60):
            write_loop(self.root / f"run{i}", steps=3, argv=["a.py"])
        checker, most = self.watch("-q"), 0
        while len(self.lines()) < 60:
            children = pathlib.Path(f"/proc/{checker.process.pid}/task/{checker.process.pid}/children").read_text().split()
            most = max(most, len(children))
            self.assertIsNone(checker.process.poll())
            time.sleep(0.02)
        self.end(checker)
        self.assertLess(most, 60)

    def test_a_folder_that_is_not_there_yet(self):
        self.root.rmdir()
        checker = self.watch()
        checker.wait_for(checker.err, "waiting for runs")
        self.root.mkdir()
        write_loop(self.root / "one", argv=["a.py"])
        self.wait_for_lines(1)
        self.end(checker)

    def test_a_file_of_invariants_that_cannot_be_read(self):
        """It is said at once: else each run would be taken for checked."""
        write_loop(self.root / "one", argv=["a.py"])
        (self.work / "bad.jsonl").write_text("hello\n")
        for name in ("nowhere.jsonl", "bad.jsonl"):
            p = live.run("onlinecheck", "--watch", "runs", "-i", name, "-o", "out", cwd=self.work)
            self.assertEqual(p.returncode, 2)
            self.assertIn(name, p.stderr.decode())
        self.assertFalse((self.work / "out").exists())

    def test_usage(self):
        p = live.run("onlinecheck", "--watch", "a.jsonl", "-i", "a.jsonl", "-o", "out", cwd=self.work)
        self.assertEqual((p.returncode, b"a.jsonl is none" in p.stderr), (2, True))
        p = live.run("onlinecheck", "s3://bucket/run", "-i", "a.jsonl", cwd=self.work)
        self.assertEqual((p.returncode, b"follows a folder of this machine" in p.stderr), (2, True))
        for args, text in (((), "needs -o"), (("-o", "out", "trace"), "is one more"), (("-o", "out", "--state", "s"), "--watch excludes")):
            p = live.run("onlinecheck", "--watch", "runs", "-i", "a.jsonl", *args, cwd=self.work)
            self.assertEqual(p.returncode, 2)
            self.assertIn(text, p.stderr.decode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--sanitized", action="store_true")
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
