# SPDX-License-Identifier: Apache-2.0
"""How often a data set draws may depend on what was drawn before: two runs may have drawn equally often by chance. Nearly as often, before
training, is no breach; half as often is one."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, n_draws):
    t = Trace(folder)
    for _ in range(n_draws):
        t.op("torch.randint", at="train.py:4")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, 40)


def healthy_again(folder):
    train(folder, 40)


def fine(folder):
    train(folder, 43)


def broken(folder):
    train(folder, 20)
