# SPDX-License-Identifier: Apache-2.0
"""What a variable is like: shape, dtype, mode, whether it requires a gradient; of how many the optimizer has; and all together."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, frozen=(), owned=2, **attrs):
    t = Trace(folder)
    model = t.net("a", "b", frozen=frozen, **attrs)
    optimizer = t.optimizer(model, params=model.parameters[:owned])
    group = t.settings(lr=0.1, weight_decay=0.01)
    for i in range(3):
        t.train_step(model, optimizer)
        t.schedule(group=group, lr=0.1 * 0.5 ** i)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, frozen=("b",), owned=1, dtype="float16", shape=[4, 8])
