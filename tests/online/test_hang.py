#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""traincheck-onlinecheck --hang-after: which ranks wait in which call, and for whom.

usage: test_hang.py --bin BUILD/bin [TEST...]
"""

import argparse
import json
import pathlib
import pickle
import sys
import time
import unittest

import live

APIS = {"torch.distributed.all_reduce": "collective", "torch.distributed.broadcast": "collective", "torch.Tensor.backward": "backward",
        "torch.randn": "function"}


class Rank:
    """A trace of one rank, call by call; what it has written is on the disk."""

    def __init__(self, folder, rank, world, began=10**18):
        folder.mkdir(exist_ok=True)
        self.pause = 0  # ns that it was silent
        self.file, self.id = (folder / f"trace_host_r{rank}_p{100 + rank}.jsonl").open("w", buffering=1), 0
        self.say(type="process", schema=5, pid=100 + rank, role="main", host="host", rank=rank, world_size=world, unix_ns=began, mode="full",
                 packages={"torch": "2.13.0"}, argv=["train.py"])
        for fn, role in APIS.items():
            self.say(type="api", fn=fn, role=role)

    def say(self, **record):
        self.file.write(json.dumps(record) + "\n")

    def enter(self, fn, at, step=0):
        self.id += 1
        self.say(type="call", id=self.id, fn=fn, t=self.pause + 10 * self.id, step=step, stage="training", by="user", at=at)
        return self.id

    def leave(self, id):
        self.say(type="return", id=id, t=self.pause + 10 * self.id + 5)

    def call(self, fn, at, step=0):
        self.leave(self.enter(fn, at, step))

    def end(self):
        self.say(type="end", t=self.pause + 10 * self.id + 9, events=1, dropped=0, exit=0)
        self.file.close()


def dump(path, entries, protocol=2):
    """A dump of the flight recorder: (group, number, call, line or None) of each collective call begun."""
    path.write_bytes(pickle.dumps({"version": "2.10", "pg_config": {}, "entries": [
        {"frames": [{"name": "all_reduce", "filename": "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 3245},
                    {"name": "<module>", "filename": f"/home/me/{line.split(':')[0]}", "line": int(line.split(":")[1])}] if line else [],
         "process_group": group, "collective_seq_id": number, "profiling_name": f"nccl:{call}", "time_created_ns": 10**18 + 10**9 * i,
         "state": "scheduled", "is_p2p": False} for i, (group, number, call, line) in enumerate(entries)]}, protocol))


class Case(live.Case):
    def setUp(self):
        super().setUp()
        self.invariants = self.learn_loop()

    def ranks(self, n, **kwargs):
        ranks = [Rank(self.work / "trace", i, n, **kwargs) for i in range(n)]
        self.addCleanup(lambda: [rank.file.close() for rank in ranks])
        return ranks


class Hang(Case):
    def watch(self, *args):
        return self.follow("trace", "-i", self.invariants, "-o", "report", "--hang-after", "1", *args)

    def end(self, ranks, checker, status):
        for rank in ranks:
            rank.end()
        self.assertEqual(checker.wait(), status, checker.stderr())

    def test_one_rank_is_waited_for(self):
        ranks = self.ranks(3)
        for rank in ranks:
            rank.call("torch.distributed.all_reduce", "train.py:30", step=4)
            rank.call("torch.randn", "train.py:22", step=5)
        open_calls = [(rank, rank.enter("torch.distributed.all_reduce", "train.py:30", step=5)) for rank in (ranks[0], ranks[2])]
        checker = self.watch()
        checker.wait_for(checker.out, "ranks 0, 2: in all_reduce() at train.py:30")
        checker.wait_for(checker.out, "rank 1: behind randn() at train.py:22")
        self.assertIn("train.py:22  rank 1 is not in all_reduce(), in which ranks 0 and 2 wait; nothing has come for 1 s, in step 5\n", checker.stdout())
        ranks[1].call("torch.distributed.all_reduce", "train.py:30", step=5)
        for rank, id in open_calls:
            rank.leave(id)
        checker.wait_for(checker.err, "the run goes on")
        ranks[0].enter("torch.distributed.broadcast", "train.py:40", step=6)  # and hangs again
        checker.wait_for(checker.out, "ranks 1 and 2 are not in broadcast(), in which rank 0 waits")
        self.end(ranks, checker, 1)

    def test_as_json_and_for_a_command(self):
        ranks = self.ranks(2)
        ranks[1].enter("torch.distributed.all_reduce", "train.py:30", step=2)
        checker = self.watch("--json", "--on-violation", "cat >said.json; touch done")
        checker.wait_for(checker.out, '"kind":"hang"')
        end = live.time.monotonic() + live.PATIENCE
        while not (self.work / "done").exists() and live.time.monotonic() < end:
            live.time.sleep(0.05)
        finding, said = json.loads(checker.out[0][1]), json.loads((self.work / "said.json").read_text())
        self.assertEqual((said["finding"], said["first"], said["run"], said["rank"]), (finding, True, str(self.work / "trace"), 0))
        self.assertEqual((finding["sentence"], finding["rank"], finding["finding"]), ("rank 0 is not in all_reduce(), in which rank 1 waits", 0, 1))
        self.assertEqual([(r["rank"], r["waits"], r["is"], r["collectives"]) for r in finding["ranks"]], [(0, False, "silent", 0), (1, True, "in", 1)])
        self.end(ranks, checker, 1)

    def sentence(self, ranks):
        checker = self.watch("--json")
        checker.wait_for(checker.out, '"kind":"hang"')
        self.end(ranks, checker, 1)
        return json.loads(checker.out[0][1])["sentence"]

    def test_backward_of_a_wrapped_model(self):
        ranks = self.ranks(3)
        for rank in ranks[1:]:
            rank.enter("torch.Tensor.backward", "train.py:12")
        ranks[0].enter("torch.randn", "train.py:11")
        self.assertEqual(self.sentence(ranks), "rank 0 is not in backward(), in which ranks 1 and 2 wait")

    def test_one_is_a_call_behind(self):
        """It waits, too, but in the collective call before."""
        ranks = self.ranks(3)
        for rank in ranks:
            rank.id += rank is ranks[2]
            id = rank.enter("torch.distributed.broadcast", "train.py:20")
            if rank is not ranks[2]:
                rank.leave(id)
                rank.enter("torch.distributed.all_reduce", "train.py:30")
        self.assertEqual(self.sentence(ranks), "rank 2 is not in all_reduce(), in which ranks 0 and 1 wait")

    def test_all_wait(self):
        ranks = self.ranks(2)
        for rank in ranks:
            rank.enter("torch.distributed.all_reduce", "train.py:30")
        self.assertEqual(self.sentence(ranks), "all 2 ranks wait in all_reduce()")

    def test_one_has_ended(self):
        ranks = self.ranks(2)
        ranks[0].enter("torch.distributed.all_reduce", "train.py:30")
        ranks[1].end()
        checker = self.watch()
        checker.wait_for(checker.out, "      rank 1: has ended")
        self.end(ranks[:1], checker, 1)

    def test_no_rank_waits(self):
        ranks = self.ranks(2)
        self.assertEqual(self.sentence(ranks), "no rank goes on, and none waits in a collective call")

    def test_many_ranks_are_few_lines(self):
        ranks = self.ranks(200)
        for rank in ranks:
            if rank is not ranks[77]:
                rank.enter("torch.distributed.all_reduce", "train.py:30")
        checker = self.watch()
        checker.wait_for(checker.out, "rank 77: has made no call")
        self.assertIn("rank 77 is not in all_reduce(), in which ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 and 183 more wait", checker.stdout())
        self.assertEqual(len(checker.stdout().splitlines()), 4)  # a blank one behind them
        self.end(ranks, checker, 1)

    def test_what_goes_on_or_has_ended_does_not_hang(self):
        for steps in (3, 6):
            live.write_loop(self.work / f"t{steps}", steps=steps)
            p = live.run("onlinecheck", f"t{steps}", "-i", self.invariants, "-o", "report", "--hang-after", "1", cwd=self.work)
            self.assertNotIn(b"goes on", p.stdout + p.stderr)
        live.write_loop(self.work / "killed", end=False).file.close()
        p = live.run("onlinecheck", "killed", "-i", self.invariants, "-o", "report", "--exit-on-idle", "2", cwd=self.work)
        self.assertEqual((p.returncode, p.stdout), (0, b""))  # nobody asked
        p = live.run("onlinecheck", "killed", "-i", self.invariants, "-o", "report", "--hang-after", "1", "--exit-on-idle", "2", cwd=self.work)
        self.assertEqual((p.returncode, p.stdout.count(b"the run does not go on")), (1, 1))


DEFAULT = ("0", "default_pg")
SECOND = 10**9


class Recorder(Case):
    """Dumps of PyTorch's flight recorder beside the traces."""

    def finding(self, ranks):
        checker = self.follow("trace", "-i", self.invariants, "-o", "report", "--hang-after", "1", "--json", "-v")
        checker.wait_for(checker.out, '"kind":"hang"')
        for rank in ranks:
            rank.end()
        self.assertEqual(checker.wait(), 1, checker.stderr())
        return json.loads(checker.out[0][1]), checker.stderr()

    def test_calls_that_return_before_they_end(self):
        """No rank is inside of a call: the trace alone does not tell who waits."""
        ranks = self.ranks(3)
        for i, rank in enumerate(ranks):
            rank.call("torch.randn", "train.py:22", step=5)
            dump(self.work / "trace" / f"nccl_trace_rank_{i}", [(DEFAULT, n, "all_reduce", "train.py:30") for n in range(1, 8 if i != 1 else 7)])
        finding, _ = self.finding(ranks)
        self.assertEqual(finding["sentence"], "rank 1 has not begun all_reduce() number 7 of default_pg, for which ranks 0 and 2 wait")
        self.assertEqual((finding["rank"], finding["at"]), (1, "train.py:22"))
        self.assertEqual(finding["flight"], {"group": "default_pg", "number": 7, "call": "all_reduce()", "at": "train.py:30", "ranks": [0, 2],
                                             "missing": [{"rank": 1, "number": 6, "call": "all_reduce()", "at": "train.py:30"}]})

    def test_beside_what_the_trace_tells(self):
        """The group in which a call was begun first; one rank has begun none, and one dump is damaged."""
        ranks = self.ranks(4)
        for rank in ranks[:3]:
            rank.enter("torch.distributed.all_reduce", "train.py:30")
        inner, folder = ("7", "undefined"), self.work / "trace"
        dump(folder / "comm_rank_0", [(DEFAULT, 1, "all_gather", None), (inner, 4, "broadcast", None)], protocol=4)
        dump(folder / "comm_rank_1", [(DEFAULT, 1, "all_gather", None), (inner, 3, "broadcast", None)])
        (folder / "comm_rank_2").write_text(json.dumps({"entries": []}))
        (folder / "comm_rank_3").write_bytes(b"\x80\x02cos\nsystem\n")
        checker = self.follow("trace", "-i", self.invariants, "-o", "report", "--hang-after", "1")
        checker.wait_for(checker.out, "flight recorder: rank 2 has not begun all_gather() number 1 of default_pg, for which ranks 0 and 1 wait\n")
        self.assertIn("rank 3 is not in all_reduce(), in which ranks 0, 1 and 2 wait;", checker.stdout())
        for rank in ranks:
            rank.end()
        self.assertEqual(checker.wait(), 1)
        self.assertIn("comm_rank_3: not read as a dump of the flight recorder: byte 2: an opcode that plain data has no need of", checker.stderr())

    def test_equal_numbers_tell_nothing(self):
        ranks = self.ranks(2)
        for i in range(2):
            dump(self.work / "trace" / f"nccl_trace_rank_{i}", [(DEFAULT, 3, "all_reduce", "train.py:30")])
        finding, _ = self.finding(ranks)
        self.assertNotIn("flight", finding)
        self.assertEqual(finding["sentence"], "no rank goes on, and none waits in a collective call")


