# SPDX-License-Identifier: Apache-2.0
"""Runs that are compared: a small script, its lines, and what they call."""

import hashlib
import json
import pathlib

import runs

SCRIPT = """import torch
torch.manual_seed(0)
for i in range(6):
    optimizer.zero_grad()
    loss = model(x)
    loss.backward()
    optimizer.step()"""
APIS = {"torch.optim.Optimizer.zero_grad": "zero_grad", "torch.Tensor.backward": "backward", "torch.optim.Optimizer.step": "step",
        "torch.nn.functional.mse_loss": "function"}


class Run:
    """A trace as it is written: call() by call(), cut() after each step."""

    def __init__(self, folder, script=SCRIPT, at="train.py", argv=(), **process):
        pathlib.Path(folder).mkdir()
        self.file = open(pathlib.Path(folder, "trace_1.jsonl"), "w", encoding="utf-8")
        self.at, self.id, self.step, self.stage = at, 0, 0, "init"
        self.write(type="process", schema=6, pid=1, role="main", packages={"torch": "2.13"}, argv=["train.py", *argv],
                   content="batches", digest="nh64", mode="full", operators=True, **process)
        if script is not None:
            self.write(type="source", at=at, digest=hashlib.sha256(script.encode()).hexdigest()[:16], text=script + "\n")
        for fn, role in APIS.items():
            self.write(type="api", fn=fn, role=role)

    def write(self, /, **record):
        self.file.write(json.dumps(record) + "\n")

    def variable(self, serial, data, **more):
        self.write(type="var", var=serial, t=self.id, attrs={"data": f"{data:016x}"}, **more)

    def call(self, fn, line, value=None, changes=(), /, **fields):
        self.id += 1
        self.write(type="call", id=self.id, fn=fn, t=2 * self.id, step=self.step, stage=self.stage, by="user", at=f"{self.at}:{line}", **fields)
        for serial, data in changes:
            self.variable(serial, data, cause=self.id)
        self.write(type="return", id=self.id, t=2 * self.id + 1, value=value)

    def cut(self):
        self.write(type="step", step=self.step, t=2 * self.id + 1, stage=self.stage, why="data")
        self.step += self.stage == "training"
        self.stage = "training"

    def end(self):
        self.write(type="end", t=2 * self.id + 2, events=1, dropped=0, exit=0)
        self.file.close()


def scalar(value):
    return {"tensor": "Tensor", "id": 7, "shape": [], "dtype": "float32", **({} if value is None else {"value": value})}


def write(folder, losses, weight=0, zero_grad=4, name="w", n_names=1, more=(), lines=(5, 6, 7), **run):
    """A run: zero_grad is the line that calls it, or None; more: calls of each step, (fn, line, arguments)."""
    r = Run(folder, **run)
    for i in range(n_names):
        r.variable(100 + i, i, name=f"{name}{i or ''}", kind="Parameter")
    r.cut()
    for i, loss in enumerate(losses):
        if zero_grad:
            r.call("torch.optim.Optimizer.zero_grad", zero_grad)
        for fn, line, args in more:
            r.call(fn, line, args=args)
        r.call("torch.nn.functional.mse_loss", lines[0], scalar(loss))
        r.call("torch.Tensor.backward", lines[1], self=scalar(loss))
        changes = [(100 + k, (k << 32) + i + (weight if i else 0) + 1) for k in range(n_names)]
        r.call("torch.optim.Optimizer.step", lines[2], None, changes)
        r.cut()
    r.end()


def page(folder, *more, run="run", against="healthy"):
    """report.html of a comparison."""
    runs.run("check", run, "--against", against, "-o", "report", "-q", *more, cwd=folder)
    return pathlib.Path(folder, "report", "report.html")
