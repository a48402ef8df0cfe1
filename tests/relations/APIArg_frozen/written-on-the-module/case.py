# SPDX-License-Identifier: Apache-2.0
"""Two scripts train a layer within another. In the broken runs the script writes on one of them that it takes no gradient, which does nothing. Where
its parameters take none, where no optimizer has them or no gradient reaches them, and on a module of the script's own it is right."""
from trace_writer import Trace

PIPELINES = 2


def layer(t, name, id, said):
    t.enter(name + ".forward", role="layer", at="train.py:7",
            self={"object": name, "id": id, "attrs": {"training": True} | ({"requires_grad": False} if said == name else {})})


def train(folder, said=None, takes=True, owns=True, reaches=True, outer="torch.nn.Sequential"):
    t = Trace(folder)
    model = t.net("w", "b")
    head = t.model("head", {"w": {}})
    optimizer = t.optimizer(model if owns else head)
    for _ in range(4):
        t.forward(model)
        layer(t, outer, 90, said)
        layer(t, "torch.nn.Linear", 91, said)
        t.op("torch.nn.functional.linear", value=t.tensor(4, 4), args={
            "input": t.tensor(4, 4), "weight": t.tensor(4, 4, id=model["vars"][0].serial) | {"tensor": "Parameter", "requires_grad": takes}})
        t.leave()
        t.leave()
        t.zero_grad(optimizer)
        t.backward(model if owns else head, reaches=None if reaches else [model["vars"][1]])
        t.step(optimizer)
        t.cut("forward")
    t.end()


def healthy(folder, i):
    train(folder)


def fine_that_takes_none(folder):
    train(folder, said="torch.nn.Linear", takes=False)


def fine_that_nobody_trains(folder):
    train(folder, said="torch.nn.Linear", owns=False)


def fine_that_no_gradient_reaches(folder):
    train(folder, said="torch.nn.Linear", reaches=False)


def fine_of_its_own(folder):
    train(folder, said="__main__.Block", outer="__main__.Block")


def broken(folder):
    train(folder, said="torch.nn.Linear")


def broken_around(folder):
    train(folder, said="torch.nn.Sequential")
