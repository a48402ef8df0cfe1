# SPDX-License-Identifier: Apache-2.0
"""It takes a forward, unscaling and a closure; without any one of them it breaks."""
from trace_writer import Trace


def train(folder, kinds, changes=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for kind in kinds:
        t.zero_grad(optimizer)
        if "f" in kind:
            t.forward(model)
        t.backward(model)
        if "u" in kind:
            t.unscale()
        t.step(optimizer, changes if kind == "fuc" else [], closure=(lambda: None) if "c" in kind else None)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, ["fuc", "uc", "fuc", "fc", "fuc", "fu", "fuc"])


def broken(folder):
    train(folder, ["uc", "fuc", "fu", "fuc"], changes=[])
