# SPDX-License-Identifier: Apache-2.0
"""A policy acts, and learns from that twice by a ratio that is clipped around one: the first time clipping changes nothing. In the broken run it does so from
the first time on, as acting and learning see other logits. Right are answers of before that are learned from as well, dropout in both, a policy that does not act here,
and something else that is clipped."""
from trace_writer import Trace

RULE = True


def clip(t, first, is_whole, least=0.8):
    """exp(new - old), clipped."""
    new, old, difference, ratio = (t.tensor(64) | {"requires_grad": i != 1} for i in range(4))
    t.op("torch.Tensor.sub", role="operator", at="train.py:21", self=new, args={"other": old}, value=difference)
    t.op("torch.Tensor.exp", role="operator", at="train.py:21", self=difference, value=ratio)
    t.op("torch.Tensor.clamp", role="function", at="train.py:22", self=ratio, args={"min": least, "max": 1.2}, value=t.tensor(64) | {"requires_grad": True},
         same=["self"] if is_whole else [])


def policy(model, training):
    return {"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": training}}


def drop(t, drops):
    if drops:
        t.op("torch.nn.functional.dropout", args={"input": t.tensor(64), "p": 0.1, "training": True}, value=t.tensor(64))


def train(folder, wrong=False, acts=True, older=False, drops=False, least=0.8, moves=False):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w", buffers=("mean",))
    optimizer = t.optimizer(model)
    for round in range(5):
        if acts:
            t.enter("torch.nn.Module.__call__", at="train.py:9", ctx={"grad": False}, self=policy(model, drops))
            drop(t, drops)
            if moves:
                t.change(model.var("mean"))
            t.leave()
        for again in range(2):
            t.zero_grad(optimizer)
            t.enter("torch.nn.Module.__call__", at="train.py:20", self=policy(model, True))
            drop(t, drops)
            t.leave()
            clip(t, again == 0, not wrong and not again and not (older and round), least)
            t.backward(model)
            t.step(optimizer)
            t.cut()
    t.end()


def fine(folder):
    train(folder)


def fine_with_older_answers(folder):
    train(folder, older=True)


def fine_with_dropout(folder):
    train(folder, wrong=True, drops=True)


def fine_with_statistics_that_move_while_it_acts(folder):
    train(folder, wrong=True, moves=True)


def fine_of_another_actor(folder):
    train(folder, wrong=True, acts=False)


def fine_around_zero(folder):
    train(folder, wrong=True, least=-0.2)


def broken(folder):
    train(folder, wrong=True)
