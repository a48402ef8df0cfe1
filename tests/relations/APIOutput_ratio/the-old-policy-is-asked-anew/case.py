# SPDX-License-Identifier: Apache-2.0
"""A policy learns from a batch four times, by the ratio to what it said when it acted: one at first, and other numbers then. In the broken run the old
answer is computed anew in each step. Who learns from each batch once has a ratio of one, though its prompts come again; few numbers come again by chance, and
ones without gradients are no ratio."""
from trace_writer import Trace

RULE = True


def train(folder, anew=False, epochs=4, size=64, grad=True, has_answers=False):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for batch in range(8 // epochs):
        for epoch in range(epochs):
            t.zero_grad(optimizer)
            given = {"x": t.tensor(size // 4, 4) | {"digest": f"beef{batch:012x}"}}
            if has_answers:
                given["y"] = t.tensor(2) | {"digest": f"cafe{batch * epochs + epoch:012x}"}
            t.forward(model, args=given)
            is_one = anew or epoch == 0
            zeros = t.tensor(16) | {"requires_grad": grad} | ({"constant": 0.0} if is_one else {})
            ones = t.tensor(16) | {"requires_grad": grad} | ({"constant": 1.0} if is_one else {})
            t.op("torch.Tensor.exp", role="operator", at="train.py:14", self=zeros, value=ones)
            t.backward(model)
            t.step(optimizer)
            t.cut()
    t.end()


def fine(folder):
    train(folder)


def fine_of_one_epoch(folder):
    train(folder, anew=True, epochs=1)


def fine_with_other_answers(folder):
    train(folder, anew=True, has_answers=True)


def fine_of_few_numbers(folder):
    train(folder, anew=True, size=8)


def fine_without_gradients(folder):
    train(folder, anew=True, grad=False)


def broken(folder):
    train(folder, anew=True)
