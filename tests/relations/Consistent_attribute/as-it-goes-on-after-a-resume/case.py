# SPDX-License-Identifier: Apache-2.0
"""A second optimizer goes on where the first one stopped: with its rate, by a schedule that ends where it did, and with its parameters
in the order in which their moments were saved. A run of another length has another end."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def steps(t, model, optimizer, name, rates):
    group = t.settings(name=f"{name}.param_groups[0]", lr=rates[0])
    for rate in rates[1:]:
        t.train_step(model, optimizer)
        t.schedule(group=group, lr=rate)
    t.train_step(model, optimizer)


def train(folder, n=16, begin=None, end=None, is_sorted=False):
    t = Trace(folder)
    model = t.net("b", "a", "c")
    b, a, c = model.parameters
    begin, half = n // 2 if begin is None else begin, n // 2
    steps(t, model, t.optimizer(model), "optimizer", [0.1 * (1 - i / n) for i in range(half)])
    rates = [0.1 * (1 - i / n) for i in range(begin, begin + half)]
    again = t.optimizer(model, params=[a, b, c] if is_sorted else [b, a, c])
    steps(t, model, again, "optimizer_2", rates[:-1] + [end or rates[-1]])
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, n=20, begin=10)


def broken(folder):
    train(folder, begin=2, end=0.1, is_sorted=True)
