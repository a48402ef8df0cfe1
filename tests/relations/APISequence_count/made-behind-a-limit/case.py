# SPDX-License-Identifier: Apache-2.0
"""Of one operator 256 calls at a place are recorded in a step. What is made behind that seems to come from nowhere: a run that makes less of it
breaks nothing by it. A run whose data is read otherwise does."""
from trace_writer import Trace

OPTIONS = ["--specific"]
SUB, USE, READ = "torch.Tensor.sub", "torch.Tensor.mul", "torch.Tensor.add"


def train(folder, n_made, reads=READ):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(4):
        for _ in range(step):
            t.op(SUB, role="operator", at="train.py:6", self=t.tensor(4), value=t.tensor(4))
        x = t.tensor(4)
        t.op(reads, role="operator", at="train.py:7", self=t.tensor(4), value=x)
        for i in range(n_made):
            w = t.tensor(4)
            if i < 256:
                t.op(SUB, role="operator", at="train.py:8", self=x, value=w)
        for used in w, w, x:
            t.op(USE, role="operator", at="train.py:9", self=used, args={"other": x}, value=t.tensor(4))
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, 300)


def healthy_again(folder):
    train(folder, 320)


def fine(folder):
    train(folder, 100)


def broken(folder):
    train(folder, 100, reads="torch.Tensor.div")
