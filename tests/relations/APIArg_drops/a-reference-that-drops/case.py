# SPDX-License-Identifier: Apache-2.0
"""A reference stays as it is while another model is trained, and is asked without gradients. In the broken run it was left in training mode and drops.
An average that follows its model drops on purpose, what is trained does, and a dropout of zero drops nothing."""
from trace_writer import FORWARD, Trace

RULE = True


def train(folder, drops=False, moves=False, p=0.1, n=16, grad=False):
    t = Trace(folder)
    model = t.net("w")
    reference = t.model("reference", {"w": {"content": 7}})
    optimizer = t.optimizer(model)
    for _ in range(n):
        t.zero_grad(optimizer)
        t.enter(FORWARD, at="train.py:10", ctx=None if grad else {"grad": False},
                self={"object": "__main__.Net", "id": reference["id"], "role": "root", "attrs": {"training": drops}})
        t.call("torch.nn.functional.dropout", args={"p": p, "training": drops})
        t.leave()
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if moves:
            t.change(reference.var("w"), inside=False)
        t.cut()
    t.end()


def fine(folder):
    train(folder)


def fine_of_an_average(folder):
    train(folder, drops=True, moves=True)


def fine_of_zero(folder):
    train(folder, drops=True, p=0.0)


def fine_with_gradients(folder):
    train(folder, drops=True, grad=True)


def fine_of_few_steps(folder):
    train(folder, drops=True, n=10)


def broken(folder):
    train(folder, drops=True)
