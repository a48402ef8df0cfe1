# SPDX-License-Identifier: Apache-2.0
"""Labels are the tokens rolled by one place. In the broken run the last of each row is its first token. Right are a last place that is left out, tokens that no
model is given, as a ring has no end, labels cut by the last column, and a loss twice."""
from trace_writer import FORWARD, Trace

RULE = True


def rows(t, content, *shape):
    return t.tensor(*(shape or (4, 10)), dtype="int64") | {"digest": f"{content:016x}",
                                                          "summary": {"min": 0, "max": 19, "distinct": 18, "negative": 0, "zero": 3, "one": 2}}


def train(folder, left_out=False, given=True, cut=False, n=4):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(n):
        t.zero_grad(optimizer)
        t.enter(FORWARD, at="train.py:11", self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}},
                args={"ids": rows(t, 10 * i if given else 10 * i + 5)})
        t.leave()
        t.op("torch.roll", role="operator", at="train.py:12", args={"input": rows(t, 10 * i), "shifts": -1, "dims": 1}, value=rows(t, 10 * i + 1))
        target = rows(t, 10 * i + 1 + left_out + cut, *([36] if cut else [40]))
        t.op("torch.nn.functional.cross_entropy", at="train.py:13", args={"input": t.tensor(40, 20), "target": target},
             value=t.tensor() | {"requires_grad": True, "value": 1.5})
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, left_out=True)


def fine_ring(folder):
    train(folder, given=False)


def fine_cut(folder):
    train(folder, cut=True)


def fine_twice(folder):
    train(folder, n=2)


def broken(folder):
    train(folder)
