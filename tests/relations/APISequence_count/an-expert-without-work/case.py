# SPDX-License-Identifier: Apache-2.0
"""A router gives each of two experts some rows of a batch. That one has none in a few steps of another run is chance; the broken run never
asks the second one."""
from trace_writer import Trace

OPTIONS = ["--specific"]
WEIGHTS = ("experts.0.weight", "experts.1.weight", "body.weight")


def use(t, v, at):
    weight = t.tensor(4, 4, id=v.serial) | {"tensor": "Parameter", "requires_grad": True}
    t.op("torch.nn.functional.linear", at=at, args={"input": t.tensor(8, 4), "weight": weight})


def train(folder, resting=()):
    t = Trace(folder)
    model = t.net(*WEIGHTS)
    optimizer = t.optimizer(model)
    t.stage = "training"
    for i in range(20):
        for expert, v in enumerate(model.parameters[:2]):
            if (expert, i) not in resting:
                use(t, v, "train.py:20")
        for _ in range(i % 3):
            use(t, model.parameters[2], "train.py:21")
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, resting=((1, 3), (0, 7), (1, 8), (1, 11), (1, 15)))


def broken(folder):
    train(folder, resting={(1, i) for i in range(20)})
