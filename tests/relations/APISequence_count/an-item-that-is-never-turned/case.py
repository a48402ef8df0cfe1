# SPDX-License-Identifier: Apache-2.0
"""To make the items of a batch a script turns some of them; in the broken run it divides all as they are. How many are turned is chance,
and the trace has the first items of a batch alone: that any is, is reported.
Of what a long list holds nothing is recorded: where all lists are longer than eight, nothing that was put together came from elsewhere."""
from trace_writer import Trace

OPTIONS = ["--specific"]
NEXT = "torch.utils.data.DataLoader.__next__"
ITERATOR = "torch.utils.data.dataloader._SingleProcessDataLoaderIter"


def batch(t, turns, length):
    t.enter(NEXT, at="train.py:30", self={"object": ITERATOR, "id": 900, "attrs": {}})
    for turn in turns:
        item, turned = t.tensor(4), t.tensor(4)
        t.op("torch.Tensor.clone", role="operator", value=item, self=t.tensor(4))
        t.op("torch.Tensor.flip", role="operator", value=turned, self=item, args={"dims": [0]})
        t.op("torch.Tensor.div", role="operator", value=t.tensor(4), self=turned if turn else item, args={"other": 4})
    t.op("torch.stack", value=t.tensor(length, 4), args={"tensors": [t.tensor(4) for _ in range(length)]})
    t.leave(value=[t.tensor(2, 4)])


def train(folder, draws, length=3):
    t = Trace(folder, operators=True)
    for step in range(12):
        if step == 1:
            t.stage = "training"
        batch(t, [(step * 7 + i) % 5 < draws for i in range(3)], length)
        if not step:
            model = t.net("w")
            optimizer = t.optimizer(model)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, draws=2)


def healthy_too(folder):
    train(folder, draws=3)


def fine(folder):
    train(folder, draws=4, length=9)


def broken(folder):
    train(folder, draws=0)
