# SPDX-License-Identifier: Apache-2.0
"""A loss becomes another one with each step. In the broken run it is one number from the first step on. One that has come to rest later, a margin that
was kept from the start, half precision, and the micro-batches of one step say nothing."""
from trace_writer import Trace

RULE = True


def train(folder, losses, dtype="float32", micro=1):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for loss in losses:
        t.zero_grad(optimizer)
        for _ in range(micro):
            t.forward(model)
            t.backward(model, of=t.tensor(dtype=dtype) | {"value": loss, "requires_grad": True})
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, [1 / i for i in range(1, 16)])


def fine_at_rest(folder):
    train(folder, [0.75, *[0.5] * 15])


def fine_of_a_margin(folder):
    train(folder, [0.0] * 15)


def fine_in_half_precision(folder):
    train(folder, [0.6931] * 15, dtype="bfloat16")


def fine_of_few_steps(folder):
    train(folder, [0.6931] * 4, micro=4)


def broken(folder):
    train(folder, [0.6931] * 15)
