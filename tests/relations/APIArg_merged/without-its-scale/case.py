# SPDX-License-Identifier: Apache-2.0
"""Two thin matrices add something to a layer, times 2, and their product is merged into its weight. In the broken runs nothing scales it, or two adapters
are stacked, and the product has half of their scale. Right are the same scale, a part of it on purpose, a bottleneck that nothing scales, and a stack
that keeps the scale."""
from trace_writer import Trace

RULE = True

IN, RANK, OUT = 20, 4, 30


def operate(t, fn, own, *shape, **args):
    value = t.tensor(*shape)
    t.op(f"torch.Tensor.{fn}", role="operator", at="train.py:12", self=own, value=value, args=args)
    return value


def train(folder, scale=2.0, merged=None, times=1):
    t = Trace(folder, content="batches", operators=True)
    for _ in range(3):
        x = t.tensor(8, 6, IN)
        low = t.tensor(8, 6, RANK)
        t.op("torch.nn.Linear.forward", role="layer", self={"object": "torch.nn.Linear", "id": 900}, args={"input": x}, value=low)
        added = operate(t, "matmul", low, 8, 6, OUT, other=t.tensor(RANK, OUT))
        if scale:
            added = operate(t, "mul", added, 8, 6, OUT, other=scale)
        operate(t, "add", t.tensor(8, 6, OUT), 8, 6, OUT, other=added)
    up = t.tensor(times * OUT, times * RANK)
    if merged:
        up = operate(t, "mul", up, times * OUT, times * RANK, other=merged)
    product = operate(t, "matmul", up, times * OUT, IN, other=t.tensor(times * RANK, IN))
    weight = t.tensor(times * OUT, IN)
    t.op("torch.Tensor.add_", role="operator", at="train.py:20", self=weight, value=weight, args={"other": product})
    t.end()


def fine(folder):
    train(folder, merged=2.0)


def fine_in_part(folder):
    train(folder, merged=1.4)


def fine_bottleneck(folder):
    train(folder, scale=None)


def fine_stack(folder):
    train(folder, merged=2.0, times=3)


def broken(folder):
    train(folder)


def broken_share_of_a_stack(folder):
    train(folder, merged=2 / 3, times=3)
