# SPDX-License-Identifier: Apache-2.0
"""Gradients are clipped before each step. In the broken run they were taken away before, and the norm is zero; or one iterator is used in each step. So it may be in the first steps, of weights
that are frozen, of one of two clippings, and where the optimizer has no gradient either."""
from trace_writer import Trace

RULE = True


def clip(t, model, norm, is_frozen=False, iterator=None):
    given = {"object": "generator", "id": iterator or t.serial(), "attrs": {}}
    t.enter("torch.nn.utils.clip_grad_norm_", at="train.py:15", args={"parameters": given, "max_norm": 1.0})
    t.op("torch.nn.utils.clip_grads_with_norm_", role="function",
         args={"parameters": [t.tensor(4, 4, id=v.serial) | {"requires_grad": not is_frozen} for v in model["vars"]]})
    t.leave(value=t.tensor() | {"value": norm})


def train(folder, norms, second=None, is_frozen=False, flat=False, iterator=None):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for norm in norms:
        t.zero_grad(optimizer)
        t.forward(model)
        if not flat:
            t.backward(model)
        clip(t, model, norm, is_frozen, iterator)
        if second is not None:
            clip(t, model, second)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, [2.5] * 16)


def fine_in_the_first_steps(folder):
    train(folder, [0.0] * 9 + [2.5] * 3 + [0.0] * 12)


def fine_of_frozen_weights(folder):
    train(folder, [0.0] * 16, is_frozen=True)


def fine_of_two(folder):
    train(folder, [0.0] * 16, second=1.5)


def fine_without_any_gradient(folder):
    train(folder, [0.0] * 16, flat=True)


def broken(folder):
    train(folder, [0.0] * 16)


def broken_by_an_iterator(folder):
    train(folder, [2.5] * 7 + [0.0] * 9, iterator=7777)
