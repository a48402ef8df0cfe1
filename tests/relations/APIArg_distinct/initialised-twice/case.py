# SPDX-License-Identifier: Apache-2.0
"""The second pass over the model initialises what the first one had initialised."""
from trace_writer import Trace

INIT = ("torch.nn.init.kaiming_uniform_", "torch.nn.init.zeros_")


def train(folder, passes=1, cuts=False):
    t = Trace(folder)
    for _ in range(passes):
        for i, fn in enumerate(INIT):
            t.op(fn, role="init", at=f"train.py:{60 + i}", args={"tensor": t.tensor(4, 4, id=500 + i)})
        if cuts:
            t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, passes=2, cuts=True)


def broken(folder):
    train(folder, passes=2)
