# SPDX-License-Identifier: Apache-2.0
"""Which call of its set-up a script makes after which."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, late=False):
    t = Trace(folder)
    model = t.net("w")
    t.stage = "init"
    calls = ["torch.optim.Optimizer.add_param_group", "torch.nn.Module.to"]
    for name in calls if late else calls[::-1]:
        t.call(name, at="train.py:5")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, late=True)
