# SPDX-License-Identifier: Apache-2.0
"""What is split has more pieces from turn to turn; a run that ends early never sees the third. In the broken run another call makes them."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def train(folder, most=12, api="split"):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for n in range(1, most + 1):
        parts = [t.tensor(4, dtype="int64") for _ in range(n)]
        t.op(f"torch.Tensor.{api}", role="operator", at="train.py:20", value=parts, self=t.tensor(4 * n, dtype="int64"))
        for part in parts:
            for _ in range(1 + n % 2):
                t.op("torch.Tensor.__getitem__", role="operator", at="train.py:21", value=t.tensor(4, 3), self=t.tensor(20, 3),
                     args={"index": part})
            t.train_step(model, optimizer)
            t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, most=2)


def broken(folder):
    train(folder, api="chunk")
