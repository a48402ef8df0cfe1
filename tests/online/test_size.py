#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many ranks: what a live check keeps of each grows memory by less than 64 kB, files may go for a while, ranks may be late.

usage: test_size.py --bin BUILD/bin [--late SECONDS]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import unittest

import live

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "online"))
from run import frames, write_rank  # noqa: E402

FEW, MORE, MANY = 16, 96, 176  # ranks
LIMIT_KB = 64
LATE_S = 3
IS_SANITIZED = "--sanitized" in sys.argv  # it keeps what is freed


class Size(live.Case):
    def setUp(self):
        super().setUp()
        self.text = write_rank(self.work / "one", 6)
        (self.work / "one" / "rank0.jsonl").rename(self.work / "one" / "trace_host_r0_p100.jsonl")
        self.invariants = self.learn("one")

    def peak_kb(self, ranks):
        folder = self.work / f"trace{ranks}"
        folder.mkdir()
        for rank in range(ranks):
            (folder / f"trace_host_r{rank}_p{100 + rank}.jsonl.zst").write_bytes(b"".join(frames(self.text, rank, ranks)))
        code = ("import resource, subprocess, sys\n"
                "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
                "print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        said = subprocess.run([sys.executable, "-c", code, live.BIN / "traincheck-onlinecheck", folder, "-q", "-i", self.invariants,
                               "-o", f"report{ranks}", "--no-html-report", "--overwrite"], cwd=self.work, check=True, capture_output=True, text=True)
        status, peak = map(int, said.stdout.split())
        self.assertEqual(status, 0, said.stderr)
        return peak

    @unittest.skipIf(IS_SANITIZED, "a sanitizer keeps what is freed")
    def test_a_rank_takes_less_than_64_kb(self):
        few, more, many = map(self.peak_kb, (FEW, MORE, MANY))
        self.assertLess((many - few) / (MANY - FEW), LIMIT_KB)
        self.assertLess((many - more) / (MANY - MORE), 1.5 * (more - few) / (MORE - FEW) + 8)  # and no more with each further one


class Vanishing(live.Case):
    """A node's files go and come back, as a mount that is lost for a while."""

    RANKS, STEPS = 24, 8  # more than the files that a folder keeps open

    def write(self, folder, texts, n_from, n_to):
        for rank, parts in enumerate(texts):
            with (folder / f"trace_host_r{rank}_p{100 + rank}.jsonl.zst").open("ab") as file:
                file.write(b"".join(parts[n_from:n_to]))

    def test_files_that_vanish_and_come_back(self):
        text = write_rank(self.work / "one", self.STEPS)
        (self.work / "one" / "rank0.jsonl").rename(self.work / "one" / "trace_host_r0_p100.jsonl")
        invariants = self.learn("one")
        texts = [frames(text, rank, self.RANKS) for rank in range(self.RANKS)]
        folder, away = self.work / "trace", self.work / "away"
        folder.mkdir(), away.mkdir()
        self.write(folder, texts, 0, 3)
        checker = self.follow("trace", "-i", invariants, "-o", "live", "--report-interval", "1", "--metrics", "m.prom", "--lateness", "20")
        end = live.time.monotonic() + live.PATIENCE
        while 'traincheck_step{run="trace"} 2' not in (self.work / "m.prom").read_text() if (self.work / "m.prom").exists() else True:
            self.assertLess(live.time.monotonic(), end)
            live.time.sleep(0.1)
        node = sorted(folder.iterdir())[::2]
        for path in node:
            path.rename(away / path.name)
        for rank, parts in enumerate(texts):  # those of the other node go on
            path = folder / f"trace_host_r{rank}_p{100 + rank}.jsonl.zst"
            if path.exists():
                with path.open("ab") as file:
                    file.write(parts[3])
        live.time.sleep(1.5)
        for path in node:
            (away / path.name).rename(path)
        for rank, parts in enumerate(texts):
            path = folder / f"trace_host_r{rank}_p{100 + rank}.jsonl.zst"
            with path.open("ab") as file:
                file.write(b"".join(parts[3 if path in node else 4:]))
        self.assertEqual(checker.wait(), 0, checker.stderr())
        self.assertEqual((self.work / "live" / "violations.jsonl").read_bytes(), self.check("trace", invariants, "offline", self.work))
        counts = [json.loads((self.work / name / "violations_summary.json").read_text()) for name in ("live", "offline")]
        self.assertEqual(*[{key: c.get(key) for key in ("records", "calls", "windows", "counts")} for c in counts])


class Late(live.Case):
    """The ranks of one node stand still while the others go on, as one that copies its data does."""

    RANKS, STEPS = 24, 80  # more ranks than files are kept open, and more steps than wait

    def setUp(self):
        super().setUp()
        text = write_rank(self.work / "one", self.STEPS)
        (self.work / "one" / "rank0.jsonl").rename(self.work / "one" / "trace_host_r0_p100.jsonl")
        self.invariants = self.learn("one")
        self.texts = [frames(text, rank, self.RANKS) for rank in range(self.RANKS)]
        (self.work / "trace").mkdir()

    def write(self, ranks, n_from, n_to):
        for rank in ranks:
            with (self.work / "trace" / f"trace_host_r{rank}_p{100 + rank}.jsonl.zst").open("ab") as file:
                file.write(b"".join(self.texts[rank][n_from:n_to]))

    def follow_late(self, *args):
        late = range(1, self.RANKS, 2)
        self.write(range(self.RANKS), 0, 3)
        checker = self.follow("trace", "-i", self.invariants, "-o", "live", "--report-interval", "1", *args)
        self.write(range(0, self.RANKS, 2), 3, None)
        live.time.sleep(LATE_S)
        self.assertIsNone(checker.process.poll(), checker.stderr())
        self.write(late, 3, None)
        self.assertEqual(checker.wait(), 0, checker.stderr())
        offline = self.check("trace", self.invariants, "offline", self.work)
        self.assertEqual((self.work / "live" / "violations.jsonl").read_bytes(), offline)
        return [json.loads((self.work / name / "violations_summary.json").read_text()) for name in ("live", "offline")]

    def test_who_is_waited_for(self):
        live_, offline = self.follow_late("--lateness", str(LATE_S + live.PATIENCE))
        self.assertEqual(*[{key: c.get(key) for key in ("records", "calls", "windows", "counts")} for c in (live_, offline)])

    def test_who_was_given_up_and_comes_back(self):
        """All it did is read and judged, but for what compares ranks."""
        live_, offline = self.follow_late("--lateness", "1")
        self.assertEqual(*[{key: c.get(key) for key in ("records", "calls", "windows")} for c in (live_, offline)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("--late", type=int, default=3, help="seconds that ranks are late by")
    options, rest = parser.parse_known_args()
    live.BIN, LATE_S = options.bin.resolve(), options.late
    unittest.main(argv=[sys.argv[0], *rest])
