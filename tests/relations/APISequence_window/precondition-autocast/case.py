# SPDX-License-Identifier: Apache-2.0
"""Unscaling belongs to the windows under autocast, and to these alone."""
from trace_writer import Trace

OPTIONS = ["--keep-implied"]


def train(folder, unscales):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    t.call("torch.amp.GradScaler.state_dict", role="scaler")  # there is one
    t.cut()
    for i in range(8):
        t.ctx = {"autocast": {"cuda": "float16"}} if i < 4 else None
        if i < 4 and unscales:
            t.unscale()
        t.step(optimizer, changes=[])
        t.cut()
    t.end()


def healthy(folder):
    train(folder, unscales=True)


def broken(folder):
    train(folder, unscales=False)
