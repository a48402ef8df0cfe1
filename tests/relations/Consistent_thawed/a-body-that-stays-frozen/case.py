# SPDX-License-Identifier: Apache-2.0
"""A model is trained, and another one of its kind goes on with the state of its optimizer. In the broken run its body is frozen. Right are a body that is trained, one
that was frozen before the end, one that is thawed after two steps, a fresh optimizer, and a model of another name."""
from trace_writer import Trace

RULE = True


def freeze(t, model, frozen):
    for v in t.parameters(model)[:1]:
        t.set(v, inside=False, requires_grad=not frozen)


def steps(t, model, optimizer, n):
    for _ in range(n):
        t.train_step(model, optimizer)


def train(folder, frozen=True, early=False, thawed=False, loads=True, name="model"):
    t = Trace(folder)
    model = t.model("model", {"body.weight": {}, "head.weight": {}})
    first = t.optimizer(model)
    steps(t, model, first, 3)
    if early:
        freeze(t, model, True)
        steps(t, model, first, 2)
    model = t.model(name, {"body.weight": {}, "head.weight": {}})
    second = t.optimizer(model)
    freeze(t, model, frozen)
    if loads:
        t.call("torch.optim.Optimizer.load_state_dict", role="load", at="train.py:30", self=t.on_optimizer(second)["self"])
    steps(t, model, second, 2)
    if thawed:
        freeze(t, model, False)
    steps(t, model, second, 3)
    t.end()


def fine(folder):
    train(folder, frozen=False)


def fine_frozen_early(folder):
    train(folder, early=True)


def fine_thawed(folder):
    train(folder, thawed=True)


def fine_fresh_optimizer(folder):
    train(folder, loads=False)


def fine_other_name(folder):
    train(folder, name="student")


def broken(folder):
    train(folder)