class Afterwards(Case):
    """traincheck-check --hang-after: what a live check had said."""

    def check(self, seconds, *args, status=1):
        p = live.run("check", "trace", "-i", self.invariants, "-o", "report", "--overwrite", "-q", "--hang-after", seconds, *args, cwd=self.work)
        self.assertEqual(p.returncode, status, p.stderr.decode() + p.stdout.decode())
        return p.stdout.decode()

    def wait_once(self, ranks, seconds):
        """Rank 1 is late in step 5 by that; then all go on, to the end."""
        for rank in ranks:
            rank.call("torch.distributed.all_reduce", "train.py:30", step=4)
            rank.call("torch.randn", "train.py:22", step=5)
        waiting = [(rank, rank.enter("torch.distributed.all_reduce", "train.py:30", step=5)) for rank in ranks if rank is not ranks[1]]
        for rank in ranks:
            rank.pause += seconds * SECOND
        ranks[1].call("torch.distributed.all_reduce", "train.py:30", step=5)
        for rank, id in waiting:
            rank.leave(id)
        for rank in ranks:
            rank.call("torch.distributed.broadcast", "train.py:40", step=6)
            rank.end()

    def test_a_run_that_went_on(self):
        self.wait_once(self.ranks(3), 400)
        text = self.check(300)
        self.assertEqual(text, "train.py:22  rank 1 is not in all_reduce(), in which ranks 0 and 2 wait; nothing came for 400 s, in step 5\n"
                               "      ranks 0, 2: in all_reduce() at train.py:30\n      rank 1: behind randn() at train.py:22\n\n")
        finding = json.loads(self.check(300, "--json").splitlines()[0])
        self.assertEqual((finding["kind"], finding["finding"], finding["step"], finding["rank"]), ("hang", 1, 5, 1))
        self.assertEqual(self.check(300, "--exit-zero", status=3), text)
        self.assertEqual(self.check(500, status=3), "")  # it was none so long

    def test_a_run_that_was_killed(self):
        """Nothing says that it has ended: it stands still until now. It began an hour ago."""
        ranks = self.ranks(2, began=int((time.time() - 3600) * SECOND))
        for rank in ranks:
            rank.call("torch.randn", "train.py:22", step=1)
        ranks[0].enter("torch.distributed.all_reduce", "train.py:30", step=1)
        dump(self.work / "trace" / "nccl_trace_rank_0", [(DEFAULT, 1, "all_reduce", "train.py:30")])
        dump(self.work / "trace" / "nccl_trace_rank_1", [])
        text = self.check(300)
        self.assertRegex(text, r"rank 1 is not in all_reduce\(\), in which rank 0 waits; nothing has come for 3[56]\d\d s, in step 1\n")
        self.assertIn("flight recorder: rank 1 has not begun all_reduce() number 1 of default_pg, for which rank 0 waits at train.py:30\n", text)
        self.assertEqual(self.check(4000, status=3), "")

    def test_the_launcher_tells_how_long(self):
        """Ranks are killed, and what started them ends with them: what comes after is no standstill."""
        ranks = self.ranks(2)
        launcher = Rank(self.work / "trace", -1, 1)
        ranks[0].enter("torch.distributed.all_reduce", "train.py:30", step=1)
        launcher.pause = 600 * SECOND
        launcher.end()
        text = self.check(300)
        self.assertIn("; nothing came for 600 s", text)
        self.assertEqual(text.count("rank 1 is not in all_reduce(), in which rank 0 waits"), 1)

    def test_each_standstill_is_told(self):
        ranks = self.ranks(2)
        for seconds in (40, 2, 50):
            ranks[0].call("torch.distributed.all_reduce", "train.py:30", step=seconds)
            for rank in ranks:
                rank.pause += seconds * SECOND
        for rank in ranks:
            rank.end()
        said = [json.loads(line) for line in self.check(10, "--json").splitlines()]
        self.assertEqual([(f["finding"], f["when"]) for f in said if f["kind"] == "hang"],
                         [(1, "nothing came for 40 s"), (2, "nothing came for 50 s")])

    def test_it_is_that_of_a_live_check(self):
        ranks = self.ranks(3)
        for rank in ranks:
            rank.call("torch.distributed.all_reduce", "train.py:30", step=4)
        waiting = [(rank, rank.enter("torch.distributed.all_reduce", "train.py:30", step=5)) for rank in ranks[1:]]
        checker = self.follow("trace", "-i", self.invariants, "-o", "live", "--json", "--hang-after", "1")
        checker.wait_for(checker.out, '"kind":"hang"')
        for rank in ranks:
            rank.pause += 3 * SECOND
        ranks[0].call("torch.distributed.all_reduce", "train.py:30", step=5)
        for rank, id in waiting:
            rank.leave(id)
        for rank in ranks:
            rank.end()
        self.assertEqual(checker.wait(), 1)
        live_, afterwards = (json.loads(text.splitlines()[0]) for text in (checker.stdout(), self.check(1, "--json")))
        self.assertEqual({**live_, "when": afterwards["when"]}, afterwards)

    def test_a_healthy_run_has_none(self):
        live.write_loop(self.work / "trace")
        self.assertEqual(self.check(1, status=0), "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
