# SPDX-License-Identifier: Apache-2.0
"""A policy acts in evaluation mode and learns with dropout: the ratio is noise before the first step. Right are a policy that drops nothing, one that drops in both,
and one that normalises a batch where it learns."""
from trace_writer import Trace

RULE = True
DROPOUT = "torch.nn.functional.dropout", {"p": 0.1, "training": True}
NORM = "torch.nn.functional.batch_norm", {"training": True}


def ask(t, model, inside, **fields):
    t.enter("torch.nn.Module.__call__", self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}}, **fields)
    if inside:
        t.op(inside[0], args={"input": t.tensor(64), **inside[1]}, value=t.tensor(64))
    t.leave()


def train(folder, acting=None, learning=None, is_whole=False):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(5):
        ask(t, model, acting, at="train.py:9", ctx={"grad": False})
        t.zero_grad(optimizer)
        ask(t, model, learning, at="train.py:20")
        new, old, difference, ratio = (t.tensor(64) | {"requires_grad": i != 1} for i in range(4))
        t.op("torch.Tensor.sub", role="operator", at="train.py:21", self=new, args={"other": old}, value=difference)
        t.op("torch.Tensor.exp", role="operator", at="train.py:21", self=difference, value=ratio)
        t.op("torch.Tensor.clamp", role="function", at="train.py:22", self=ratio, args={"min": 0.8, "max": 1.2}, value=t.tensor(64) | {"requires_grad": True},
             same=["self"] if is_whole else [])
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, is_whole=True)


def fine_in_both(folder):
    train(folder, DROPOUT, DROPOUT)


def fine_norm(folder):
    train(folder, None, NORM)


def broken(folder):
    train(folder, None, DROPOUT)
