#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""traincheck-onlinecheck --delete-checked: what was checked goes, what surrounds a finding stays.

usage: test_deleting.py --bin BUILD/bin [TEST...]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import unittest

import live
from live import write_loop
from trace_writer import zstd_frame

STEPS, BROKEN, AROUND = 1200, 600, 10


def frames_of(text, steps):
    """Its lines, a frame for each so many windows."""
    parts, part, n = [], [], 0
    for line in text.splitlines(keepends=True):
        part.append(line)
        n += '"type":"step"' in line.replace(" ", "")
        if n == steps:
            parts.append("".join(part))
            part, n = [], 0
    return [zstd_frame(part.encode()) for part in [*parts, "".join(part)] if part]


def pack(folder, steps=1):
    for path in folder.glob("*.jsonl"):
        frames = frames_of(path.read_text(), steps)
        path.unlink()
        path.with_name(path.name + ".zst").write_bytes(b"".join(frames))


def records(folder):
    return [json.loads(line) for path in sorted(folder.iterdir())
            for line in subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout.splitlines()]


class Deleting(live.Case):
    def setUp(self):
        super().setUp()
        self.invariants = self.learn_loop()
        self.trace = self.work / "trace"
        write_loop(self.trace, steps=STEPS, broken_from=None)

    def break_one_step(self):
        """Of the text: in that step no weight changes."""
        path = next(self.trace.glob("*.jsonl"))
        lines = [line for line in path.read_text().splitlines(keepends=True)
                 if not ((r := json.loads(line))["type"] == "var" and r.get("step") == BROKEN and "data" in r.get("attrs", {}))]
        path.write_text("".join(lines))

    def disk(self):
        return sum(path.stat().st_blocks * 512 for path in self.trace.iterdir())

    def test_steps_go_but_those_around_a_finding(self):
        self.break_one_step()
        pack(self.trace)
        whole = live.run("check", self.trace, "-q", "-i", self.invariants, "-o", "whole", cwd=self.work)
        self.assertEqual(whole.returncode, 1)
        before, text = self.disk(), records(self.trace)
        p = live.run("onlinecheck", self.trace, "-i", self.invariants, "-o", "report", "--delete-checked", cwd=self.work)
        self.assertEqual(p.returncode, 1, p.stderr.decode())
        self.assertRegex(p.stderr.decode(), r"\d\.\d MB of the trace were checked and deleted")
        for name in ("violations.jsonl", "findings.jsonl"):
            self.assertEqual((self.work / "report" / name).read_bytes(), (self.work / "whole" / name).read_bytes())
        self.assertLess(self.disk(), before / 4)
        left = records(self.trace)
        steps = {r["step"] for r in left if r["type"] == "step"}
        stay = {0, 1} | set(range(BROKEN - AROUND, BROKEN + AROUND + 1)) | set(range(STEPS - AROUND, STEPS + 1))  # the last one is cut by the end
        self.assertEqual(steps, stay)
        notes = [r for r in left if r["type"] == "note" and r["code"] == "trimmed"]
        self.assertEqual(sum(r["count"] for r in notes), STEPS + 1 - len(steps))
        self.assertEqual(len(notes), 2)
        whole_steps = [r for r in text if r.get("step") in stay and r["type"] in ("call", "step")]
        self.assertEqual([r for r in left if r["type"] in ("call", "step") and r["step"] in stay], whole_steps)
        again = live.run("check", self.trace, "-i", self.invariants, "-o", "again", cwd=self.work)
        self.assertEqual(again.returncode, 1, again.stderr.decode())
        self.assertIn(b"trimmed", again.stderr)
        one, two = (json.loads((self.work / name / "violations.jsonl").read_text().splitlines()[0]) for name in ("whole", "again"))
        for key in ("id", "step", "at", "seen", "count"):
            self.assertEqual(one.get(key), two.get(key))

    def test_what_is_left_of_a_healthy_run_is_healthy(self):
        """Also by the facts of its script, and no run is laid beside what is left."""
        for i in range(2):
            write_loop(self.work / f"long{i}", steps=STEPS)
        live.run("infer", "-q", "--specific", "long0", "long1", "-o", "specific.jsonl", cwd=self.work)
        pack(self.trace, steps=7)  # frames end in the midst of nothing that matters
        p = live.run("onlinecheck", self.trace, "-q", "-i", "specific.jsonl", "-o", "report", "--delete-checked", cwd=self.work)
        self.assertEqual((p.returncode, p.stdout), (0, b""), p.stderr.decode())
        self.assertLess(len(records(self.trace)), STEPS)
        p = live.run("check", self.trace, "-q", "-i", "specific.jsonl", "-o", "again", cwd=self.work)
        self.assertEqual((p.returncode, p.stdout), (0, b""), p.stderr.decode())
        p = live.run("check", self.trace, "--against", "long0", cwd=self.work)
        self.assertEqual(p.returncode, 2)
        self.assertIn(b"steps of it were deleted", p.stderr)
        p = live.run("infer", "--specific", "trace", "-o", "trimmed.jsonl", cwd=self.work)
        self.assertEqual(p.returncode, 0, p.stderr.decode())
        self.assertNotIn('"traincheck":"excerpt"', (self.work / "trimmed.jsonl").read_text())
        p = live.run("check", "long0", "-q", "-i", "trimmed.jsonl", "-o", "again", "--overwrite", cwd=self.work)
        self.assertEqual((p.returncode, p.stdout), (0, b""), p.stderr.decode())

    def test_a_run_that_goes_on(self):
        """Deleted while it is written; what the writer appends stands where it would stand."""
        path = next(self.trace.glob("*.jsonl"))
        frames = frames_of(path.read_text(), 1)
        path.unlink()
        packed = path.with_name(path.name + ".zst")
        half = len(frames) // 2
        packed.write_bytes(b"".join(frames[:half]))
        checker = self.follow("trace", "-i", self.invariants, "-o", "report", "--delete-checked")
        end = live.time.monotonic() + live.PATIENCE
        while packed.stat().st_blocks * 512 > 100_000 and live.time.monotonic() < end:
            live.time.sleep(0.1)
        self.assertLess(packed.stat().st_blocks * 512, 100_000)
        with packed.open("ab") as file:
            file.write(b"".join(frames[half:]))
        self.assertEqual(checker.wait(), 0, checker.stderr())
        self.assertEqual(packed.stat().st_size, sum(map(len, frames)))
        summary = json.loads((self.work / "report" / "violations_summary.json").read_text())
        self.assertEqual(summary["findings"], [])
        notes = [r for r in records(self.trace) if r["type"] == "note" and r["code"] == "trimmed"]
        self.assertEqual(len(notes), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
