# SPDX-License-Identifier: Apache-2.0
"""Runs of training loops written by hand, checked by what was learned from a healthy one.

usage of the tests here: test_X.py --bin BUILD/bin [TEST...]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "relations"))

from trace_writer import Trace  # noqa: E402

BIN = None


def run(tool, *args, cwd=None, code=None):
    """A tool; its exit status must be code, if one is given."""
    p = subprocess.run([str(BIN / f"traincheck-{tool}"), *map(str, args)], capture_output=True, text=True,
                       cwd=cwd, stdin=subprocess.DEVNULL, timeout=120)
    if code is not None and p.returncode != code:
        raise AssertionError(f"{tool} {args}: exit status {p.returncode}, not {code}\n{p.stdout}{p.stderr}")
    return p


def write_run(folder, broken=(), steps=6, at="train.py", name="model", exit=0, **process):
    """A loop with evaluation; broken: 'zero_grad', 'frozen', 'eval', each from step 3 on."""
    t = Trace(folder, **process)
    model = t.model(name, {"w": {}, "b": {}, "mean": {"kind": "buffer"}})
    t.stage = "training"
    optimizer = t.optimizer(model)
    for i in range(steps):
        now = broken if i >= 3 else ()
        if "zero_grad" not in now:
            t.zero_grad(optimizer, at=f"{at}:10")
        t.forward(model, changes=["mean"], at=f"{at}:11")
        t.backward(model, at=f"{at}:12")
        t.step(optimizer, changes=[] if "frozen" in now else None, at=f"{at}:13")
        t.cut()
        if i % 2:
            for _ in range(2):
                t.evaluate(model)
            t.cut("stage")
    t.end(exit)


def json_lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").split("\n")[:-1]]


def page_data(report):
    """What report.html shows: its tables (src/report/page_table.h) as lists of objects."""
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', (report / "report.html").read_text(encoding="utf-8"), re.S)[1])
    for name, table in data.items():
        if isinstance(table, dict) and "rows" in table:
            data[name] = [{key.lstrip("@"): data["pool"][cell] if key.startswith("@") else cell
                           for key, cell in zip(table["keys"], row) if cell is not None} for row in table["rows"]]
    return data


class Case(unittest.TestCase):
    """Works in an empty folder; in it are run (healthy), bad and invariants.jsonl."""

    BROKEN = ("zero_grad", "frozen")

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(os.path.realpath(scratch.name))
        write_run(self.work / "run")
        write_run(self.work / "bad", broken=self.BROKEN)
        run("infer", "-q", "run", "-o", "invariants.jsonl", cwd=self.work, code=0)

    def check(self, *args, trace="bad", code=1):
        """The output folder, and what the tool said. invariants.jsonl, or those learned for this trace."""
        own = self.work / f"{trace}.jsonl"
        p = run("check", trace, "-i", own if own.exists() else "invariants.jsonl", "-o", f"{trace}.report", *args,
                cwd=self.work, code=code)
        return self.work / f"{trace}.report", p

    def write_ranks(self, *broken):
        """ranks, in which process i is broken so, and what was learned from a healthy run of as many."""
        for i, how in enumerate(broken):
            write_run(self.work / "ranks_run", rank=i, world=len(broken), pid=i)
            write_run(self.work / "ranks", broken=how, rank=i, world=len(broken), pid=i)
        run("infer", "-q", "ranks_run", "-o", "ranks.jsonl", cwd=self.work, code=0)


    def write_settings(self):
        """NAME and NAME.jsonl, of which 'rate' and 'both' call f() with another number, and 'both' with another flag, too."""
        for name, rate, fused in (("same", 0.1, True), ("rate", 0.2, True), ("both", 0.2, False)):
            t = Trace(self.work / name)
            model = t.net("w")
            optimizer = t.optimizer(model)
            for _ in range(4):
                t.zero_grad(optimizer)
                t.forward(model)
                t.backward(model)
                t.op("f", args={"fused": fused}, at="train.py:7")
                t.op("g", args={"rate": rate}, at="train.py:8")
                t.step(optimizer)
                t.cut()
            t.end()
            run("infer", "-q", "--specific", "--enable-relation", "APIArg/value", "same", "-o", f"{name}.jsonl", cwd=self.work, code=0)


def main():
    global BIN
    argv = sys.argv[1:]
    if argv[:1] != ["--bin"] or len(argv) < 2:
        sys.exit(__doc__)
    BIN = pathlib.Path(argv[1]).resolve()
    unittest.main(module="__main__", argv=[sys.argv[0], *argv[2:]])
