# SPDX-License-Identifier: Apache-2.0
"""A schedule gives a factor of the rate. In the broken run it gives the rate, so that the optimizer begins with its square. A schedule that goes on
after a load may stand there, as one that divides by the rate's inverse."""
from trace_writer import Trace


def train(folder, rate, given, loads=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model, lr=rate)
    if loads:
        t.op("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:5")
    step = t.on_optimizer

    def on_optimizer(opt):
        fields = step(opt)
        fields["self"]["attrs"]["initial_lr"] = given
        return fields

    t.on_optimizer = on_optimizer
    for _ in range(3):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, 0.001, 0.01)


def healthy_noam(folder):
    train(folder, 0.002, 0.05)


def healthy_plain(folder):
    train(folder, 0.01, 0.01)


def healthy_warm_up(folder):
    train(folder, 0.0005, 0.02)


def fine_resumed(folder):
    train(folder, 0.0001, 0.01, loads=True)


def fine_of_one(folder):
    train(folder, 1.0, 1.0)


def broken(folder):
    train(folder, 0.0001, 0.01)
