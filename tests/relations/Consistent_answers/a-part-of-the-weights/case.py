# SPDX-License-Identifier: Apache-2.0
"""A copy that answers takes weights of the model that is trained, from time to time. In the broken run it never takes one of them, with which it computes.
One that it does not compute with, as the head of a critic, one that is frozen, and one that is trained only after the last time, may be left out."""
from trace_writer import Trace

RULE = True
NAMES = "a.weight", "b.weight", "c.weight"


def compute(t, v):
    t.op("torch.nn.functional.linear", role="function", here="train.py:8",
         args={"input": t.tensor(8, 4), "weight": t.tensor(4, 4, id=v.serial)}, value=t.tensor(8, 4))


def answer(t, copy, uses):
    t.enter("torch.nn.Module.__call__", at="train.py:9", ctx={"grad": False},
            self={"object": "__main__.Net", "id": copy["id"], "role": "root", "attrs": {"training": False}})
    for name in uses:
        compute(t, copy.var(name))
    t.leave()
    t.op("torch.multinomial", role="operator", at="train.py:10", args={"num_samples": 1}, value=t.tensor(8, 1, dtype="int64"))


def take(t, copy, model, takes):
    for name in takes:
        t.set(copy.var(name), inside=False, data=model.var(name).digest)


def train(folder, takes=NAMES, uses=NAMES, frozen=(), late=()):
    t = Trace(folder, operators=True)
    t.stage = "training"
    weights = {n: {"content": i + 1, "requires_grad": n not in frozen} for i, n in enumerate(NAMES)}
    model = t.model("model", weights)
    copy = t.model("copy", {n: {"content": i + 1, "requires_grad": False} for i, n in enumerate(NAMES)})
    optimizer = t.optimizer(model)
    for i in range(16):
        answer(t, copy, uses)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer, changes=[v for v in model["vars"] if v.name.split(".", 1)[1] not in frozen + (late if i < 13 else ())])
        t.cut()
        if i % 4 == 3 and i < 13:
            take(t, copy, model, takes)
    t.end()


def fine(folder):
    train(folder)


def fine_of_a_head_that_is_not_asked(folder):
    train(folder, takes=NAMES[:2], uses=NAMES[:2])


def fine_of_a_frozen_one(folder):
    train(folder, takes=NAMES[:2], frozen=NAMES[2:])


def fine_of_one_that_is_trained_later(folder):
    train(folder, takes=NAMES[:2], late=NAMES[2:])


def broken(folder):
    train(folder, takes=NAMES[:2])
