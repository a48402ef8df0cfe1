# SPDX-License-Identifier: Apache-2.0
"""Four scripts add a penalty of gradients to a loss. In the broken run the gradients are asked for without a graph, so that the penalty
trains nothing. What is only logged, what scales the loss, and gradients of an evaluation are right without one."""
from trace_writer import Trace

PIPELINES = 4


def number(t, value, trains=True):
    return t.tensor() | {"value": value, "requires_grad": trains}


def operator(t, name, x, value, trains=True, **args):
    y = number(t, value, trains)
    t.op("torch.Tensor." + name, role="operator", at="train.py:8", self=x, args=args, value=y)
    return y


def penalty(t, has_graph, ctx=None):
    x, score = t.tensor(8, 4) | {"requires_grad": True}, number(t, 0.5)
    gradient = t.tensor(8, 4) | {"requires_grad": has_graph}
    t.op("torch.autograd.grad", at="train.py:5", args={"outputs": score, "inputs": x, "create_graph": has_graph}, ctx=ctx,
         value=[gradient])
    return operator(t, "norm", gradient, 3.0, has_graph)


def train(folder, has_graph=True, makes="add", ctx=None):
    t = Trace(folder, operators=True)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.forward(model)
        loss = operator(t, "add", number(t, 1.5), 2.0, other=number(t, 0.5))
        extra = operator(t, "mul", penalty(t, has_graph, ctx), 30.0, has_graph, other=10)
        total = operator(t, makes, loss, 32.0 if makes == "add" else 60.0, other=extra) if makes else loss
        t.zero_grad(optimizer)
        t.backward(model, of=total)
        t.step(optimizer)
        t.cut("forward")
    t.end()


def healthy(folder, i):
    train(folder)


def fine_that_is_only_told(folder):
    train(folder, has_graph=False, makes=None)


def fine_that_scales(folder):
    train(folder, has_graph=False, makes="mul")


def fine_without_gradients(folder):
    train(folder, has_graph=False, ctx={"grad": False})


def broken(folder):
    train(folder, has_graph=False)
