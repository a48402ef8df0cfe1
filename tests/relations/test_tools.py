#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What infer and check owe to any trace: equal bytes, valid JSON, one clear line where it is damaged.

usage: test_tools.py --bin BUILD/bin [TEST...]
"""

import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from trace_writer import Trace, zstd_frame

BIN = None


def run(tool, *args, cwd=None):
    return subprocess.run([str(BIN / f"traincheck-{tool}"), *map(str, args)], capture_output=True, cwd=cwd,
                          stdin=subprocess.DEVNULL, timeout=120)


def write_loop(folder, steps=6, broken_from=None, **kwargs):
    """A loop with most of what a loop can have; from a step on without zero_grad, changes and schedule."""
    t = Trace(folder, **kwargs)
    model = t.net("w", "b", buffers=["running_mean"])
    optimizer = t.optimizer(model)
    for i in range(steps):
        is_broken = broken_from is not None and i >= broken_from
        if not is_broken:
            t.zero_grad(optimizer)
        t.forward(model, changes=["running_mean"])
        t.backward(model)
        if i % 2:
            t.clip()
        t.step(optimizer, changes=[] if is_broken else None)
        if not is_broken:
            t.schedule()
        t.cut()
        if i % 3 == 2:
            for _ in range(4):
                t.evaluate(model)
            t.cut("stage")
    t.end()
    return next(pathlib.Path(folder).glob("trace_*"))


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(os.path.realpath(scratch.name))

    def assert_clean(self, p, code, stderr=None):
        """Ended by itself with that code; stderr holds this, and nothing of a sanitizer."""
        err = p.stderr.decode(errors="replace")
        self.assertEqual(p.returncode, code, err)
        self.assertNotIn("runtime error", err)
        if stderr:
            self.assertIn(stderr, err)

    def infer(self, *folders, output="invariants.jsonl", options=(), code=0):
        p = run("infer", "-q", "-o", output, *options, *folders, cwd=self.work)
        self.assert_clean(p, code)
        return self.work / output

    def check(self, trace, invariants="invariants.jsonl", output="report", codes=(0, 1)):
        p = run("check", "-q", trace, "-i", invariants, "-o", output, cwd=self.work)
        self.assertIn(p.returncode, codes, p.stderr.decode(errors="replace"))
        return self.work / output


class EqualBytes(Case):
    def test_infer_in_any_order_with_any_threads(self):
        for i in range(4):
            write_loop(self.work / f"run{i}", steps=4 + i, rank=0, world=1 + i % 2)
        names = [f"run{i}" for i in range(4)]
        want = self.infer(*names).read_bytes()
        self.assertGreater(want.count(b"\n"), 5)
        for n, order in enumerate(itertools.permutations(names)):
            for jobs in ("1", "2"):
                got = self.infer(*order, output="again.jsonl", options=["-j", jobs]).read_bytes()
                self.assertEqual(got, want, f"order {order}, -j {jobs}")
            if n == 11:
                break

    def test_infer_from_one_process_or_many_files(self):
        write_loop(self.work / "run", rank=0, world=2, pid=1)
        write_loop(self.work / "run", rank=1, world=2, pid=2)
        self.assertEqual(self.infer("run").read_bytes(), self.infer("run", output="again.jsonl").read_bytes())

    def test_a_trace_given_twice_is_one_pipeline(self):
        write_loop(self.work / "run")
        want = self.infer("run").read_bytes()
        self.assertIn(b'"from":["run"]', want)
        for again in (["run/"], ["run", "run"], ["run", "run/", "./run"], [self.work / "run", "run//"]):
            self.assertEqual(self.infer(*again, output="again.jsonl").read_bytes(), want, again)

    def test_failed_hypotheses_too(self):
        for i in range(3):
            write_loop(self.work / f"run{i}", broken_from=3 if i == 1 else None)
        self.infer("run0", "run1", "run2", options=["--failed", "a"])
        self.infer("run2", "run1", "run0", options=["--failed", "b"])
        self.assertGreater((self.work / "a").stat().st_size, 0)
        self.assertEqual((self.work / "a").read_bytes(), (self.work / "b").read_bytes())

    def test_check_twice(self):
        write_loop(self.work / "run")
        write_loop(self.work / "bad", steps=14, broken_from=2)
        self.infer("run")
        one, two = self.check("bad", output="one"), self.check("bad", output="two")
        for name in ("violations.jsonl", "failed.log", "passed.log", "not_triggered.log", "unchecked.log"):
            self.assertEqual((one / name).read_bytes(), (two / name).read_bytes(), name)
        self.assertGreater((one / "violations.jsonl").read_bytes().count(b"\n"), 3)

    def test_order_of_invariants_does_not_matter(self):
        write_loop(self.work / "run")
        write_loop(self.work / "bad", broken_from=2)
        lines = self.infer("run").read_text().splitlines(keepends=True)
        (self.work / "reversed.jsonl").write_text("".join(lines[:1] + lines[:0:-1]))
        one, two = self.check("bad", output="one"), self.check("bad", invariants="reversed.jsonl", output="two")
        self.assertEqual((one / "violations.jsonl").read_bytes(), (two / "violations.jsonl").read_bytes())

    def test_renumbered_serials_and_ids_teach_the_same(self):
        write_loop(self.work / "a" / "run")
        t = Trace(self.work / "b" / "run")
        t.serials, t.calls = 5000, 7000
        t.file.close()
        records = [json.loads(x) for x in next((self.work / "a/run").glob("trace_*")).read_text().splitlines()]
        for r in records:
            for key in ("id", "parent", "cause"):
                if key in r:
                    r[key] += 7000
            if "t" in r:
                r["t"] += 10**9
        next((self.work / "b/run").glob("trace_*")).write_text("".join(json.dumps(r) + "\n" for r in records))
        self.assertEqual(self.infer("a/run").read_bytes(), self.infer("b/run", output="b.jsonl").read_bytes())


class HeldOut(Case):
    """--validate: what a further healthy trace breaks is dropped, told, and never written."""

    def setUp(self):
        super().setUp()
        write_loop(self.work / "run")
        write_loop(self.work / "other", broken_from=2)

    def lines(self, path):
        return [json.loads(x) for x in path.read_text().splitlines()]

    def test_what_broke_is_gone_and_what_held_is_counted(self):
        before = {(x["relation"], x["text"]) for x in self.lines(self.infer("run", output="before"))[1:]}
        self.assertGreater(len(json.loads((self.check("other", "before") / "violations_summary.json").read_text())), 0)
        after = self.lines(self.infer("run", options=["--validate", "other", "--failed", "failed"]))[1:]
        dropped = [x for x in self.lines(self.work / "failed") if x["why"] == "broken by a held-out trace"]
        clears = ("EventContain/each", "before Optimizer.step() the gradient of each Parameter was cleared (zero_grad) "
                                       "since the last step")
        self.assertIn(clears, before)
        self.assertIn(clears, {(x["relation"], x["text"]) for x in dropped})
        self.assertEqual({x["broken_at"] for x in dropped if x["text"] == clears[1]}, {"train.py:13, step 2 of other"})
        self.assertNotIn(clears, {(x["relation"], x["text"]) for x in after})
        self.assertEqual((self.check("other") / "violations.jsonl").read_bytes(), b"")
        finite = next(x for x in after if x["relation"] == "APIOutput/finite")
        self.assertEqual(finite["evidence"]["held_out"], {"held": 6, "pipelines": 1})

    def test_evidence_of_held_out_traces_will_do(self):
        want = self.infer("run", options=["--validate", "other"]).read_bytes()
        self.assert_clean(run("infer", "-q", "--evidence", "other.tce", "other", cwd=self.work), 0)
        got = self.infer("run", output="again", options=["--validate", "other.tce", "-j", "2"]).read_bytes()
        self.assertEqual(got, want)

    def test_it_says_which(self):
        p = run("infer", "run", "--validate", "other", cwd=self.work)
        self.assert_clean(p, 0, "changes data of at least one Parameter: dropped, broken at train.py:13, step 2 of other")
        self.assertIn(b"broken by a held-out trace", p.stderr)
        self.assertIn(b"held on 1 held-out trace", p.stderr)

    def test_a_trace_cannot_vouch_for_itself(self):
        p = run("infer", "-q", "run", "--validate", "./run/", cwd=self.work)
        self.assert_clean(p, 2, "./run/ is learned from")
        self.assertFalse((self.work / "invariants.jsonl").exists())

    def test_evidence_alone_is_nothing_to_validate(self):
        self.assert_clean(run("infer", "-q", "run", "--evidence", "e.tce", "--validate", "other", cwd=self.work), 2,
                          "--validate has nothing to validate")


HOSTILE = ['quo"te', "new\nline", "<script>alert(1)</script>", "line\u2028separator", "\x1b[31mred", "tab\there",
           "back\\slash", "nul\x00byte", "\U0001f600", "per%scent%n", " spaces  inside ", ""]


class HostileNames(Case):
    def broken_report(self, name, replace=()):
        write_loop(self.work / "run")
        self.infer("run")
        file = write_loop(self.work / "bad", broken_from=2)
        data = file.read_bytes().replace(b"model.w", json.dumps(name)[1:-1].encode())
        data = data.replace(b"__main__.Net", json.dumps(name)[1:-1].encode())
        data = data.replace(b"train.py:13", json.dumps(name)[1:-1].encode())
        for old, new in replace:
            data = data.replace(old, new)
        file.write_bytes(data)
        p = run("check", "-q", "bad", "-i", "invariants.jsonl", "-o", "report", cwd=self.work)
        self.assertIn(p.returncode, (1, 3))  # 3: what is damaged may be all that was broken
        self.assert_clean(p, p.returncode)
        return p, self.work / "report"

    def test_reports_stay_valid(self):
        for name in HOSTILE:
            with self.subTest(name=name):
                _, report = self.broken_report(name)
                violations = [json.loads(x) for x in (report / "violations.jsonl").read_bytes().split(b"\n") if x]
                self.assertGreater(len(violations), 2)
                for log in report.glob("*.log"):
                    for line in log.read_bytes().split(b"\n"):
                        self.assertTrue(not line or json.loads(line))
                json.loads((report / "violations_summary.json").read_bytes())
                if "\x00" not in name:
                    self.assertIn(name, [v["name"] for x in violations for v in x["variables"]])

    def test_no_line_separator_inside_a_line(self):
        _, report = self.broken_report("line\u2028separator")
        self.assertNotIn("\u2028", (report / "violations.jsonl").read_text(encoding="utf-8"))

    def test_bytes_that_are_no_utf8(self):
        p, report = self.broken_report("plain", [(b"plain", b"in\xffva\xc3lid")])
        for file in report.iterdir():
            file.read_text(encoding="utf-8")
        p.stdout.decode()

    def test_terminal_gets_no_control_characters(self):
        p, _ = self.broken_report("\x1b[31mred\x07")
        self.assertNotIn(b"\x1b", p.stdout)
        self.assertNotIn(b"\x07", p.stdout)

    def test_numbers_out_of_range(self):
        file = write_loop(self.work / "run")
        for n in (2**63 - 1, -2**63, 2**64, 1e308):
            text = "".join(json.dumps(json.loads(x) | {"unix_ns": 2**63 - 1, "step": n}) + "\n" if '"process"' in x
                           else json.dumps(json.loads(x) | {"step": n}) + "\n" for x in file.read_text().splitlines())
            write_loop(self.work / "good")
            self.infer("good")
            folder = self.work / f"huge{n}"
            folder.mkdir()
            (folder / file.name).write_text(text.replace("train.py", "t"))
            p = run("check", folder, "-i", "invariants.jsonl", "-o", "report", cwd=self.work)
            self.assertIn(p.returncode, (0, 1, 3), p.stderr.decode())
            for line in (self.work / "report/violations.jsonl").read_text().splitlines():
                json.loads(line)

    def test_times_out_of_range(self):
        write_loop(self.work / "good")
        self.infer("good")
        file = write_loop(self.work / "bad", broken_from=2, unix_ns=2**63 - 1)
        p = run("check", "-q", "bad", "-i", "invariants.jsonl", "-o", "report", cwd=self.work)
        self.assert_clean(p, 1)

    def test_calls_without_step_and_place(self):
        write_loop(self.work / "good")
        self.infer("good")
        file = write_loop(self.work / "bad", broken_from=2)
        records = [json.loads(x) for x in file.read_text().splitlines()]
        for r in records:
            if r["type"] == "call":
                for key in ("step", "stage", "at", "by"):
                    r.pop(key, None)
        file.write_text("".join(json.dumps(r) + "\n" for r in records))
        report = self.check("bad", codes=(0, 1))
        for line in (report / "violations.jsonl").read_text().splitlines():
            v = json.loads(line)
            self.assertTrue(all(s >= 0 for s in v.get("steps", [])), line)
            self.assertGreaterEqual(v.get("last_step", 0), 0)


class Counting(Case):
    def test_more_variables_counts_the_rest(self):
        def train(folder, changes):
            t = Trace(folder)
            model = t.net(*[f"p{i}" for i in range(20)])
            optimizer = t.optimizer(model)
            for _ in range(8):
                t.train_step(model, optimizer, changes)
            t.end()

        train(self.work / "run", None)
        train(self.work / "bad", [])
        self.infer("run", options=["--enable-relation", "EventContain/each"])
        report = self.check("bad")
        v = json.loads((report / "violations.jsonl").read_text())
        self.assertEqual((len(v["variables"]), v["more_variables"], v["count"]), (16, 4, 20 * 6))

    def test_steps_of_two_ranks_are_distinct(self):
        for rank in range(2):
            write_loop(self.work / "run", rank=rank, world=2, pid=rank + 1)
            write_loop(self.work / "bad", rank=rank, world=2, pid=rank + 1, broken_from=0, steps=6 - rank)
        self.infer("run")
        for line in (self.check("bad") / "violations.jsonl").read_text().splitlines():
            v = json.loads(line)
            self.assertEqual(v["steps"], sorted(set(v["steps"])), v["expected"])
            self.assertEqual(v["last_step"], max(v["steps"]), v["expected"])

    def test_steps_of_two_runs_are_distinct(self):
        write_loop(self.work / "run")
        write_loop(self.work / "one", broken_from=0)
        write_loop(self.work / "two", broken_from=0)
        self.infer("run")
        p = run("check", "-q", "one", "two", "-i", "invariants.jsonl", "-o", "report", cwd=self.work)
        self.assert_clean(p, 1)
        for line in (self.work / "report/violations.jsonl").read_text().splitlines():
            v = json.loads(line)
            self.assertEqual(v["steps"], sorted(set(v["steps"])), v["expected"])


class Damaged(Case):
    def test_infer_of_a_plain_tail_torn_anywhere(self):
        file = write_loop(self.work / "run")
        whole, rng = file.read_bytes(), random.Random(1)
        for size in sorted(rng.sample(range(1, len(whole)), 60)):
            file.write_bytes(whole[:size])
            p = run("infer", "run", "--overwrite", cwd=self.work)
            has_process = b"\n" in whole[:size]
            self.assertIn(p.returncode, (0,) if has_process else (0, 2), (size, p.stderr.decode()))

    def test_check_of_frames_cut_anywhere(self):
        """At most the last frame is lost: no violation, no crash, and never a wrong 'failed'."""
        file = write_loop(self.work / "run", steps=30)
        self.infer("run")
        lines = file.read_bytes().splitlines(keepends=True)
        frames = b"".join(zstd_frame(b"".join(lines[i:i + 40])) for i in range(0, len(lines), 40))
        file.unlink()
        rng = random.Random(2)
        for size in [*sorted(rng.sample(range(200, len(frames)), 40)), len(frames)]:
            (self.work / "run" / "trace_host_r-_p100.jsonl.zst").write_bytes(frames[:size])
            p = run("check", "run", "-i", "invariants.jsonl", "-o", "report", cwd=self.work)
            self.assertIn(p.returncode, (0, 2, 3), (size, p.stdout.decode(), p.stderr.decode()))

    def test_a_torn_frame_is_noted_and_the_rest_learned(self):
        file = write_loop(self.work / "run", steps=12)
        lines = file.read_bytes().splitlines(keepends=True)
        file.unlink()
        (self.work / "run" / "trace_host_r-_p100.jsonl.zst").write_bytes(
            zstd_frame(b"".join(lines[:-20])) + zstd_frame(b"".join(lines[-20:]))[:40])
        p = run("infer", "run", "--overwrite", cwd=self.work)
        self.assert_clean(p, 0, "the last 40 bytes are the start of a frame that was never finished")
        self.assertGreater(len((self.work / "invariants.jsonl").read_text().splitlines()), 3)

    def test_flipped_bytes(self):
        file = write_loop(self.work / "run", steps=12)
        self.infer("run")
        whole, rng = file.read_bytes(), random.Random(3)
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 8)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            file.write_bytes(data)
            for p in (run("infer", "-o", "other", "run", cwd=self.work),
                      run("check", "run", "-i", "invariants.jsonl", "-o", "report", cwd=self.work)):
                self.assertIn(p.returncode, (0, 1, 2, 3), p.stderr.decode(errors="replace"))
                self.assertNotIn(b"runtime error", p.stderr)

    def test_lines_lost_shuffled_and_doubled(self):
        file = write_loop(self.work / "run", steps=12)
        self.infer("run")
        whole, rng = file.read_bytes().splitlines(keepends=True), random.Random(4)
        for _ in range(40):
            lines = whole[1:]
            for _ in range(rng.randint(1, 6)):
                i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
                what = rng.randrange(3)
                if what == 0:
                    del lines[min(i, j):min(i, j) + 5]
                elif what == 1:
                    lines[i], lines[j] = lines[j], lines[i]
                else:
                    lines.insert(i, lines[j])
            file.write_bytes(whole[0] + b"".join(lines))
            for p in (run("infer", "-o", "other", "run", cwd=self.work),
                      run("check", "run", "-i", "invariants.jsonl", "-o", "report", cwd=self.work)):
                self.assertIn(p.returncode, (0, 1, 3), p.stderr.decode(errors="replace"))
                self.assertNotIn(b"runtime error", p.stderr)

    def test_invariant_file_cut_anywhere(self):
        write_loop(self.work / "run")
        file = self.infer("run")
        whole, rng = file.read_bytes(), random.Random(5)
        for size in sorted(rng.sample(range(len(whole)), 60)):
            (self.work / "cut.jsonl").write_bytes(whole[:size])
            p = run("check", "run", "-i", "cut.jsonl", "-o", "cut-report", cwd=self.work)
            err = p.stderr.decode()
            is_whole = whole[:size].endswith(b"}") or whole[:size].endswith(b"\n")
            if is_whole and p.returncode == 0:
                continue
            self.assertEqual(p.returncode, 2, err)
            self.assertIn("cut.jsonl", err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertFalse((self.work / "cut-report").exists() and not (self.work / "cut-report/violations.jsonl").exists())


def main():
    global BIN
    sys.argv[1:2] = [] if sys.argv[1:2] == ["--bin"] else sys.argv[1:2]
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(argv=sys.argv)


if __name__ == "__main__":
    main()
