#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""traincheck-onlinecheck beside a run: when it starts, how it ends, what it tells and whom.

usage: test_live.py --bin BUILD/bin [TEST...]
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import live
from live import more_steps, write_loop


def has_ended(pid):
    """Also where nobody waits for it, as in a container without an init."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def violations(text):
    return [x for x in map(json.loads, text.splitlines()) if "id" in x]


def ids(text):
    return sorted(v["id"] for v in violations(text))


def findings(text, last=True):
    """As they are at the end, or as they were told."""
    return [x for x in map(json.loads, text.splitlines()) if "sentence" in x and x.get("last", False) == last]


class Live(live.Case):
    def setUp(self):
        super().setUp()
        self.invariants = self.learn_loop()

    def follow_trace(self, *args):
        return self.follow("trace", "-i", self.invariants, "-o", "report", "--json", *args)

    def offline(self):
        return self.check("trace", self.invariants, "offline", self.work).decode()

    def assert_as_offline(self, output="report"):
        self.assertEqual((self.work / output / "violations.jsonl").read_text(), self.offline())
        self.assertEqual((self.work / output / "findings.jsonl").read_text(), (self.work / "offline" / "findings.jsonl").read_text())

    def wait_until(self, condition):
        end = time.monotonic() + live.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    # ---- what is told

    def test_json_says_findings_when_they_begin_and_as_they_end(self):
        """A violation that joins a finding has a line of its own; the finding has another at the end."""
        t = write_loop(self.work / "trace", steps=4, broken_from=3, end=False)
        checker = self.follow_trace()
        checker.wait_for(checker.out, "at least one")
        before = checker.stdout()
        (first,) = findings(before, last=False)
        self.assertEqual(json.loads(before.splitlines()[0]), first)
        more_steps(t, 12, broken_from=3)
        t.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        lines = [json.loads(line) for line in checker.stdout().splitlines()]
        offline = self.offline()
        self.assertEqual(ids(checker.stdout()), ids(offline))
        self.assertEqual(findings(checker.stdout(), last=False), [first])
        n = len(findings(checker.stdout()))
        self.assertEqual([bool(x.get("last")) for x in lines], [False] * (len(lines) - n) + [True] * n)
        written = [json.loads(line) for line in (self.work / "offline" / "findings.jsonl").read_text().splitlines()]
        self.assertEqual(findings(checker.stdout()), [{**f, "last": True} for f in written])
        self.assertGreater(written[0]["n_violations"], first["n_violations"])
        self.assertEqual(written[0]["violations"][0], first["violations"][0])

    def test_text_says_a_finding_once(self):
        """What joins it later is in the reports alone."""
        t = write_loop(self.work / "trace", steps=4, broken_from=3, end=False)
        checker = self.follow("trace", "-i", self.invariants, "-o", "report", "--color", "never")
        checker.wait_for(checker.out, "at least one")
        more_steps(t, 12, broken_from=3)
        t.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        (finding,) = [json.loads(line) for line in (self.work / "report" / "findings.jsonl").read_text().splitlines()]
        self.assertGreater(finding["n_violations"], 1)
        heads = re.findall(r"(?m)^\S+  step \d+  .*$", checker.stdout())
        self.assertEqual([head.split()[-1] for head in heads], finding["violations"][:1])

    # ---- beginnings and ends

    def test_begins_before_the_folder(self):
        checker = self.follow_trace()
        checker.wait_for(checker.err, "waiting for a trace in trace")
        write_loop(self.work / "trace", broken_from=3)
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertEqual(ids(checker.stdout()), ids(self.offline()))
        self.assert_as_offline()

    def test_begins_after_the_run(self):
        write_loop(self.work / "trace")
        checker = self.follow_trace()
        self.assertEqual(checker.wait(), 0, checker.stderr())
        self.assertEqual(checker.stdout(), "")
        self.assert_as_offline()

    def test_tells_while_the_run_goes_on(self):
        t = write_loop(self.work / "trace", steps=3, broken_from=4, end=False)
        checker = self.follow_trace()
        more_steps(t, 3, broken_from=4)
        checker.wait_for(checker.out, "at least one")
        self.assertIsNone(checker.process.poll())
        more_steps(t, 2, broken_from=4)
        t.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assert_as_offline()

    def test_a_rank_that_comes_late_is_waited_for(self):
        write_loop(self.work / "trace", rank=0, world=2, pid=1)
        checker = self.follow_trace()
        time.sleep(1.5)
        self.assertIsNone(checker.process.poll(), checker.stderr())
        write_loop(self.work / "trace", rank=1, world=2, pid=2)
        self.assertEqual(checker.wait(), 0, checker.stderr())

    def test_a_folder_that_is_gone_ends_the_check(self):
        t = write_loop(self.work / "trace", broken_from=3, end=False)
        checker = self.follow_trace()
        checker.wait_for(checker.out, "at least one")
        shutil.rmtree(self.work / "trace")
        self.assertEqual(checker.wait(), 1)
        self.assertIn("trace is gone", checker.stderr())
        self.assertTrue((self.work / "report" / "violations.jsonl").read_text())
        t.killed()

    def test_idle(self):
        t = write_loop(self.work / "trace", broken_from=3, end=False)
        checker = self.follow_trace("--exit-on-idle", "1")
        self.assertEqual(checker.wait(), 1, checker.stderr())
        t.killed()
        self.assert_as_offline()

    def test_nothing_came(self):
        checker = self.follow_trace("--exit-on-idle", "1")
        self.assertEqual(checker.wait(), 2)
        self.assertIn("trace: there was no trace", checker.stderr())
        self.assertFalse((self.work / "report").exists())

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                shutil.rmtree(self.work / "trace", ignore_errors=True)
                t = write_loop(self.work / "trace", broken_from=3, end=False)
                checker = self.follow_trace()
                checker.wait_for(checker.out, "at least one")
                checker.process.send_signal(number)
                self.assertEqual(checker.wait(), 128 + number)
                t.killed()
                self.assert_as_offline()

    def test_reports_while_the_run_goes_on(self):
        t = write_loop(self.work / "trace", broken_from=3, end=False)
        checker = self.follow_trace("--report-interval", "1")
        page = self.work / "report" / "report.html"
        end = time.monotonic() + live.PATIENCE
        while not page.exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertIn('<meta http-equiv="refresh" content="1">', page.read_text())
        self.assert_as_offline()
        t.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertNotIn("refresh", page.read_text().split("<style>")[0])

    def test_a_report_that_cannot_be_written_is_tried_again(self):
        t = write_loop(self.work / "trace", broken_from=3, end=False)
        (self.work / "report" / "report.html").mkdir(parents=True)
        checker = self.follow_trace("--overwrite", "--report-interval", "1")
        checker.wait_for(checker.err, "the check goes on")
        (self.work / "report" / "report.html").rmdir()
        t.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertTrue((self.work / "report" / "report.html").read_text())
        self.assert_as_offline()

    def test_progress_without_a_terminal(self):
        """A line each ten seconds, and only if it is asked for."""
        t = write_loop(self.work / "trace", end=False)
        checker = self.follow_trace("--progress")
        silent = self.follow("trace", "-i", self.invariants, "-o", "silent", "--json")
        checker.wait_for(checker.err, "steps/s")
        line = checker.err[0][1]
        self.assertRegex(line, r"^traincheck-onlinecheck: step 5  0\.0 steps/s  0 findings  lag 0\.0 s\n$")
        self.assertEqual(len(checker.err), 1)
        t.end()
        self.assertEqual((checker.wait(), silent.wait()), (0, 0))
        self.assertNotIn("steps/s", silent.stderr() + "".join(line for _, line in checker.err[1:]))

    # ---- replicas

    def ranks(self, *drifts):
        """Two ranks whose invariants say that replicas are equal; rank 1 of a third run drifts."""
        for i in range(2):
            for rank in range(2):
                write_loop(self.work / f"replicas{i}", rank=rank, world=2, pid=1 + rank)
        self.invariants = self.learn("replicas0", "replicas1")

    def test_a_silent_rank_is_given_up(self):
        self.ranks()
        traces = [write_loop(self.work / "trace", steps=2, rank=rank, world=3, pid=1 + rank, end=False)
                  for rank in range(3)]
        checker = self.follow_trace("--lateness", "1")
        for rank, t in enumerate(traces[:2]):  # rank 2 is lost
            if rank:
                t.change(t.net_.var("w"))
            more_steps(t, 66)  # ranks that differ in most of what they train have 64 steps to meet again
        checker.wait_for(checker.out, "Consistent/replica")
        told = next(v for v in violations(checker.stdout()) if v["relation"] == "Consistent/replica")
        self.assertEqual((told["step"], told["rank"]), (2, 0))
        self.assertIn("rank 1 is not as rank 0; no report of rank 2", told["seen"])
        for t in traces[:2]:
            t.end()
        traces[2].killed()
        checker.process.send_signal(signal.SIGTERM)
        checker.wait()
        self.assert_as_offline()

    def test_a_restarted_job(self):
        """The first start was killed; the second ends well, and so does the check."""
        self.ranks()
        first = [write_loop(self.work / "trace", steps=4, rank=rank, world=2, pid=1 + rank, end=False) for rank in range(2)]
        checker = self.follow_trace()
        later = {"unix_ns": 1_700_000_010_000_000_000, "restart": 1}
        second = [write_loop(self.work / "trace", steps=2, rank=rank, world=2, pid=11 + rank, end=False, **later)
                  for rank in range(2)]
        second[1].change(second[1].net_.var("w"))
        for t in second:
            more_steps(t, 2)
            t.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        told = violations(checker.stdout())[0]
        self.assertEqual((told["relation"], told["step"], told["file"]), ("Consistent/replica", 2, "trace_host_r-_p11.jsonl"))
        for t in first:
            t.killed()
        self.assert_as_offline()

    # ---- commands

    def told(self):
        """What commands that write into told.jsonl were given."""
        path = self.work / "told.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def write_two_causes(self):
        """From step 3 on no weight changes; another call of the optimizer breaks something else at step 16."""
        t = write_loop(self.work / "trace", steps=16, broken_from=3, end=False)
        t.enter("torch.optim.Optimizer.step", at="train.py:99", **t.on_optimizer(t.optimizer_), uncleared=[2])
        t.leave()
        t.end()

    def heads(self):
        self.offline()
        summary = json.loads((self.work / "offline" / "violations_summary.json").read_text())
        return [finding["violations"][0] for finding in summary["findings"]]

    def test_a_command_for_each_cause(self):
        self.write_two_causes()
        checker = self.follow_trace("--on-violation", "cat >>told.jsonl")
        self.assertEqual(checker.wait(), 1, checker.stderr())
        told = sorted(self.told(), key=lambda v: v["finding"]["finding"])
        self.assertEqual([v["id"] for v in told], self.heads())
        self.assertGreater(len(self.offline().splitlines()), len(told))
        self.assertEqual([(v["finding"]["finding"], v["first"]) for v in told], [(1, True), (2, False)])
        for v in told:
            self.assertEqual((v["finding"]["sentence"], v["finding"]["violations"][0]), (v["seen"], v["id"]))
        for v in told:
            self.assertEqual((v["run"], v["rank"], v["trace"]), (str(self.work / "trace"), None, "trace"))
        self.assertGreater(told[0]["finding"]["n_violations"], 1)

    def test_no_command_for_what_is_suppressed(self):
        self.write_two_causes()
        (self.work / "known.txt").write_text("".join(f"{i} on purpose\n" for i in ids(self.offline())))
        checker = self.follow_trace("--on-violation", "cat >>told.jsonl", "--suppress", "known.txt")
        self.assertEqual(checker.wait(), 0, checker.stderr())
        self.assertEqual(self.told(), [])

    def test_a_command_that_fails_or_hangs_holds_nothing_up(self):
        for command, line in (("exit 7", "exit status 7"), ("kill -9 $$", "signal 9"), ("nonsense-command", "exit status 127"),
                              ("exec sleep 99", "ended after 1 s, with what it had started: exec sleep 99")):
            with self.subTest(command=command):
                shutil.rmtree(self.work / "trace", ignore_errors=True)
                t = write_loop(self.work / "trace", broken_from=3, end=False)
                checker = self.follow_trace("--on-violation", command, "--on-violation-timeout", "1")
                checker.wait_for(checker.out, "at least one")
                more_steps(t, 3, broken_from=3)
                t.end()
                self.assertEqual(checker.wait(), 1, checker.stderr())
                self.assertIn(line, checker.stderr())
                self.assert_as_offline()

    def test_a_late_command_ends_with_its_children(self):
        """Also with one that takes no notice of SIGTERM; one that ends in time is left alone."""
        write_loop(self.work / "trace", broken_from=3)
        command = "sh -c 'trap \"\" TERM; echo $$ >child; while :; do sleep 0.1; done' & echo $$ >pid; wait"
        checker = self.follow_trace("--on-violation", command, "--on-violation-timeout", "1", "--state", "state.jsonl")
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertIn("ended after 1 s", checker.stderr())
        for name in ("pid", "child"):
            pid = int((self.work / name).read_text())
            self.wait_until(lambda: has_ended(pid))
        self.assertNotIn("could not end", checker.stderr())
        self.assertIn('{"ran":', (self.work / "state.jsonl").read_text())

    def test_a_command_that_could_not_end_is_left_to_the_next_check(self):
        self.write_two_causes()
        state = self.work / "state.jsonl"
        hanging = self.follow_trace("--on-violation", "cat >/dev/null; touch begun; sleep 99", "--state", "state.jsonl",
                                    "--on-violation-timeout", "50")
        self.wait_until((self.work / "begun").exists)
        hanging.process.send_signal(signal.SIGTERM)
        hanging.wait()
        self.assertIn("2 of the commands could not end before the check did; the next check with --state state.jsonl "
                      "runs them", hanging.stderr())
        self.assertNotIn('"ran"', state.read_text())
        second = self.follow_trace("--on-violation", "cat >>told.jsonl", "--state", "state.jsonl")
        self.assertEqual(second.wait(), 1, second.stderr())
        self.assertEqual(findings(second.stdout(), last=False) + violations(second.stdout()), [])
        told = sorted(self.told(), key=lambda v: v["finding"]["finding"])
        self.assertEqual([(v["id"], v["finding"]["finding"], v["first"]) for v in told],
                         [(head, i, i == 1) for i, head in enumerate(self.heads(), 1)])
        third = self.follow_trace("--on-violation", "cat >>told.jsonl", "--state", "state.jsonl")
        third.wait()
        self.assertEqual(len(self.told()), len(told))

    def test_a_signal_while_commands_are_waited_for(self):
        """The run is over and reported, its command may take a minute more: the check does not, once it is told to end."""
        self.write_two_causes()
        checker = self.follow_trace("--on-violation", "sleep 99", "--on-violation-timeout", "90")
        self.wait_until((self.work / "report" / "violations_summary.json").exists)
        checker.process.send_signal(signal.SIGTERM)
        checker.wait()
        self.assertIn("could not end before the check did", checker.stderr())

    def test_the_recipe_that_ends_a_job(self):
        """With a job of two processes in place of the one in the page."""
        recipe = (pathlib.Path(__file__).parents[2] / "docs/online.md").read_text()
        start = re.search(r"^ +(setsid .*)exec .*(' &)$", recipe, re.M)
        command = re.search(r"--on-violation '(kill .*)'$", recipe, re.M)
        subprocess.run(["bash", "-c", f"{start[1]}sleep 999 & echo $! >child.new; mv child.new child; wait{start[2]}"],
                       cwd=self.work, check=True, stdout=subprocess.DEVNULL)
        self.wait_until((self.work / "child").exists)
        write_loop(self.work / "trace", broken_from=3)
        checker = self.follow_trace("--on-violation", command[1])
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertNotIn("command failed", checker.stderr())
        for name in ("job.pid", "child"):
            pid = int((self.work / name).read_text())
            self.wait_until(lambda: has_ended(pid))

    # ---- going on after an end

    def test_a_killed_checker_loses_and_repeats_nothing(self):
        rng = live.random.Random(5)
        t = write_loop(self.work / "trace", steps=0, end=False)
        told, begun = "", time.monotonic()
        for i in range(8):
            checker = self.follow_trace("--state", "state.jsonl")
            time.sleep(rng.random() * 0.2)
            more_steps(t, 2, broken_from=5)
            if i == 4:
                t.enter("torch.optim.Optimizer.step", at="train.py:99", **t.on_optimizer(t.optimizer_), uncleared=[2])
                t.leave()
            time.sleep(rng.random() * 0.3)
            checker.process.kill()
            checker.wait()
            told += checker.stdout()
        t.end()
        checker = self.follow_trace("--state", "state.jsonl")
        self.assertEqual(checker.wait(), 1, checker.stderr())
        told += checker.stdout()
        self.assertGreaterEqual(len(ids(told)), 2)
        self.assertEqual(ids(told), ids(self.offline()))
        self.assert_as_offline()

    def test_a_state_with_a_torn_line_goes_on(self):
        write_loop(self.work / "trace", broken_from=3)
        first = self.follow_trace("--state", "state.jsonl")
        first.wait()
        state = self.work / "state.jsonl"
        lines = state.read_text().splitlines(keepends=True)
        state.write_text("".join(lines[:-1]) + lines[-1][:-3])
        second = self.follow_trace("--state", "state.jsonl")
        second.wait()
        self.assertEqual(ids(second.stdout()), [json.loads(lines[-1])["told"]])
        self.assertEqual(state.read_text(), "".join(lines))

    def test_states_that_do_not_fit(self):
        write_loop(self.work / "trace", broken_from=3)
        write_loop(self.work / "other")
        self.follow_trace("--state", "state.jsonl").wait()
        p = live.run("onlinecheck", "other", "-i", self.invariants, "-o", "o", "--state", "state.jsonl", cwd=self.work)
        self.assertEqual(p.returncode, 2)
        self.assertIn(f"state.jsonl: it is the state of another trace: {self.work}/trace", p.stderr.decode())
        shutil.rmtree(self.work / "trace")
        write_loop(self.work / "trace", pid=77)
        checker = self.follow_trace("--state", "state.jsonl")
        self.assertEqual(checker.wait(), 2)
        self.assertIn("state.jsonl: it is the state of another run", checker.stderr())
        for text, line in (("{}\n", "no state of"), ("hello", "no state of"),
                           ('{"traincheck_state":9,"trace":"x"}\n', "its schema is 9")):
            (self.work / "state.jsonl").write_text(text)
            checker = self.follow_trace("--state", "state.jsonl")
            self.assertEqual(checker.wait(), 2)
            self.assertIn(line, checker.stderr())
            self.assertEqual((self.work / "state.jsonl").read_text(), text)

    # ---- two at a time, and no place to write

    def test_two_checkers_on_one_folder(self):
        t = write_loop(self.work / "trace", broken_from=3, end=False)
        first = self.follow_trace("--state", "state.jsonl")
        first.wait_for(first.out, "at least one")
        second = self.follow_trace()
        self.assertEqual(second.wait(), 2)
        self.assertEqual(second.stderr().splitlines()[-1],
                         "traincheck-onlinecheck: error: report: another checker is writing there")
        finished = live.run("check", "-q", "trace", "-i", self.invariants, "-o", "report", cwd=self.work)
        self.assertEqual((finished.returncode, finished.stdout), (2, b""))
        self.assertIn(b"report: another checker is writing there", finished.stderr)
        third = self.follow("trace", "-i", self.invariants, "-o", "elsewhere", "--state", "state.jsonl")
        self.assertEqual(third.wait(), 2)
        self.assertIn("state.jsonl: another checker is writing there", third.stderr())
        fourth = self.follow("trace", "-i", self.invariants, "-o", "elsewhere", "--json")
        fourth.wait_for(fourth.out, "at least one")
        t.end()
        self.assertEqual((first.wait(), fourth.wait()), (1, 1))
        self.assert_as_offline()
        self.assert_as_offline("elsewhere")

    def test_an_output_folder_that_cannot_be_made(self):
        write_loop(self.work / "trace")
        (self.work / "file").write_text("")
        p = live.run("onlinecheck", "trace", "-i", self.invariants, "-o", "file/report", cwd=self.work)
        self.assertEqual(p.returncode, 2)
        self.assertEqual(len(p.stderr.decode().splitlines()), 1, p.stderr.decode())
        self.assertIn("file", p.stderr.decode())

    # ---- odd files

    def test_files_that_are_no_traces(self):
        (self.work / "trace").mkdir()
        (self.work / "trace" / "trace_zzz.jsonl").write_text("hello\n")
        (self.work / "trace" / "trace_newer.txt").write_text("")
        t = write_loop(self.work / "trace", broken_from=3)
        checker = self.follow_trace("--exit-on-idle", "1")
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertIn("trace_zzz.jsonl", checker.stderr())
        self.assert_as_offline()

    def test_a_newer_trace(self):
        (self.work / "trace").mkdir()
        (self.work / "trace" / "trace_1.jsonl").write_text('{"type":"process","schema":9,"pid":1,"role":"main"}\n')
        checker = self.follow_trace()
        self.assertEqual(checker.wait(), 2)
        self.assertIn("its schema is 9, the newest known here is 6", checker.stderr())

    def test_a_file_by_its_path(self):
        t = write_loop(self.work / "trace", file="trace_one.jsonl", broken_from=3, end=False)
        path = "trace/trace_one.jsonl"
        checker = self.follow(path, "-i", self.invariants, "-o", "report", "--json")
        checker.wait_for(checker.out, "at least one")
        t.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        self.assertEqual((self.work / "report" / "violations.jsonl").read_bytes(),
                         self.check(path, self.invariants, "offline", self.work))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    os.environ.pop("NO_COLOR", None)
    live.unittest.main(argv=[sys.argv[0], *rest])
