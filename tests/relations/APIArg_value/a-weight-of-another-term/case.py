# SPDX-License-Identifier: Apache-2.0
"""Two sums are multiplied by 0.3 and by 0.7. Of which is known only by what they are sums of: in the broken run the numbers have changed places.
In a loop that adds to what it added last a chain does not go on."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, seed, weights=(0.3, 0.7), turns=2):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)

    def op(name, x, *size, **args):
        result = t.tensor(*size)
        t.op(f"torch.Tensor.{name}", role="operator", at="train.py:20", self=x, args=args, value=result)
        return result

    for i in range(4):
        x = t.tensor(4, 4)
        wrong, missed = op("sum", op("mul", x, 4, 4, other=t.tensor(4, 4))), op("sum", op("rsub", x, 4, 4, other=1))
        total = op("add", op("mul", wrong, other=weights[0]), other=op("mul", missed, other=weights[1]))
        for turn in range(turns + (i + seed) % 2):
            total = op("add", total, other=0.5 if turn else 1.5)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 3)


def healthy_too(folder):
    train(folder, 4)


def fine(folder):
    train(folder, 3, turns=5)


def broken(folder):
    train(folder, 3, weights=(0.7, 0.3))
