# SPDX-License-Identifier: Apache-2.0
"""What the tests of captured plans share: how a script is captured, and the lines of its plan by kind."""
import json

from traced import BIN, Warm

HEADER = """
import os, sys, torch, torch.nn as nn, torch.nn.functional as F, torch.distributed as dist
"""

STEPS = """
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


class Plan:
    """The lines of a plan by kind."""

    def __init__(self, path):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.head = lines[0]
        self.ops = [o for o in lines if "op" in o]
        self.inits = {o["name"]: o for o in lines if "init" in o}
        self.consts = {o["const"]: o for o in lines if "const" in o}
        self.results = {o["result"]: o for o in lines if "result" in o}

    def named(self, name):
        return [o for o in self.ops if o["op"].rpartition(".")[0] == name or o["op"] == name]

    def names(self):
        return [o["op"] for o in self.ops]


class PlanCase(Warm):
    def plan(self, text, *options, args=(), folder="plan", code=0, env=None):
        command = [BIN / "traincheck-collect", "--python", self.python, "--plan", self.work / folder, *options]
        run = self.execute([*command, self.script(text), *args], self.work / folder, env)
        self.assertEqual(run.code, code, run.err + run.said)
        return run

    def read(self, folder="plan"):
        return [Plan(path) for path in sorted((self.work / folder).glob("plan-*.jsonl"))]

    def line_of(self, text, mark):
        return next(n for n, line in enumerate(text.splitlines(), 1) if mark in line)
