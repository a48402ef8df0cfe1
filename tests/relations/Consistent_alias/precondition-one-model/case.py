# SPDX-License-Identifier: Apache-2.0
"""What is tied inside a model stays tied; a second model that starts as a copy goes its own way."""
from trace_writer import Trace


def train(folder, tied=True):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"w": {"content": 70}, "v": {"content": 70}})
    other = t.model("other", {"x": {"content": 90}})
    third = t.model("third", {"y": {"content": 90}})
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        for trained in (model, other, third):
            t.backward(trained)
        t.step(optimizer, changes=model.parameters if tied else [model.var("w")])
        t.change(other.var("x"))
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, tied=False)
