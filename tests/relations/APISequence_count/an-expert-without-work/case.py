# SPDX-License-Identifier: Apache-2.0
"""A router gives each of two experts some rows of a batch. That one has none in a few steps of another run is chance; the broken run never
asks the second one."""
from trace_writer import Trace

OPTIONS = ["--specific"]
EXPERTS = ("experts.0.weight", "experts.1.weight")


def train(folder, resting=()):
    t = Trace(folder)
    model = t.net(*EXPERTS)
    optimizer = t.optimizer(model)
    t.stage = "training"
    for i in range(20):
        for expert, v in enumerate(model.parameters):
            if (expert, i) not in resting:
                weight = t.tensor(4, 4, id=v.serial) | {"tensor": "Parameter", "requires_grad": True}
                t.op("torch.nn.functional.linear", at="train.py:20", args={"input": t.tensor(8, 4), "weight": weight})
        for _ in range(i % 3):
            t.op("torch.nn.functional.linear", at="train.py:21", args={"input": t.tensor(8, 4), "weight": t.tensor(4, 4)})
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
