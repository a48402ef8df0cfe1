# SPDX-License-Identifier: Apache-2.0
"""A check that always said yes says no; three answers are evidence, two are not."""
from trace_writer import Trace


def train(folder, answers):
    t = Trace(folder)
    for answer in answers:
        t.op("torch.allclose", at="train.py:6", value=answer)
    t.op("torch.equal", value=True)
    t.op("torch.equal", value=True)
    t.end()


def healthy(folder):
    train(folder, [True, True, True])


def broken(folder):
    train(folder, [True, False, False])
