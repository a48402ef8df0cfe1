# SPDX-License-Identifier: Apache-2.0
"""Two ranks, one of which holds long rows. In the broken run each divides the sum of its losses by the number of its own labels, and gradients are
averaged. By the number of all labels, and with rows that are shared out evenly, it is right; nor is anything said where one rank has another loss."""
from trace_writer import Trace

RULE = True


def number(t, value):
    return t.tensor() | {"value": value, "requires_grad": True}


def divide(t, whole, n_labels, n, factor):
    """By the labels; factor: it is multiplied by that, divided by them."""
    loss = number(t, whole["value"] * (factor or 1) / n)
    if not factor:
        t.op("torch.Tensor.div", role="operator", at="train.py:12", self=whole, args={"other": n_labels}, value=loss)
        return loss
    scale = t.tensor() | {"value": factor / n, "requires_grad": False}
    t.op("torch.Tensor.rdiv", role="operator", at="train.py:11", self=n_labels, args={"other": factor}, value=scale)
    t.op("torch.Tensor.mul", role="operator", at="train.py:12", self=whole, args={"other": scale}, value=loss)
    return loss


def train(folder, rank, n, count=True, steps=6, factor=None):
    t = Trace(folder, rank=rank, world=2, pid=rank + 1, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        t.forward(model)
        whole = number(t, 700.0 / (1 + step))
        n_labels = t.tensor(dtype="int64") | {"requires_grad": False, "summary": {"min": n, "max": n, "distinct": 1}}
        loss = divide(t, whole, n_labels, n, factor) if count else whole
        t.backward(model, of=loss)
        t.step(optimizer)
        t.cut()
    t.end()


def both(folder, first, second, factor=None, **of_second):
    train(folder, 0, first, factor=factor)
    train(folder, 1, second, factor=factor, **of_second)


def fine_by_all_labels(folder):
    both(folder, 450, 450)


def fine_by_the_ranks_over_all_labels(folder):
    both(folder, 450, 450, factor=2)


def fine_shared_out_evenly(folder):
    both(folder, 200, 250)


def fine_of_another_loss(folder):
    both(folder, 50, 400, count=False)


def broken(folder):
    both(folder, 50, 400)


def broken_by_a_factor(folder):
    both(folder, 50, 400, factor=1)
