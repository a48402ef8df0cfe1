# SPDX-License-Identifier: Apache-2.0
"""What the script computes to make the items of a batch, of which the first ones are in the trace: that they are masked in evaluation is
told. How many items are turned is chance."""
from trace_writer import Trace

OPTIONS = ["--specific"]
NEXT = "torch.utils.data.DataLoader.__next__"
ITERATOR = "torch.utils.data.dataloader._SingleProcessDataLoaderIter"


def batch(t, turns, masks):
    t.enter(NEXT, at="train.py:30", self={"object": ITERATOR, "id": 900, "attrs": {}})
    for turn in turns:
        item = t.tensor(4)
        t.op("torch.Tensor.clone", role="operator", value=item, self=t.tensor(4))
        if masks:
            t.op("torch.Tensor.__setitem__", role="operator", self=item, args={"index": 1, "value": 0})
        if turn:
            turned = t.tensor(4)
            t.op("torch.Tensor.flip", role="operator", value=turned, self=item, args={"dims": [0]})
            item = turned
        t.op("torch.Tensor.div", role="operator", value=t.tensor(4), self=item, args={"other": 4})
    t.leave(value=[t.tensor(2, 4)])


def train(folder, draws=(1, 0), masks_all=False):
    t = Trace(folder, operators=True)
    for step in range(12):
        if step == 1:
            t.stage = "training"
        batch(t, (draws[step % 2], draws[1 - step % 2]), True)
        if not step:
            model = t.net("w")
            optimizer = t.optimizer(model)
        t.train_step(model, optimizer)
        t.stage = "evaluation"
        batch(t, (0, 0), masks_all)
        t.stage = "training"
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, draws=(1, 1))


def broken(folder):
    train(folder, masks_all=True)
