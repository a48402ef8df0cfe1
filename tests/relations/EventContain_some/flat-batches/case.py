# SPDX-License-Identifier: Apache-2.0
"""A batch leaves nothing to learn: its gradients are computed, and zero. In the third step in a row that is reported, unless most had a gradient. A
backward to what models returned without gradients, a cache, gives none to a parameter."""
from trace_writer import Trace


def train(folder, flat=(), passes=1, caches=False):
    """passes: micro-batches of a step; caches: gradients of what the model returns are computed first."""
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.zero_grad(optimizer)
        if caches:
            t.forward(model, ctx={"grad": False})
            t.backward(model, reaches=[])
        for _ in range(passes):
            t.forward(model)
            t.backward(model, grad="zero" if i in flat else "non_zero")
        t.step(optimizer, changes=[] if i in flat else None)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, flat=(1, 2, 4, 7))


def fine_micro_batches(folder):
    train(folder, flat=(3, 4), passes=3)


def fine_when_done(folder):
    train(folder, flat=(4, 5, 6, 7))


def fine_of_a_cache(folder):
    train(folder, caches=True)


def broken(folder):
    train(folder, flat=(2, 3, 4, 5))
