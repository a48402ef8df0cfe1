# SPDX-License-Identifier: Apache-2.0
"""That all elements are the same by chance is counted over all ranks of a run: five times is no chance, three on one and two on the other, nor is it where
that is more often than not. Four times are, and as often as not; and a run that was ended early may have shown the rest later."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def words(t, are_same):
    return {**t.tensor(8, 12, dtype="int64"), "summary": {"min": 0, "max": 0 if are_same else 9, "distinct": 9, "negative": 0, "zero": 8, "one": 9}}


def rank(folder, number, look, read=(), is_killed=False):
    """look, read: at which calls of the rank all elements are the same, of eight and of two calls."""
    t = Trace(folder, rank=number, world=2, pid=number + 1, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.op("torch.look", at="train.py:20", value=words(t, i in look))
        if i < 2:
            t.op("torch.read", at="train.py:21", value=words(t, i in read))
        t.train_step(model, optimizer)
        t.cut()
    t.killed() if is_killed else t.end()


def run(folder, first, second, **more):
    rank(folder, 0, *first)
    rank(folder, 1, *second, **more)


def healthy(folder):
    run(folder, ((),), ((),))


def healthy_again(folder):
    run(folder, ((),), ((),))


def fine(folder):
    run(folder, ((1, 5), (0, 1)), ((2, 6), ()))


def fine_on_one_rank(folder):
    run(folder, ((), ()), ((2, 3, 4, 6), (0, 1)))


def fine_where_one_was_killed(folder):
    run(folder, ((3,), (0, 1)), ((2,), (0,)), is_killed=True)


def broken(folder):
    run(folder, ((3, 4, 5), (0,)), ((6, 7), (0, 1)))
