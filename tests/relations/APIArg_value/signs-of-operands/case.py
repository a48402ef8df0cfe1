# SPDX-License-Identifier: Apache-2.0
"""Numbers on both sides of zero, of which few may lie on one; the broken run hands over numbers between zero and one, or above zero.
Of what a model computed no side is claimed, but for what is cut at zero; nor that none lies on a side where none is at the bound."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]
BOTH, LEFT, UNIT, CUT = [-2.0, 2.0, 30, 34], [-2.0, 0.1, 61, 3], [0.0, 1.0, 0, 63], [0.0, 2.0, 0, 40]
FREE = [0.5, 2.0, 0, 64]


def train(folder, images=(BOTH, BOTH, BOTH), hidden=(BOTH, UNIT, BOTH), cut=(CUT, CUT, CUT), rewards=(FREE, FREE, FREE)):
    t = Trace(folder, schema=5, content="full")
    model = t.net("w")
    optimizer = t.optimizer(model)
    weight = {**t.tensor(4), "id": model.parameters[0].serial}
    for image, sum_, positive, reward in zip(images, hidden, cut, rewards):
        t.op("torch.pay", at="train.py:19", args={"reward": {**t.tensor(8, 8), "range": reward}})
        x = {**t.tensor(8, 8), "range": image}
        t.op("torch.look", at="train.py:20", args={"image": x})
        for fn, range_ in ("torch.mix", sum_), ("torch.cut", positive):
            y = {**t.tensor(8, 8), "range": range_}
            t.op(fn, value=y, at="train.py:21", args={"input": x, "weight": weight})
            t.op(fn + "_used", at="train.py:22", args={"input": y})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, hidden=(BOTH, BOTH, BOTH))


def fine(folder):
    train(folder, images=(BOTH, LEFT, BOTH), hidden=(UNIT, UNIT, UNIT), rewards=(FREE, BOTH, LEFT))


def broken(folder):
    train(folder, images=(UNIT, FREE, UNIT), cut=(CUT, BOTH, CUT))
