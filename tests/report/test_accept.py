# SPDX-License-Identifier: Apache-2.0
"""traincheck-check --accept: what is meant stops to accuse, what is not goes on to.

usage: test_accept.py --bin BUILD/bin [TEST...]
"""

import json
import re

import runs
from trace_writer import Trace


class Accept(runs.Case):
    def setUp(self):
        super().setUp()
        for name in ("a", "b"):
            self.write(name)
        runs.run("infer", "-q", "--specific", "a", "b", "-o", "own.jsonl", cwd=self.work, code=0)

    def write(self, name, rate=0.1, clears=True, calls=("f", "g"), exit=0):
        t = Trace(self.work / name)
        model = t.net("w")
        optimizer = t.optimizer(model)
        for _ in range(5):
            if clears:
                t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            for i, fn in enumerate(calls):
                t.op(fn, args={"rate": rate}, at=f"train.py:{20 + i}")
            t.step(optimizer)
            t.cut()
        t.end(exit)

    def judge(self, name, *args, code=1):
        return runs.run("check", name, "-i", "own.jsonl", "-o", f"{name}.report", "--overwrite", *args, cwd=self.work, code=code)

    def lines(self):
        return (self.work / "own.jsonl").read_text().splitlines()

    def broken(self, name):
        return {v["id"] for v in runs.json_lines(self.work / f"{name}.report" / "violations.jsonl")}

    def test_what_is_accepted_passes_and_the_rest_stays_as_it_is(self):
        self.write("rate", rate=0.2)
        self.judge("rate")
        broken, before = self.broken("rate"), self.lines()
        p = self.judge("rate", "--accept", "--note", "another rate, PR 312", code=0)
        self.assertRegex(p.stderr, rf"accepted in own.jsonl: {len(broken)} invariants say what this run shows, 0 that do not hold")
        after = self.lines()
        header = json.loads(after[0])
        self.assertEqual([(e["note"], e["runs"], e["replaced"], e["removed"]) for e in header["accepted"]],
                         [("another rate, PR 312", ["rate"], len(broken), 0)])
        self.assertRegex(header["accepted"][0]["date"], r"^\d{4}-\d\d-\d\d$")
        mine = [x for x in map(json.loads, after) if "accepted" in x and "id" in x]
        self.assertEqual([x["accepted"] for x in mine], [1] * len(broken))
        self.assertEqual({x["params"][1]["is"] for x in mine}, {0.2})
        self.assertEqual([x for x in before if '"relation"' in x and json.loads(x)["id"] not in broken],
                         [x for x in after if '"relation"' in x and "accepted" not in json.loads(x)])
        self.judge("rate", code=0)
        self.judge("a")  # the old rate is another one now

    def test_a_bug_is_told_after_an_accepted_change(self):
        self.write("rate", rate=0.2)
        self.judge("rate", "--accept", code=0)
        self.write("bug", rate=0.2, clears=False)
        self.judge("bug")
        self.assertTrue(any(x.startswith("EC-") for x in self.broken("bug")))

    def test_what_does_not_hold_any_more_goes(self):
        self.write("less", calls=("f",))
        p = self.judge("less", "--accept", code=0)
        self.assertGreater(int(re.search(r", (\d+) that do", p.stderr)[1]), 0)
        self.judge("less", code=0)
        self.assertNotIn("PR", json.dumps(json.loads(self.lines()[0])["accepted"]))

    def test_accepts_add_up(self):
        for i, rate in enumerate((0.2, 0.3), 1):
            self.write(f"rate{i}", rate=rate)
            self.judge(f"rate{i}", "--accept", "--note", f"step {i}", code=0)
        self.assertEqual([e["note"] for e in json.loads(self.lines()[0])["accepted"]], ["step 1", "step 2"])
        self.assertEqual({x.get("accepted") for x in map(json.loads, self.lines()) if "id" in x}, {None, 2})

    def test_what_cannot_be_accepted(self):
        self.write("same")
        before = self.lines()
        self.assertIn("nothing broke: there is nothing to accept", self.judge("same", "--accept", code=0).stderr)
        self.write("failed", rate=0.2, exit=1)
        self.assertIn("the run itself failed, so nothing of it is accepted", self.judge("failed", "--accept", code=2).stderr)
        p = runs.run("check", "same", "-i", "@all", "--accept", cwd=self.work, code=2)
        self.assertIn("--accept writes into one file of invariants", p.stderr)
        p = runs.run("check", "same", "-i", "own.jsonl", "--note", "x", cwd=self.work, code=2)
        self.assertIn("--note without --accept", p.stderr)
        self.assertEqual(self.lines(), before)


if __name__ == "__main__":
    runs.main()
