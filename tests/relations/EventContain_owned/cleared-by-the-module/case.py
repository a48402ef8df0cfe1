# SPDX-License-Identifier: Apache-2.0
"""The model clears its gradients itself, those of a parameter that no optimizer was given as well: clearing is not owning. An
optimizer that has a mode, as a schedule-free one has, owns what it steps."""
from trace_writer import Trace


def train(folder, forgets_head=False):
    t = Trace(folder)
    model = t.net("body", "head")
    optimizer = t.optimizer(model, params=[model.var("body")] if forgets_head else None)
    for _ in range(6):
        t.zero_grad_of_module(model)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut("zero_grad")
    t.end()


def healthy(folder):
    train(folder)


def fine_with_a_mode(folder):
    t = Trace(folder)
    model = t.net("body", "head")
    optimizer = t.optimizer(model)
    receiver = t.on_optimizer(optimizer)
    receiver["self"]["attrs"]["training"] = True
    t.on_optimizer = lambda opt: receiver
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def broken(folder):
    train(folder, forgets_head=True)
