# SPDX-License-Identifier: Apache-2.0
"""The statistics of a module whose parameters are frozen stay, whatever those of trained modules do; those of an average that moves do not, nor fresh ones,
which began as the weights did."""
from trace_writer import Trace


def train(folder, drifts=False, moves=False):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"base.w": {"requires_grad": False}, "base.mean": {"kind": "buffer"},
                              "head.w": {}, "head.mean": {"kind": "buffer"}})
    optimizer = t.optimizer(model, params=[model.var("head.w")])
    for _ in range(8):
        t.zero_grad(optimizer)
        t.forward(model, changes=["head.mean", "base.mean"] if drifts else ["head.mean"])
        t.backward(model)
        t.step(optimizer)
        if moves:
            t.change(model.var("base.w"))
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, drifts=True)


def fine_average(folder):
    train(folder, drifts=True, moves=True)


def fine_as_it_was_made(folder):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"base.w": {"requires_grad": False, "content": 7}, "base.mean": {"kind": "buffer", "content": 7},
                              "base.n": {"kind": "buffer"}, "head.w": {}})
    optimizer = t.optimizer(model, params=[model.var("head.w")])
    for _ in range(8):
        t.zero_grad(optimizer)
        t.forward(model, changes=["base.mean", "base.n"])
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()
