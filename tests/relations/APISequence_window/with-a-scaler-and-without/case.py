# SPDX-License-Identifier: Apache-2.0
"""The order around a scaler is known of scripts that have one, that of backward and step of all: neither makes the other superfluous."""
from trace_writer import Trace

PIPELINES = 8


def train(folder, scales, forgets_from=6, **kwargs):
    t = Trace(folder, **kwargs)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        if i < forgets_from:
            t.backward(model)
        if scales:
            t.unscale()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder, i):
    """Those without a scaler run on several ranks as well: the others know only one."""
    if i < 4:
        train(folder, scales=True)
    else:
        train(folder, scales=False, rank=0, world=2)


def broken(folder):
    train(folder, scales=False, forgets_from=1, rank=0, world=2)
