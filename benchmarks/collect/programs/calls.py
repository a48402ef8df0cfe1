"""Loops over callables of each kind that tracing redirects; run by ../calls.py.

They stand inside of a root's forward, as calls in training do. What is called does next to nothing,
and what tracing adds is a difference of small numbers: the fastest of many short loops is taken.
"""
import json
import os
import time

import torch
import torch.nn.functional as F

ROUNDS, CALLS = 60, 300


def own(x):
    return x


def loops():
    """{kind: a function that makes CALLS calls}"""
    x, row = torch.zeros(4), torch.zeros(1, 4)
    identity, linear = torch.nn.Identity(), torch.nn.Linear(4, 4)

    def function():
        for _ in range(CALLS):
            F.dropout(x, 0.0, False)

    def builtin():
        for _ in range(CALLS):
            torch.ones_like(x)

    def method():
        for _ in range(CALLS):
            x.zero_()

    def layer():
        for _ in range(CALLS):
            identity(x)

    def layer_and_function():
        for _ in range(CALLS):
            linear(row)

    def untraced():
        for _ in range(CALLS):
            torch.neg(x)

    def python():
        for _ in range(CALLS):
            own(x)

    return {"Python function: F.dropout": function, "builtin: torch.ones_like": builtin,
            "method: Tensor.zero_": method, "layer: nn.Identity": layer,
            "layer with a function: nn.Linear": layer_and_function,
            "no API: torch.neg": untraced, "no API: function of the script": python}


class Root(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, call):
        begin = time.perf_counter_ns()
        call()
        self.ns = time.perf_counter_ns() - begin
        return self.weight.sum()


def make_step(root, optimizer):
    optimizer.zero_grad()
    root(lambda: None).backward()
    optimizer.step()


def main():
    torch.set_num_threads(1)
    root = Root()
    optimizer = torch.optim.SGD(root.parameters(), lr=0.1)
    make_step(root, optimizer)  # sampling traces the first step and leaves out those that follow
    make_step(root, optimizer)
    best = {}
    for _ in range(ROUNDS):
        optimizer.zero_grad()
        for kind, call in loops().items():
            root(call)
            best[kind] = min(best.get(kind, root.ns), root.ns)
    with open(os.environ["BENCH_OUT"], "w", encoding="utf-8") as out:
        json.dump({kind: ns / CALLS for kind, ns in best.items()}, out)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
