# SPDX-License-Identifier: Apache-2.0
"""The weights may always be loaded; before training anything goes, and buffers are free at all times."""
from trace_writer import Trace

LOAD = "torch.nn.Module.load_state_dict"


def train(folder, by_hand=False):
    t = Trace(folder)
    model = t.net("w", buffers=["running_mean"])
    optimizer = t.optimizer(model)
    t.stage = "init"
    t.change(model.var("w"))
    t.stage = "training"
    for i in range(4):
        t.train_step(model, optimizer)
        t.change(model.var("running_mean"))
        t.enter(LOAD, role="load", at="train.py:34")
        t.change(model.var("w"))
        t.leave()
        if by_hand:
            t.change(model.var("w"))
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, by_hand=True)
