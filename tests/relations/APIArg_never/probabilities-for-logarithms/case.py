# SPDX-License-Identifier: Apache-2.0
"""Four scripts learn from a teacher's probabilities, which softmax() makes, by logarithms of their own. In the broken run the loss is given
the student's probabilities. A loss of numbers is right with what one function made of both."""
from trace_writer import Trace

F = "torch.nn.functional."
PIPELINES = 4


def one(t, name, trains):
    y = t.tensor(8, 10) | {"requires_grad": trains}
    t.op(F + name, at="train.py:6", args={"input": t.tensor(8, 10) | {"requires_grad": trains}, "dim": -1}, value=y)
    return y


def train(folder, student="log_softmax", loss="kl_div", trains=True):
    t = Trace(folder)
    for _ in range(3):
        target = one(t, "softmax", False)
        answer = one(t, student, trains)
        t.op(F + loss, at="train.py:8", args={"input": answer, "target": target, "reduction": "none"},
             value=t.tensor(8, 10) | {"requires_grad": trains})
    t.end()


def healthy(folder, i):
    train(folder)


def fine_that_fits(folder):
    train(folder, student="softmax", loss="mse_loss")


def fine_that_is_told(folder):
    train(folder, student="softmax", trains=False)


def broken(folder):
    train(folder, student="softmax")
