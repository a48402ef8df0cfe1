#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What looks at variables that lie elsewhere than on the CPU ask of their device, per step: looks, operators, copies, bytes.

usage: TRAINCHECK_TEST_ELSEWHERE=1 traincheck-collect -q --overwrite -o DIR benchmarks/collect/looks.py PROGRAM     cnn gpt resnet lstm vae
       TRAINCHECK_TEST_ELSEWHERE=cuda LD_LIBRARY_PATH=build/tests/python/standin traincheck-collect ... PROGRAM     what the kernel does

No accelerator is needed: the variable has the agent take the CPU for one. Operators are those of torch that work on memory, as its
profiler counts them on the CPU; on a device some are one launch for many tensors (torch.cat, torch._foreach_norm). Nobody waits for a
copy. With `cuda` a stand-in for its driver counts what is called of it. BENCH_STEPS is the number of steps (default 20). With --content off on the collector variables are asked and `same` and `finite`.
"""

import collections
import os
import pathlib
import runpy
import sys
import tempfile

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from traincheck_agent import device, policy, values  # there while the collector traces

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
WARM_UP = 3
# Of these no memory is read or written.
VIEWS = {f"aten::{name}" for name in (
    "view", "detach", "reshape", "slice", "select", "unsqueeze", "expand", "as_strided", "empty", "resolve_conj", "resolve_neg",
    "contiguous", "_reshape_alias", "alias", "stack", "to", "lift_fresh", "squeeze", "narrow", "item", "_local_scalar_dense", "result_type")}


class Counts:
    def __init__(self):
        self.n, self.steps, self.first, self.last = collections.Counter(), 0, {}, {}
        self.driver = runpy.run_path(str(TESTS / "standin_kernel.py"))["counts"] if os.environ["TRAINCHECK_TEST_ELSEWHERE"] == "cuda" else dict

    def step(self, *_):
        self.steps += 1
        self.last = self.driver()
        if self.steps == WARM_UP:
            self.n.clear()
            self.first = self.last

    def look(self, asked, function=policy.look):
        with torch.autograd.profiler.profile() as profile:
            answers = function(asked)
        self.n["operators"] += sum(e.cpu_parent is None and e.name.startswith("aten::") and e.name not in VIEWS
                                   for e in profile.function_events)
        self.n["looks"] += 1
        self.n["questions"] += len(asked)
        return answers

    def to_host(self, answers, function=device._to_host):
        self.n["copies"] += 1
        self.n["bytes"] += answers.size
        return function(answers)

    def read(self, tensor, function=values._read):
        self.n["copies of a single tensor"] += 1
        return function(tensor)

    def report(self, name):
        n_steps = max(self.steps - WARM_UP, 1)
        figures = ", ".join(f"{self.n[key] / n_steps:.1f} {key}" for key in (
            "looks", "questions", "operators", "copies", "bytes", "copies of a single tensor"))
        figures += "".join(f", {(self.last[key] - self.first[key]) / n_steps:.1f} {key}" for key in self.last)
        print(f"{name}: per step {figures}, {n_steps} steps", file=sys.stderr)


def main():
    if len(sys.argv) != 2 or not (PROGRAMS / f"{sys.argv[1]}.py").exists():
        sys.exit(__doc__)
    name, counts = sys.argv[1], Counts()
    policy.look, device._to_host, values._read = counts.look, counts.to_host, counts.read
    register_optimizer_step_post_hook(counts.step)
    sys.path.insert(0, str(PROGRAMS))
    with tempfile.TemporaryDirectory() as work:
        os.environ.update(BENCH_OUT=f"{work}/figures.json", BENCH_BEGIN="0", BENCH_STEPS=os.environ.get("BENCH_STEPS", "20"))
        sys.argv = [str(PROGRAMS / f"{name}.py")]
        runpy.run_path(sys.argv[0], run_name="__main__")
    counts.report(name)


main()
