"""Rank 1 halves its learning rate on its own. Each rank has decayed its weights in its own way from the beginning."""
from trace_writer import Trace


def rank(folder, number, halves_from=None):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w")
    optimizer = t.optimizer(model)
    group = t.settings(lr=0.1, weight_decay=0.5 * number)
    for i in range(6):
        t.train_step(model, optimizer)
        if i == halves_from and number == 1:
            t.adjust(group, lr=0.05)
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0, halves_from=2)
    rank(folder, 1, halves_from=2)
