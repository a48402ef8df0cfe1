# SPDX-License-Identifier: Apache-2.0
"""Two scripts take a column from a column. In the broken run the model's column meets a vector, so that each number is compared with all.
Where the script itself makes the column, where a vector of another length is met as well, and where the vector takes a gradient, all pairs
are meant."""
from trace_writer import Trace

PIPELINES = 2


def op(t, name, x, value, role="operator", **args):
    t.op(name, role=role, at="train.py:8", self=x, args=args, value=value)
    return value


def tensor(t, *shape):
    return t.tensor(*shape) | {"requires_grad": True}


def train(folder, target=(8, 1), lengths=(8,), by_hand=False, trains=False, picks=False):
    t = Trace(folder, operators=True)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for step in range(4):
        n = lengths[step % len(lengths)]
        out = tensor(t, 8) if by_hand else tensor(t, 8, 1)
        t.forward(model, value=out)
        out = op(t, "torch.Tensor.unsqueeze", out, tensor(t, 8, 1), dim=1) if by_hand else out
        out = op(t, "torch.sigmoid", None, tensor(t, 8, 1), role="function", input=out)
        y = t.tensor(n, *target[1:]) | {"requires_grad": trains}
        if picks:
            out = op(t, "torch.Tensor.__getitem__", out, tensor(t, 5, 1), index=t.tensor(8, dtype="bool"))
            y = t.tensor(5, 1)
        op(t, "torch.Tensor.sub", out, tensor(t, 8, 1 if len(target) > 1 else n), other=y)
        t.zero_grad(optimizer)
        t.backward(model)
        t.step(optimizer)
        t.cut("forward")
    t.end()


def healthy(folder, i):
    train(folder)


def fine_by_hand(folder):
    train(folder, target=(8,), by_hand=True)


def fine_with_a_grid(folder):
    train(folder, target=(8,), lengths=(5, 8))


def fine_that_trains(folder):
    train(folder, target=(8,), trains=True)


def fine_with_a_mask(folder):
    """Which rows are known is a vector that picks from the column."""
    train(folder, picks=True)


def broken(folder):
    train(folder, target=(8,))
