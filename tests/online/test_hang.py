#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""traincheck-onlinecheck --hang-after: which ranks wait in which call, and for whom.

usage: test_hang.py --bin BUILD/bin [TEST...]
"""

import argparse
import json
import pathlib
import sys
import unittest

import live

APIS = {"torch.distributed.all_reduce": "collective", "torch.distributed.broadcast": "collective", "torch.Tensor.backward": "backward",
        "torch.randn": "function"}


class Rank:
    """A trace of one rank, call by call; what it has written is on the disk."""

    def __init__(self, folder, rank, world):
        folder.mkdir(exist_ok=True)
        self.file, self.id = (folder / f"trace_host_r{rank}_p{100 + rank}.jsonl").open("w", buffering=1), 0
        self.say(type="process", schema=5, pid=100 + rank, role="main", host="host", rank=rank, world_size=world, unix_ns=10**18, mode="full",
                 packages={"torch": "2.13.0"}, argv=["train.py"])
        for fn, role in APIS.items():
            self.say(type="api", fn=fn, role=role)

    def say(self, **record):
        self.file.write(json.dumps(record) + "\n")

    def enter(self, fn, at, step=0):
        self.id += 1
        self.say(type="call", id=self.id, fn=fn, t=10 * self.id, step=step, stage="training", by="user", at=at)
        return self.id

    def leave(self, id):
        self.say(type="return", id=id, t=10 * self.id + 5)

    def call(self, fn, at, step=0):
        self.leave(self.enter(fn, at, step))

    def end(self):
        self.say(type="end", t=10 * self.id + 9, events=1, dropped=0, exit=0)
        self.file.close()


class Hang(live.Case):
    def setUp(self):
        super().setUp()
        self.invariants = self.learn_loop()

    def ranks(self, n):
        ranks = [Rank(self.work / "trace", i, n) for i in range(n)]
        self.addCleanup(lambda: [rank.file.close() for rank in ranks])
        return ranks

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


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
