"""Loops over callables of each kind that tracing redirects; run by ../calls.py.

They stand inside of a root's forward, as calls in training do, but for one that stands beside it. What is
called does next to nothing, and what tracing adds is a difference of small numbers: the fastest of many
short loops is taken.

With BENCH_COUNT the program runs under callgrind, which has to dump the counters of the thread that
calls getppid(), which is exact, and those of all when it is asked from outside. The last two of four
dumps are of one loop: of the thread that calls, and of the others, with all that is written of it.
"""
import json
import os
import subprocess
import time

import numpy
import torch
import torch.nn.functional as F

# More calls of one place in one step are not traced, and of one function of the script even fewer.
ROUNDS, CALLS, CALLS_OF_SCRIPT = 60, 250, 30
FEW = 5
NUMPY, SCRIPT, BESIDE = "function of numpy: numpy.mean", "function of the script", "operator beside forwards: x + x"
WRITE_S = 0.7  # a frame is packed, and the writing thread has nothing left to do


def own(x):
    return x


def loops():
    """{kind: a function that makes so many calls}"""
    x, row, array = torch.zeros(4), torch.zeros(1, 4), numpy.zeros(4)
    identity, linear = torch.nn.Identity(), torch.nn.Linear(4, 4)

    def function(calls):
        for _ in range(calls):
            F.dropout(x, 0.0, False)

    def builtin(calls):
        for _ in range(calls):
            torch.ones_like(x)

    def method(calls):
        for _ in range(calls):
            x.zero_()

    def layer(calls):
        for _ in range(calls):
            identity(x)

    def layer_and_function(calls):
        for _ in range(calls):
            linear(row)

    def operator(calls):
        for _ in range(calls):
            x + x

    def operator_as_function(calls):
        for _ in range(calls):
            torch.neg(x)

    def of_numpy(calls):
        for _ in range(calls):
            numpy.mean(array)

    def python(calls):
        for _ in range(calls):
            own(x)

    return {"Python function: F.dropout": function, "builtin: torch.ones_like": builtin,
            "method: Tensor.zero_": method, "layer: nn.Identity": layer,
            "layer with a function: nn.Linear": layer_and_function,
            "operator: x + x": operator, BESIDE: operator, "operator: torch.neg": operator_as_function,
            NUMPY: of_numpy, SCRIPT: python}


def n_calls(kind):
    return CALLS_OF_SCRIPT if kind in (NUMPY, SCRIPT) else CALLS


def time_loop(call, calls):
    begin = time.perf_counter_ns()
    call(calls)
    return time.perf_counter_ns() - begin


def control(option):
    subprocess.run(["callgrind_control", option, str(os.getpid())], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def count_loop(call, calls):
    time.sleep(WRITE_S)
    control("--dump")
    os.getppid()
    call(calls)
    os.getppid()
    time.sleep(WRITE_S)
    control("--dump")


class Root(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, work):
        work()
        return self.weight.sum()


def nothing():
    pass


def make_step(root, optimizer, kind="", work=nothing):
    if kind == BESIDE:
        work()
    optimizer.zero_grad()
    root(nothing if kind == BESIDE else work).backward()
    optimizer.step()


def measure_times(root, optimizer):
    """{kind: ns a call}"""
    times = {}
    for _ in range(ROUNDS):
        for kind, call in loops().items():
            ns = times.setdefault(kind, [])
            make_step(root, optimizer, kind, lambda: ns.append(time_loop(call, n_calls(kind)) / n_calls(kind)))
    return {kind: min(ns) for kind, ns in times.items()}


def count(root, optimizer):
    """{kind: how many calls each of its dumps is of}; of the first nothing is known yet."""
    counted = {}
    control("--instr=on")
    for kind, call in loops().items():
        counted[kind] = FEW, FEW, n_calls(kind)
        for calls in counted[kind]:
            make_step(root, optimizer, kind, lambda: count_loop(call, calls))
    return counted


def main():
    torch.set_num_threads(1)
    root = Root()
    optimizer = torch.optim.SGD(root.parameters(), lr=0.1)
    make_step(root, optimizer)  # sampling traces the first step and leaves out those that follow
    make_step(root, optimizer)
    figures = (count if os.environ.get("BENCH_COUNT") else measure_times)(root, optimizer)
    with open(os.environ["BENCH_OUT"], "w", encoding="utf-8") as out:
        json.dump(figures, out)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
