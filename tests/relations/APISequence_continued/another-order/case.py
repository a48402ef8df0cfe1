# SPDX-License-Identifier: Apache-2.0
"""A pass over the data is cut, state is loaded, and another loader leaves out as many batches as were done. In the broken run they are batches of another
order. Right are the batches that were left, a pass that begins anew, rows that are drawn, and a pass that is cut without a load."""
from trace_writer import Trace

RULE = True

ORDER = [0, 1, 2, 3, 4, 5]


def train(folder, left, cut=2, loads=True, first=ORDER, then=()):
    """Batches of the passes: a whole one, one that is cut, what a new loader gives, and what comes after."""
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)

    def give(iterator, batches, ends=True):
        own = {"object": "torch.utils.data.dataloader._SingleProcessDataLoaderIter", "id": iterator, "attrs": {}}
        for i in batches:
            batch = t.tensor(4, 8) | {"digest": f"{i:016x}"}
            t.op("torch.utils.data.DataLoader.__next__", at="train.py:9", self=own,
                 value=[batch | {"rows": "".join(f"{4 * i + k:08x}" for k in range(4))}])
            t.zero_grad(optimizer)
            t.forward(model, args={"x": batch})
            t.backward(model)
            t.step(optimizer)
        if ends:
            t.enter("torch.utils.data.DataLoader.__next__", at="train.py:9", self=own)
            t.throw("StopIteration")

    give(9001, first)
    give(9002, ORDER[:cut], ends=False)
    if loads:
        t.call("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:20")
    give(9003, left)
    for i, batches in enumerate(then):
        give(9004 + i, batches)
    t.end()


def fine(folder):
    train(folder, ORDER[2:], then=[ORDER])


def fine_begins_anew(folder):
    train(folder, ORDER)


def fine_drawn(folder):
    train(folder, [1, 0, 5, 3], first=[0, 0, 2, 2, 4, 5])


def fine_without_a_load(folder):
    train(folder, [1, 0, 5, 3], loads=False)


def broken(folder):
    train(folder, [1, 0, 5, 3])
