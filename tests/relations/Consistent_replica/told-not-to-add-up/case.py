# SPDX-License-Identifier: Apache-2.0
"""A model that adds up gradients by itself is told not to: in the broken run before each step, so that each rank goes its own way."""
from trace_writer import Trace


def rank(folder, number, adds):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        for micro in range(2):
            t.enter("torch.nn.Module.__call__", at="train.py:11",
                    self={"object": "torch.nn.parallel.DistributedDataParallel", "id": model["id"], "role": "root",
                          "attrs": {"training": True, "require_backward_grad_sync": adds and micro == 1}})
            t.leave()
            t.backward(model)
        t.step(optimizer)
        if not adds and number == 1:
            t.change(model.var("w"))
            t.change(model.var("b"))
        t.cut()
    t.end()


def healthy(folder):
    rank(folder, 0, True)
    rank(folder, 1, True)


def broken(folder):
    rank(folder, 0, False)
    rank(folder, 1, False)
