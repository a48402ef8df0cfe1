# SPDX-License-Identifier: Apache-2.0
"""Attention is given a causal mask: a triangle of minus infinity is added to its scores. In the broken run it is one of ones, which leaves out nothing. Right
are a triangle that is made boolean, one that is multiplied first, one whose logarithm is taken, and a bias that is learned."""
from trace_writer import Trace

RULE = True


def train(folder, fill=1.0, then=None, learned=False):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        full, mask = t.tensor(8, 8) | {"constant": fill}, t.tensor(8, 8)
        t.op("torch.triu", role="operator", at="train.py:8", args={"input": full, "diagonal": 1}, value=mask)
        if then == "boolean":
            made = t.tensor(8, 8, dtype="bool")
            t.op("torch.Tensor.bool", role="operator", at="train.py:9", self=mask, value=made)
        elif then == "multiplied":
            made = t.tensor(8, 8)
            t.op("torch.Tensor.mul", role="operator", at="train.py:9", self=mask, args={"other": -10000}, value=made)
        elif then == "log":
            made = t.tensor(8, 8)
            t.op("torch.Tensor.log", role="operator", at="train.py:9", self=mask, value=made)
        else:
            made = t.tensor(2, 2)
            t.op("torch.Tensor.__getitem__", role="operator", at="train.py:9", self=mask, args={"index": [0, 1]}, value=made)
        made |= {"requires_grad": learned}
        query = t.tensor(4, 2, 8, 16)
        t.enter("torch.nn.Module.__call__", at="train.py:10", self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        t.op("torch.nn.functional.scaled_dot_product_attention", here="train.py:6", args={"query": query, "key": query, "value": query, "attn_mask": made},
             value=t.tensor(4, 2, 8, 16))
        t.leave()
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, fill={"float": "-inf"})


def fine_that_is_boolean(folder):
    train(folder, then="boolean")


def fine_that_is_multiplied(folder):
    train(folder, then="multiplied")


def fine_of_logarithms(folder):
    train(folder, then="log")


def fine_that_is_learned(folder):
    train(folder, learned=True)


def broken(folder):
    train(folder)
