# SPDX-License-Identifier: Apache-2.0
"""A step of four micro-batches, one of which holds thirty times as many labels as another. In the broken run each loss is a mean over its own labels.
Sums that are divided by the labels of the whole step, means that are weighed by their share, tasks of equal size that are weighed by the script, two such
steps among others, and micro-batches of nearly one size are right."""
from trace_writer import Trace

RULE = True


def number(t, value):
    return t.tensor() | {"value": value, "requires_grad": True}


def loss_of(t, n, reduction, value):
    """Of n labels beside 100 that are ignored."""
    labels = t.tensor(100 + n, dtype="int64") | {"requires_grad": False, "digest": f"{n:016x}",
                                                 "summary": {"min": -100, "max": 9, "distinct": 9, "negative": 100, "zero": 0, "one": 0}}
    loss = number(t, value)
    t.op("torch.nn.functional.cross_entropy", at="train.py:11",
         args={"input": t.tensor(100 + n, 10) | {"requires_grad": True}, "target": labels, "weight": None, "ignore_index": -100,
               "reduction": reduction}, value=loss)
    return loss


def by(t, loss, how, factor):
    result = number(t, loss["value"] / factor if how == "div" else loss["value"] * factor)
    t.op(f"torch.Tensor.{how}", role="operator", at="train.py:12", self=loss, args={"other": factor}, value=result)
    return result


def train(folder, sizes=(20, 600, 40, 20), reduction="mean", whole=None, weights=None, steps=6, even_from=99, rank=None):
    t = Trace(folder, content="batches", operators=True, **({"rank": rank, "world": 2, "pid": rank + 1} if rank is not None else {}))
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        for i, n in enumerate(sizes if step < even_from else [50] * len(sizes)):
            t.forward(model)
            loss = loss_of(t, n, reduction, 2.4 / (1 + step))
            if whole:
                loss = by(t, loss, "div", whole)
            if weights:
                loss = by(t, loss, "mul", weights[i])
            loss = by(t, loss, "div", 4)
            t.backward(model, of=loss)
        t.step(optimizer)
        t.cut()
    t.end()


def fine_by_all_labels(folder):
    train(folder, reduction="sum", whole=680)


def fine_by_their_share(folder):
    train(folder, weights=(20 / 680, 600 / 680, 40 / 680, 20 / 680))


def fine_tasks_that_are_weighed(folder):
    train(folder, sizes=(50, 50, 50, 50), weights=(0.1, 1.0, 0.5, 2.0))


def fine_of_nearly_one_size(folder):
    train(folder, sizes=(40, 50, 60, 70))


def fine_twice(folder):
    train(folder, even_from=2)


def fine_on_two_ranks(folder):
    for rank in range(2):
        train(folder, sizes=(20, 20), rank=rank)


def broken(folder):
    train(folder)
