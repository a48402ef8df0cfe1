# SPDX-License-Identifier: Apache-2.0
"""Of a function of a package the first 32 calls of a step are recorded. What a product gets of a later one comes from outside as far as the
trace goes, which is no finding; in the broken run it comes from the script's own line, in steps that are recorded whole."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/source"]


def train(folder, n_calls=1, untold=False, is_broken=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(6):
        x, made, other = t.tensor(4), t.tensor(4), t.tensor(4)
        for i in range(n_calls if step == 2 else 1):
            t.op("einops.rearrange", role="package", at="train.py:20", args={"tensor": x}, value=t.tensor(4) if i else made)
        t.op("torch.Tensor.add", role="operator", at="train.py:21", args={"other": x}, value=other)
        given = t.tensor(4) if untold and step == 2 else other if is_broken and step > 3 else made
        t.op("torch.Tensor.mul", role="operator", at="train.py:22", args={"other": given})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder, n_calls=32)


def fine(folder):
    train(folder, n_calls=32, untold=True)


def broken(folder):
    train(folder, n_calls=32, untold=True, is_broken=True)
