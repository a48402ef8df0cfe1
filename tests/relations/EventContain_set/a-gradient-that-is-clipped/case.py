# SPDX-License-Identifier: Apache-2.0
"""A gradient comes from one backward in each step. Clipping may make it next to nothing, which is no second gradient; in the broken run a second
backward gives one to a variable that the first did not reach."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, clips=(), twice=()):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=[model.var("w")] if i in twice else None)
        if i in twice:
            t.backward(model, at="train.py:13", reaches=[model.var("b")])
        t.enter("torch.nn.utils.clip_grad_norm_", at="train.py:15")
        if i in clips:
            t.set(model.var("b"), grad="tiny")
        t.leave()
        t.step(optimizer, changes=model.parameters)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, clips=(1, 2, 3))


def broken(folder):
    train(folder, twice=(4,))
