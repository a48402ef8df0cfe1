# SPDX-License-Identifier: Apache-2.0
"""Of a loader with workers a call unpacks batches that came too early, and later calls return them: what it returns comes from the loader
whichever call unpacked it. In the broken run a batch is filled that was made elsewhere."""
from trace_writer import Trace

OPTIONS = ["--specific"]
NEXT = "torch.utils.data.DataLoader.__next__"
ITERATOR = "torch.utils.data.dataloader._MultiProcessingDataLoaderIter"


def train(folder, unpacked=(1,) * 6, moves_own=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    waiting = []
    for n in unpacked:
        t.enter(NEXT, at="train.py:30", role="data", self={"object": ITERATOR, "id": 900, "attrs": {}})
        for _ in range(n):
            waiting.append(t.tensor(4))
            t.op("torch.empty", value=waiting[-1], args={"size": [0]})
        batch = waiting.pop(0)
        t.leave(value=batch)
        if moves_own:
            batch = t.tensor(4)
            t.op("torch.zeros", at="train.py:31", value=batch)
        t.op("torch.Tensor.to", at="train.py:32", self=batch, value=t.tensor(4))
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, unpacked=(1, 3, 0, 0, 2, 0))


def broken(folder):
    train(folder, moves_own=True)
