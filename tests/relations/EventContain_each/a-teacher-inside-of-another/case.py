# SPDX-License-Identifier: Apache-2.0
"""A model was trained by itself and stands inside of another one now, frozen, as the teacher of a student: its statistics stay, but where the
whole was put into training mode. One whose weights go on moving, as an average, is no matter."""
from trace_writer import FORWARD, Trace


def train(folder, drifts=False, moves=False):
    t = Trace(folder)
    t.stage = "training"
    teacher = t.model("teacher", {"w": {}, "mean": {"kind": "buffer"}})
    first = t.optimizer(teacher)
    for _ in range(4):
        t.zero_grad(first)
        t.forward(teacher, changes=["mean"])
        t.backward(teacher)
        t.step(first)
        t.cut()
    t.set(teacher.var("w"), requires_grad=False, grad="null")
    whole = t.model("whole", {"student.w": {}})
    optimizer = t.optimizer(whole)
    for _ in range(16):
        t.zero_grad(optimizer)
        t.enter(FORWARD, at="train.py:11", self={"object": "__main__.Distiller", "id": whole["id"], "role": "root", "attrs": {"training": True}})
        if drifts:
            t.change(teacher.var("mean"))
        t.leave()
        t.backward(whole)
        t.step(optimizer)
        if moves:
            t.change(teacher.var("w"))
        t.cut()
    t.end()


def healthy(folder):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"base.w": {"requires_grad": False}, "base.mean": {"kind": "buffer"}, "head.w": {}})
    optimizer = t.optimizer(model, params=[model.var("head.w")])
    for _ in range(8):
        t.train_step(model, optimizer)
    t.end()


def fine(folder):
    train(folder)


def fine_average(folder):
    train(folder, drifts=True, moves=True)


def broken(folder):
    train(folder, drifts=True)
