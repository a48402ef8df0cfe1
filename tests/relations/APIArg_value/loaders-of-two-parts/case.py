# SPDX-License-Identifier: Apache-2.0
"""A script makes a loader of what it trains on and one of what is held out: they are told apart by their number. In the broken run the first does not
shuffle, and the second is of the same part."""
from trace_writer import Trace

OPTIONS = ["--specific"]
LOADER = "torch.utils.data.DataLoader"


def train(folder, shuffles=True, held="valid_part"):
    t = Trace(folder, operators=True)
    parts = {name: {"object": "torch.utils.data.Subset", "id": t.serial(), "name": name, "attrs": {}} for name in ("train_part", "valid_part")}
    for part, shuffle in (("train_part", shuffles), (held, False)):
        t.op(LOADER + ".__init__", role="make", at="train.py:5", self={"object": LOADER, "id": t.serial(), "attrs": {}},
             args={"dataset": parts[part], "batch_size": 4, "shuffle": shuffle}, value=None)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def broken(folder):
    train(folder, shuffles=False, held="train_part")
