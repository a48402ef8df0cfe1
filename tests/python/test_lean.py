# SPDX-License-Identifier: Apache-2.0
"""A lean set: what a run traced with it records, and that it is judged as a full trace is."""
import json
import subprocess
import unittest

from traced import BIN, Warm

SCRIPT = """
import sys, torch
from torch import nn
torch.manual_seed(int(sys.argv[1]))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(8, 1)
    def forward(self, x):
        h = self.body(x)
        for _ in range(6):
            h = torch.softmax(h, -1) * 0.5 + h.clamp(-3, 3)
        return self.head(h)
def score(output, target):
    return ((output - target) ** 2).mean()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for step in range(12):
    batch = torch.randperm(32)[:8]
    optimizer.zero_grad()
    score(net(x[batch]), y[batch]).backward()
    optimizer.step()
"""
BUG = SCRIPT.replace("    optimizer.zero_grad()\n", "")


class Lean(Warm):
    def tool(self, name, *args, code=0):
        done = subprocess.run([BIN / f"traincheck-{name}", "-j1", *args], cwd=self.work, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def run_script(self, text, folder, seed, *options):
        run = self.trace_script(self.script(text), str(seed), options=options, folder=folder)
        self.assertEqual((run.code, run.err), (0, ""))
        return run

    def ids(self, file):
        documents = map(json.loads, (self.work / file).read_text().splitlines())
        return {d["id"] for d in documents if "id" in d}

    def verdicts(self, trace, code=0):
        """{verdict: ids} of a check by the lean set."""
        report = self.work / f"of-{trace}"
        self.tool("check", trace, "-i", "lean.jsonl", "-o", report, code=code)
        verdicts = "failed", "passed", "not_triggered", "unchecked"
        return {v: {json.loads(line)["id"] for line in (report / f"{v}.log").read_text().splitlines()} for v in verdicts}

    def learn(self):
        """The set, and what it leaves out."""
        full = [self.run_script(SCRIPT, name, seed) for name, seed in (("full1", 1), ("full2", 2))]
        done = self.tool("infer", "--specific", "--lean", "full1", "full2", "-o", "lean.jsonl")
        self.assertRegex(done.stderr, r"note: a run traced with these invariants records \d+ % of the records: \d+ of \d+ APIs are left out")
        header = json.loads((self.work / "lean.jsonl").read_text().splitlines()[0])
        return full[0], header["lean"]["left_out"]

    def test_what_is_left_out_is_not_recorded_and_all_else_is_judged_as_in_a_full_trace(self):
        full, left_out = self.learn()
        self.assertIn("torch.nn.functional.softmax", left_out)
        for name, seed in ("lean1", 1), ("lean2", 2):
            run = self.run_script(SCRIPT, name, seed, "-i", self.work / "lean.jsonl")
            self.assertEqual(run.records()[0]["left_out"], left_out)
            called = {r["fn"] for r in self.calls(run)}
            self.assertFalse(called & {*left_out, "torch.softmax"})
            self.assertLess(len(run.records()), 0.6 * len(full.records()))
            self.assertEqual({r["fn"] for r in self.calls(full)} - called, set(left_out))
        self.run_script(SCRIPT, "full3", 3)
        self.run_script(SCRIPT, "lean3", 3, "-i", self.work / "lean.jsonl")
        judged = self.verdicts("lean3")
        self.assertEqual(judged, self.verdicts("full3"))
        self.assertEqual((judged["failed"], judged["unchecked"]), (set(), set()))
        # A lean trace has what was learned of full ones.
        self.tool("infer", "--specific", "lean1", "lean2", "-o", "anew.jsonl")
        self.assertEqual(self.ids("anew.jsonl"), self.ids("lean.jsonl"))
        self.run_script(BUG, "bug", 3, "-i", self.work / "lean.jsonl")
        self.assertTrue(self.verdicts("bug", code=1)["failed"])

    def test_nothing_is_concluded_from_what_is_left_out(self):
        _, left_out = self.learn()
        self.run_script(SCRIPT, "lean1", 1, "-i", self.work / "lean.jsonl")
        self.tool("infer", "--specific", "full1", "full2", "-o", "all.jsonl")
        self.tool("check", "lean1", "-i", "all.jsonl", "-o", "report")
        self.assertEqual((self.work / "report" / "failed.log").read_text(), "")
        self.assertIn("learned from runs with all calls", (self.work / "report" / "unchecked.log").read_text())
        done = self.tool("infer", "lean1", "-o", "none.jsonl", code=2)
        self.assertIn("lean1 was traced by collect -i with a lean set", done.stderr)
        # The file says what is left out of runs that are added.
        self.run_script(SCRIPT, "full3", 3)
        self.tool("infer", "--specific", "--add", "full3", "-o", "lean.jsonl")
        header = json.loads((self.work / "lean.jsonl").read_text().splitlines()[0])
        self.assertEqual(header["lean"]["left_out"], left_out)
        self.assertEqual(self.verdicts("full3")["failed"], set())


if __name__ == "__main__":
    unittest.main()
