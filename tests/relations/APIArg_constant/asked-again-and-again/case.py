# SPDX-License-Identifier: Apache-2.0
"""Monte Carlo dropout: after an evaluation the script puts the whole model into training mode and asks it again and again for one input. In the broken
run it asks once for each batch. A dropout of the script's own line, again and again of one tensor, is the same."""
from trace_writer import FORWARD, Trace

DROPOUT = "torch.nn.functional.dropout"


def forward(t, model, training, x, at, ctx=None):
    t.enter(FORWARD, at=at, ctx=ctx, args={"x": x},
            self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": training}})
    t.call(DROPOUT, args={"input": x, "p": 0.5, "training": training})
    t.leave()


def predict(t, model, answers, by_itself):
    mode = {"object": "__main__.Net", "id": model["id"]}
    if by_itself:
        x = t.tensor(8, 4)
        for _ in range(answers):
            t.call(DROPOUT, at="train.py:21", ctx={"grad": False}, args={"input": x, "p": 0.5, "training": True})
        return
    t.call("torch.nn.Module.train", self=mode | {"attrs": {"training": False}}, args={"mode": True})
    for _ in range(3):
        x = t.tensor(8, 4)
        for _ in range(answers):
            forward(t, model, True, x, at="train.py:22", ctx={"grad": False})


def train(folder, answers=0, by_itself=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        forward(t, model, True, t.tensor(8, 4), at="train.py:11")
        t.backward(model)
        t.step(optimizer)
        t.cut()
        t.stage = "evaluation"
        forward(t, model, False, t.tensor(8, 4), at="train.py:20", ctx={"grad": False})
        predict(t, model, answers, by_itself)
        t.stage = "training"
        t.cut("stage")
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, answers=4)


def fine_by_itself(folder):
    train(folder, answers=4, by_itself=True)


def broken(folder):
    train(folder, answers=1)
