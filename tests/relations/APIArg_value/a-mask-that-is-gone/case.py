# SPDX-License-Identifier: Apache-2.0
"""An operand is always a tensor, and another never one: none in place of the first and one in place of the second break that, though
neither has the attribute that the other is known by. What is a tensor at times is no fact."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def train(folder, is_broken=False, hidden=(None, 4, None)):
    t = Trace(folder)
    mask, bias = t.tensor(4), None
    if is_broken:
        mask, bias = None, t.tensor(4)
    for n in hidden:
        t.op("torch.attend", at="train.py:20", args={"mask": mask, "bias": bias, "hidden": n and t.tensor(n)})
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, hidden=(4, None, 4))


def broken(folder):
    train(folder, is_broken=True)
