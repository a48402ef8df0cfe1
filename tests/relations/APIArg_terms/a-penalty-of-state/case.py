# SPDX-License-Identifier: Apache-2.0
"""Four scripts add a penalty of their weights to a loss. In the broken run it is made of the state dict, so that it trains nothing. A number
that comes of data, what is made without gradients on purpose, what scales the loss and what is only logged are right without one."""
from trace_writer import Trace

PIPELINES = 4


def number(t, value, trains=True):
    return t.tensor() | {"value": value, "requires_grad": trains}


def operator(t, name, x, value, trains=True, ctx=None, **args):
    y = number(t, value, trains)
    t.op("torch.Tensor." + name, role="operator", at="train.py:8", self=x, args=args, value=y, ctx=ctx)
    return y


def penalty(t, model, of, ctx):
    weight = t.tensor(8, 4) | {"requires_grad": of == "weights"}
    if of == "state":
        t.op("torch.nn.Module.state_dict", role="save", at="train.py:5", value={"dict": {"w": weight}})
    return operator(t, "norm", weight, 3.0, of == "weights", ctx)


def train(folder, of="weights", makes="add", ctx=None):
    t = Trace(folder, operators=True)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.forward(model)
        loss = operator(t, "add", number(t, 1.5), 2.0, other=number(t, 0.5))
        extra = operator(t, "mul", penalty(t, model, of, ctx), 30.0, of == "weights", ctx, other=10)
        total = operator(t, makes, loss, 32.0 if makes == "add" else 60.0, other=extra) if makes else loss
        t.zero_grad(optimizer)
        t.backward(model, of=total)
        t.step(optimizer)
        t.cut("forward")
    t.end()


def healthy(folder, i):
    train(folder)


def fine_of_data(folder):
    train(folder, of="data")


def fine_without_gradients(folder):
    train(folder, of="state", ctx={"grad": False})


def fine_that_scales(folder):
    train(folder, of="state", makes="mul")


def fine_that_is_only_told(folder):
    train(folder, of="state", makes=None)


def broken(folder):
    train(folder, of="state")
