# SPDX-License-Identifier: Apache-2.0
"""A loss that leaps later beyond twice what it was in the first three steps was of one task in them by chance: how large it is then is no
claim. One that falls, or climbs bit by bit, is."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, leaping=(1.1, 1.2, 1.0, 0.9, 3.4, 0.8), climbing=(1.1, 1.2, 1.3, 1.8, 2.5, 3.4)):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for a, b in zip(leaping, climbing):
        for name, value in (("huber_loss", a), ("mse_loss", b)):
            t.op(f"torch.nn.functional.{name}", args={}, at="train.py:11",
                 value={**t.tensor(), "requires_grad": True, "value": float(value)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, leaping=(1.2, 1.0, 1.1, 0.5, 0.4, 0.4))


def fine(folder):
    train(folder, leaping=(3.1, 1.2, 0.2, 0.2, 0.2, 0.2))


def broken(folder):
    train(folder, leaping=(3.1, 1.2, 0.2, 0.2, 0.2, 0.2), climbing=(4.4,) * 6)
