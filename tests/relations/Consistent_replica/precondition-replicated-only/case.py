# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism splits w and replicates b: each rank has its own w, and one b. As both parts
of w begin with zeros, only its mark tells that it is none of one."""
from trace_writer import Trace


def rank(folder, number, drifts_from=None):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    t.stage = "training"
    model = t.model("model", {"w": {"content": 70, "attrs": {"tensor_model_parallel": True}},
                              "b": {"content": 80}})
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i == 0 and number == 1:
            t.change(model.var("w"))
        if i == drifts_from and number == 1:
            t.change(model.var("b"))
        t.cut()
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0, drifts_from=3)
    rank(folder, 1, drifts_from=3)
