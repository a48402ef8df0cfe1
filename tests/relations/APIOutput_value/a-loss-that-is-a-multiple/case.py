# SPDX-License-Identifier: Apache-2.0
"""How large a loss is in the first three steps, before training has made it another: it is a multiple of that, by a factor
that is more than chance: three times what two runs had. One that two runs begin with differently, or with another sign, is no claim; later steps are not reported."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def loss(t, name, value):
    t.op(f"torch.nn.functional.{name}", args={}, at="train.py:11",
         value={**t.tensor(), "requires_grad": True, "value": float(value)})


def train(folder, first, second, third):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for a, b, c in zip(first, second, third):
        loss(t, "cross_entropy", a)
        loss(t, "kl_div", b)
        loss(t, "mse_loss", c)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (2.3, 2.25, 2.2, 0.5), (1.1, 1.2, 1.1, 1.1), (-0.01, 0.4, 0.1, 0.2))


def healthy_again(folder):
    train(folder, (2.4, 2.2, 2.1, 0.1), (0.5, 0.6, 0.4, 0.4), (0.2, 0.1, 0.1, 0.1))


def fine(folder):
    train(folder, (0.8, 7.1, 2.0, 9.0), (9.0, 9.0, 9.0, 9.0), (9.0, 9.0, 9.0, 9.0))


def broken(folder):
    train(folder, (8.0, 0.6, 2.2, 9.0), (1.1, 1.2, 1.1, 1.1), (0.1, 0.1, 0.1, 0.1))
