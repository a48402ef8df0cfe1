# SPDX-License-Identifier: Apache-2.0
"""A loss and a term are added up, and the sum is propagated. In the broken run the loss alone is. Right are two backwards beside a sum for the log, a warm-up
after which the sum is propagated, a share of the loss, a sum over steps, and a few steps."""
from trace_writer import Trace

RULE = True


def number(t, value=1.5):
    return t.tensor() | {"requires_grad": True, "value": value}


def train(folder, also=(), warm_up=None, share=False, over_steps=False, steps=12):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    before = number(t)
    for step in range(steps):
        t.zero_grad(optimizer)
        t.forward(model)
        loss, term = number(t), number(t)
        for made in (loss, term):
            t.op("torch.Tensor.mean", role="operator", at="train.py:11", self=t.tensor(8), value=made)
        total = number(t, 3.0)
        terms = {"self": term, "args": {"other": loss}} if share else {"self": loss, "args": {"other": before if over_steps else term}}
        if share:
            whole = number(t, 3.0)
            t.op("torch.Tensor.add", role="operator", at="train.py:12", self=loss, args={"other": term}, value=whole)
            terms["args"]["other"] = loss = whole
        t.op("torch.Tensor.add" if not share else "torch.Tensor.div", role="operator", at="train.py:13", value=total, **terms)
        before = total
        t.backward(model, of=total if warm_up is not None and step >= warm_up else loss)
        if also:
            t.backward(model, of=term)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, warm_up=0)


def fine_two_backwards(folder):
    train(folder, also=True)


def fine_warm_up(folder):
    train(folder, warm_up=11)


def fine_share(folder):
    train(folder, share=True)


def fine_over_steps(folder):
    train(folder, over_steps=True)


def fine_nine_steps(folder):
    train(folder, steps=9)


def broken(folder):
    train(folder)
