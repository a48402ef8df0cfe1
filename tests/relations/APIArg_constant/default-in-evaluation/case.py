# SPDX-License-Identifier: Apache-2.0
"""A dropout that is passed as a number: zero, the default, in evaluation and only there."""
from trace_writer import Trace

ATTENTION = "torch.nn.functional.scaled_dot_product_attention"


def train(folder, left_on=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)

    def attend(p, at):
        t.op(ATTENTION, at=at, args={"dropout_p": p})

    t.declared.add(ATTENTION)
    t.write({"type": "api", "fn": ATTENTION, "role": "function", "defaults": {"dropout_p": 0.0}})
    for _ in range(4):
        attend(0.25, at="train.py:30")
        t.train_step(model, optimizer)
        t.stage = "evaluation"
        attend(0.25 if left_on else 0.0, at="train.py:31")
        t.cut("stage")
        t.stage = "training"
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, left_on=True)
