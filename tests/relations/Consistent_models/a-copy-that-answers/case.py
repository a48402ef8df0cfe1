# SPDX-License-Identifier: Apache-2.0
"""Answers are drawn from a copy of the model that is trained, which is given its weights from time to time. In the broken run it never is. A reference
that is only asked stays as it is, also where answers are drawn from the model itself, or from both to compare them; so does another model."""
from trace_writer import Trace

RULE = True


def draw(t, model):
    t.forward(model, at="train.py:9", ctx={"grad": False}, training=False)
    t.op("torch.multinomial", role="operator", at="train.py:10", args={"num_samples": 1}, value=t.tensor(8, 1, dtype="int64"))


def train(folder, of=("copy",), follows=False, first=1):
    t = Trace(folder, operators=True)
    t.stage = "training"
    model = t.model("model", {"a.weight": {"content": 1}, "b.weight": {"content": 2}})
    copy = t.model("copy", {"a.weight": {"content": first}, "b.weight": {"content": 2}})
    optimizer = t.optimizer(model)
    for i in range(16):
        for name in of:
            draw(t, copy if name == "copy" else model)
        if "copy" not in of:
            t.forward(copy, at="train.py:9", ctx={"grad": False}, training=False)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if follows and i % 4 == 3:
            for v in copy["vars"]:
                t.change(v, inside=False)
        t.cut()
    t.end()


def fine(folder):
    train(folder, follows=True)


def fine_of_a_reference(folder):
    train(folder, of=("model",))


def fine_of_both(folder):
    train(folder, of=("copy", "model"))


def fine_of_another_model(folder):
    train(folder, first=9)


def broken(folder):
    train(folder)
