# SPDX-License-Identifier: Apache-2.0
"""What an initialiser draws for a bias of one element is chance, though two runs may be near each other; a loss before the
first step is not."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, bias, loss):
    t = Trace(folder, content="batches")
    for name, role, value in 3 * (("init.uniform_", "init", bias), ("functional.l1_loss", "function", loss)):
        t.op(f"torch.nn.{name}", role=role, at="train.py:4", args={}, value={**t.tensor(), "requires_grad": True, "value": float(value)})
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, -0.0402, 0.7)


def healthy_again(folder):
    train(folder, -0.0413, 0.8)


def fine(folder):
    train(folder, -0.14, 0.6)


def broken(folder):
    train(folder, -0.14, 2.6)
