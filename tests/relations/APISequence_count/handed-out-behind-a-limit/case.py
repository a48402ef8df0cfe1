# SPDX-License-Identifier: Apache-2.0
"""A function of a package hands out what it computed inside, of which no call tells. So it does where a limit of the trace left out other
calls of the step. In the broken run what it hands out is not used."""
from trace_writer import Trace

OPTIONS = ["--specific"]
SUB = "torch.Tensor.sub"


def train(folder, n, uses=True):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(4):
        for _ in range(n + step):
            t.op(SUB, role="operator", at="train.py:6", self=t.tensor(4), value=t.tensor(4))
        mask, own = t.tensor(3, 3), t.tensor(3, 3)
        t.op("shapely.mask", role="package", at="train.py:7", value=mask)
        t.op("torch.ones", role="operator", at="train.py:8", value=own)
        t.op("torch.Tensor.mul", role="operator", at="train.py:9", self=t.tensor(3, 3), args={"other": mask if uses else own}, value=t.tensor(3, 3))
        t.op("torch.Tensor.mul", role="operator", at="train.py:10", self=t.tensor(3, 3), args={"other": own}, value=t.tensor(3, 3))
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, 200)


def healthy_again(folder):
    train(folder, 210)


def fine(folder):
    train(folder, 300)


def broken(folder):
    train(folder, 200, uses=False)
