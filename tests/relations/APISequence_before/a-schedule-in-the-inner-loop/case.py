# SPDX-License-Identifier: Apache-2.0
"""A schedule goes on once an epoch, and its evaluation comes next; in the broken run it goes on after each batch, as often as the epoch has
some. What is done in two steps of eight is counted in none of them. Another number of batches is no breach."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, n_batches=4, each_batch=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        for _ in range(n_batches):
            t.call("torch.utils.data.DataLoader.__next__", at="train.py:8")
            t.train_step(model, optimizer)
            if each_batch:
                t.call("torch.optim.lr_scheduler.LRScheduler.step", at="train.py:15")
        if not each_batch:
            t.call("torch.optim.lr_scheduler.LRScheduler.step", at="train.py:16")
        t.call("torch.nn.Module.eval", at="train.py:17")
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, n_batches=6)


def broken(folder):
    train(folder, each_batch=True)
