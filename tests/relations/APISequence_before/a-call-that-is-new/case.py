# SPDX-License-Identifier: Apache-2.0
"""What the script calls in its steps, and what a model calls in its forward: a call that no healthy run made there is reported, at its own line,
though the runs know it from elsewhere."""
from trace_writer import FORWARD, Trace

OPTIONS = ["--specific"]


def op(t, name):
    t.op(f"torch.{name}", value=t.tensor(4), at="train.py:20", here="net.py:5", args={"input": t.tensor(4)})


def train(folder, inside=("relu", "exp"), before=("log",)):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        t.enter(FORWARD, at="train.py:11", self={"object": "__main__.Net", "id": model["id"], "role": "root"})
        for name in inside:
            op(t, name)
        t.leave()
        for name in before:
            op(t, name)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, inside=("relu", "exp", "log"), before=("log", "softmax"))
