# SPDX-License-Identifier: Apache-2.0
"""A model chooses a code for each place, and a package repeats the codes: that all of them are one, as training goes on, is the model's business. Of codes
that the package was given by the data it is not."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def codes(t, is_one):
    return {**t.tensor(8, 12, dtype="int64"), "summary": {"min": 3, "max": 3 if is_one else 9, "distinct": 1 if is_one else 7,
                                                          "negative": 0, "zero": 0, "one": 0}}


def train(folder, one_chosen=False, one_given=False, steps=8):
    t = Trace(folder, operators=True, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(steps):
        x = t.tensor(8, 12) | {"requires_grad": True}
        chosen = codes(t, one_chosen)
        given = codes(t, one_given)
        t.forward(model, value=x)
        t.op("torch.argmax", role="operator", at="train.py:20", args={"input": x}, value=chosen)
        for fn, code, is_one in ("take", chosen, one_chosen), ("take_given", given, one_given):
            repeated = codes(t, is_one)
            t.op("einops.repeat", role="package", at="train.py:21", args={"tensor": code}, value={k: v for k, v in repeated.items() if k != "summary"})
            t.op(f"torch.{fn}", at="train.py:22", args={"index": repeated})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, one_chosen=True, steps=9)


def broken(folder):
    train(folder, one_given=True)
