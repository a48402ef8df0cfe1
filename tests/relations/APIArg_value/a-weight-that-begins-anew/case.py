# SPDX-License-Identifier: Apache-2.0
"""A term of the loss has a weight that rises to one, the same in each run; after half of the steps the script resumes. The broken run has
forgotten its step, and the weight begins anew. A number of the data rises in both runs, to another one in each, and is no schedule."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, seed, forgets=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    step = 0
    for i in range(24):
        if i == 16 and forgets:
            step = 0
        term, other = t.tensor(), t.tensor()
        t.op("torch.nn.functional.kl_div", at="train.py:20", args={}, value=term)
        t.op("torch.Tensor.mul", role="operator", at="train.py:21", self=term, args={"other": min(1.0, step / 12)})
        t.op("torch.nn.functional.mse_loss", at="train.py:22", args={}, value=other)
        t.op("torch.Tensor.mul", role="operator", at="train.py:23", self=other, args={"other": (seed + i) / 10 if i != 9 or seed != 7 else 0.1})
        t.train_step(model, optimizer)
        t.cut()
        step += 1
    t.end()


def healthy(folder):
    train(folder, 3)


def healthy_too(folder):
    train(folder, 5)


def fine(folder):
    train(folder, 7)


def broken(folder):
    train(folder, 4, forgets=True)
