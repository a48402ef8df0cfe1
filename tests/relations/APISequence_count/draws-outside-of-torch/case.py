# SPDX-License-Identifier: Apache-2.0
"""A script draws indices by numpy in each step and turns some items of a batch by Python's generator. What is drawn is another number in each
run, and no fact; the broken run draws its indices once, and turns nothing."""
from trace_writer import Trace

OPTIONS = ["--specific"]
NEXT, ITERATOR = "torch.utils.data.DataLoader.__next__", "torch.utils.data.dataloader._SingleProcessDataLoaderIter"
PERMUTATION, INTEGERS, RANDOM = "numpy.random.Generator.permutation", "numpy.random.Generator.integers", "random.Random.random"
GENERATOR = {"object": "numpy.random.Generator", "attrs": {}}


def array(t, n):
    return {"array": "ndarray", "id": t.serial(), "shape": [n], "dtype": "int64", "device": "cpu", "requires_grad": False}


def train(folder, seed, is_drawn_once=False, turns=True):
    t = Trace(folder, operators=True)
    order = None
    for step in range(10):
        if step == 1:
            t.stage = "training"
        t.enter(NEXT, at="train.py:30", self={"object": ITERATOR, "id": 900, "attrs": {}})
        for i in range(3 if turns else 0):
            t.op(RANDOM, role="draw", value=(step * 7 + i * 3 + seed) % 10 / 10)
        t.leave(value=[t.tensor(2, 4)])
        if order is None or not is_drawn_once:
            t.op(INTEGERS, role="draw", at="train.py:31", self=GENERATOR, args={"low": 4}, value=seed % 3 if step < 9 else 3)
            order = array(t, 8)
            t.op(PERMUTATION, role="draw", at="train.py:32", self=GENERATOR, args={"x": 8}, value=order)
        t.op("torch.from_numpy", at="train.py:33", args={"ndarray": order}, value=t.tensor(8))
        if not step:
            model = t.net("w")
            optimizer = t.optimizer(model)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, seed=3)


def healthy_too(folder):
    train(folder, seed=6)


def fine(folder):
    train(folder, seed=5)


def broken(folder):
    train(folder, seed=4, is_drawn_once=True, turns=False)
