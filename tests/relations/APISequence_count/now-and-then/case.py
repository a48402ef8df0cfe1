# SPDX-License-Identifier: Apache-2.0
"""What healthy runs of one length do twice and five times goes by chance: another run may do it never, or as often as there are steps. What
they do as often is a rule: the broken run does not save. Nor is it one that a call is made eight times in six steps: it may be six."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, conflicts, saves=True, words=8):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        for _ in range({2: words // 2 + 1, 5: words // 2 - 1}.get(i, 0)):
            t.op("torch.full", at="train.py:23")
        t.op("torch.where", at="train.py:20")
        if i in conflicts:
            t.op("torch.sub", at="train.py:21")
            t.op("torch.where", at="train.py:22")
        t.train_step(model, optimizer)
        if saves and i % 3 == 2:
            t.call("torch.save", role="save", at="train.py:40")
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (1, 4))


def healthy_again(folder):
    train(folder, (0, 1, 2, 4, 5))


def fine(folder):
    train(folder, (), words=6)


def broken(folder):
    train(folder, (3,), saves=False)
