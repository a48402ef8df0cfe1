# SPDX-License-Identifier: Apache-2.0
"""Rows of an evaluation are not those of training; in the broken run two of them are. Rows of a mask are those of many samples, so that
nothing is said of them. Batches never give a row again in one pass."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def rows(t, numbers):
    return {**t.tensor(len(numbers), 4), "rows": "".join(f"{n:08x}" for n in numbers)}


def mask(t, numbers):
    return {**rows(t, numbers), "dtype": "int64", "digest": f"{numbers[0]:016x}",
            "summary": {"min": 0, "max": 1, "distinct": 2, "negative": 0, "zero": 9, "one": 7}}


def train(folder, first=0, is_broken=False, masks=0):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    loader = {"object": "torch.utils.data.Iterator", "id": t.serial()}
    for step in range(4):
        again = 1 if is_broken and step == 3 else step
        batch = rows(t, [first + 4 * again + i for i in range(4)])
        t.op("torch.utils.data.DataLoader.__next__", value=batch, at="train.py:9", self=loader)
        t.zero_grad(optimizer)
        t.forward(model, args={"input": batch, "mask": mask(t, range(4))})
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.stage, model["training"] = "evaluation", False
    for step in range(3):
        seen = [first, first + 1] if is_broken else []
        t.forward(model, args={"input": rows(t, [*seen, *range(100 + 4 * step, 104 + 4 * step - len(seen))]),
                               "mask": mask(t, range(masks, masks + 4))}, ctx={"grad": False})
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, first=40)


def fine_masks(folder):
    train(folder, masks=2)


def broken(folder):
    train(folder, is_broken=True)
