# SPDX-License-Identifier: Apache-2.0
"""What is called once and after the last step, each run calls at the stage at which it ends: here after an evaluation."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, steps, destroys=True):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        t.stage = "training"
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
        if i % 3 == 2:
            t.evaluate(model)
            t.stage = "evaluation"
    if destroys:
        t.call("torch.distributed.destroy_process_group", role="function", at="train.py:50")
    t.end()


def healthy(folder):
    train(folder, 6)


def healthy_longer(folder):
    train(folder, 9)


def broken(folder):
    train(folder, 6, destroys=False)
