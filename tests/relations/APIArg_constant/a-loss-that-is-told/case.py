# SPDX-License-Identifier: Apache-2.0
"""A loss of validation is computed where gradients are on, of what the model that trains gave without: it is logged and not trained on. In the
broken run two answers of a teacher, which never trains, are compared: nothing is learned from it."""
from trace_writer import FORWARD, Trace

PIPELINES = 4


def ask(t, model, grad, training=True):
    answer = t.tensor(8, 10) | {"requires_grad": grad}
    t.op(FORWARD, at="train.py:6", ctx=None if grad else {"grad": False}, value=answer,
         self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": training}})
    return answer


def loss(t, answer, at):
    t.op("torch.nn.functional.mse_loss", at=at, args={"input": answer, "target": t.tensor(8, 10) | {"requires_grad": False}},
         value=t.tensor() | {"requires_grad": answer["requires_grad"]})


def train(folder, tells=False, learns=True):
    t = Trace(folder)
    model = t.net("w")
    teacher = t.model("teacher", {"v": {"requires_grad": False}}, training=False)
    for _ in range(3):
        answer = ask(t, model, True)
        given = ask(t, teacher, False, training=False)
        loss(t, answer if learns else given, "train.py:8")
        if tells:
            loss(t, ask(t, model, False, training=False), "train.py:12")
    t.end()


def healthy(folder, i):
    train(folder)


def fine_of_several_batches(folder):
    """Of answers put together, behind train(): no other forward of the step asked for gradients."""
    t = Trace(folder)
    model = t.net("w")
    t.stage = "training"
    ask(t, model, False, training=False)
    loss(t, t.tensor(8, 10) | {"requires_grad": False}, "train.py:14")
    t.end()


def fine_told(folder):
    train(folder, tells=True)


def broken(folder):
    train(folder, learns=False)
