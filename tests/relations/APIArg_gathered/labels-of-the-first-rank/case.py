# SPDX-License-Identifier: Apache-2.0
"""Two ranks compare their rows with the rows of both, which are gathered and joined: the label of a row is its own column. In the broken run the second rank
takes the columns of the first. Right are the own rows joined first, all rows compared with all, labels that do not follow each other, and two such losses."""
from trace_writer import Trace

RULE = True
ROWS = 16


def loss(t, rank, shift, own_first, rows, distinct):
    parts, own = [t.tensor(ROWS, 8) for _ in range(2)], t.tensor(ROWS, 8) | {"requires_grad": True}
    t.op("torch.distributed.all_gather", role="collective", at="train.py:20", args={"tensor_list": parts, "tensor": own})
    joined = [own, parts[1 - rank]] if own_first or not rank else [parts[0], own]
    t.op("torch.cat", role="operator", at="train.py:21", args={"tensors": joined, "dim": 0}, value=t.tensor(2 * ROWS, 8))
    target = t.tensor(rows, dtype="int64") | {"summary": {"min": shift, "max": shift + rows - 1, "distinct": distinct or rows, "negative": 0}}
    t.op("torch.nn.functional.cross_entropy", at="train.py:24", args={"input": t.tensor(rows, 2 * ROWS) | {"requires_grad": True}, "target": target},
         value=t.tensor() | {"requires_grad": True, "value": 2.0})


def train(folder, shifted=True, own_first=False, rows=ROWS, distinct=None, steps=5):
    for rank in range(2):
        t = Trace(folder, rank=rank, world=2, pid=100 + rank, content="batches", operators=True)
        model = t.net("w")
        optimizer = t.optimizer(model)
        for _ in range(steps):
            t.zero_grad(optimizer)
            t.forward(model)
            loss(t, rank, rank * rows if shifted else 0, own_first, rows, distinct)
            t.backward(model)
            t.step(optimizer)
            t.cut()
        t.end()


def fine(folder):
    train(folder)


def fine_of_own_rows_first(folder):
    train(folder, shifted=False, own_first=True)


def fine_of_all_rows(folder):
    train(folder, shifted=False, rows=2 * ROWS)


def fine_of_classes(folder):
    train(folder, shifted=False, distinct=3)


def fine_of_two_losses(folder):
    train(folder, shifted=False, steps=2)


def broken(folder):
    train(folder, shifted=False)
