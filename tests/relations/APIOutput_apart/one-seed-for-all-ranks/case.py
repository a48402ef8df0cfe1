# SPDX-License-Identifier: Apache-2.0
"""Two ranks add noise to rows of their own. In the broken run both draw the same. Right are noise of their own, ranks that share one batch, noise for whole rows of
which each rank takes a part, noise of an evaluation, and two steps that are alike."""
from trace_writer import Trace

RULE = True


def floats(t, content, *shape):
    return t.tensor(*shape) | {"requires_grad": False, "digest": f"{content:016x}"}


def train(folder, own_noise=False, own_rows=True, parts=1, ctx=None, steps=5):
    for rank in range(2):
        t = Trace(folder, content="batches", operators=True, rank=rank, world=2, pid=100 + rank)
        model = t.net("w")
        optimizer = t.optimizer(model)
        for step in range(steps):
            t.zero_grad(optimizer)
            t.op("torch.randn", role="function", at="train.py:7", ctx=ctx, args={"size": [8 * parts, 4]},
                 value=floats(t, 100 + 10 * step + rank * own_noise, 8 * parts, 4))
            t.forward(model, args={"x": floats(t, 900 + 10 * step + rank * own_rows, 8, 4)})
            t.backward(model)
            t.step(optimizer)
            t.cut()
        t.end()


def fine(folder):
    train(folder, own_noise=True)


def fine_one_batch(folder):
    train(folder, own_rows=False)


def fine_parts(folder):
    train(folder, parts=2)


def fine_evaluation(folder):
    train(folder, ctx={"grad": False})


def fine_twice(folder):
    train(folder, steps=2)


def broken(folder):
    train(folder)
