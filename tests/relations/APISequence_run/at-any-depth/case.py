# SPDX-License-Identifier: Apache-2.0
"""A call inside a method counts; one that raised, that a library made, that loads or that sets a mode does not."""
from trace_writer import Trace


def train(folder, reduces=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.schedule(by="torch")
    t.enter("torch.hub.load", role="load")
    t.throw()
    t.call("torch.nn.Module.train")
    t.call("torch.nn.Module.load_state_dict", role="load")
    t.enter("__main__.prepare", role="method", at="train.py:2")
    if reduces:
        t.all_reduce()
    t.leave()
    t.enter("accelerate.Accelerator.prepare", role="library", at="train.py:3")
    t.call("torch.distributed.broadcast", role="collective")
    t.leave()
    t.forward(model)
    t.clip()
    t.step(optimizer)
    t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, reduces=False)
