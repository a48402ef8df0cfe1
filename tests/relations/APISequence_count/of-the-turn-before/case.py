# SPDX-License-Identifier: Apache-2.0
"""A loop computes twice what ends an episode, and keeps what the turn before has computed; in the broken run it keeps what this one has.
So with two losses of one function, which other calls stand between: another one is weighted."""
from trace_writer import Trace

OPTIONS = ["--specific"]
KEEP, DONE, LOSS, MUL = "torch.Tensor.__setitem__", "torch.Tensor.float", "torch.mse_loss", "torch.Tensor.mul"


def train(folder, keeps_newest=False, weighs_first=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    before = None
    for _ in range(5):
        kept = t.tensor(4)
        for _ in range(3):
            done = t.tensor(4)
            t.op(DONE, role="operator", at="train.py:20", value=done, self=t.tensor(4))
            if before:
                t.op(KEEP, role="operator", at="train.py:21", self=kept,
                     args={"index": 1, "value": done if keeps_newest else before})
            before = done
        first, second = t.tensor(), t.tensor()
        t.op(LOSS, at="train.py:22", value=first, args={"input": t.tensor(4)})
        t.op("torch.Tensor.detach", role="operator", at="train.py:23", value=t.tensor(4), self=t.tensor(4))
        t.op(LOSS, at="train.py:24", value=second, args={"input": t.tensor(4)})
        t.op(MUL, role="operator", at="train.py:25", value=t.tensor(), self=first if weighs_first else second)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, keeps_newest=True, weighs_first=True)
