# SPDX-License-Identifier: Apache-2.0
"""A model learns the next word. In the broken run labels[:, 1:] are made, and the loss takes labels[:, 1:] of them once more. Right are one shift, one shift of the
words before the model and the labels, scores whose first place is left out as well, a head for the word after the next beside one for the next, and labels behind
a prompt of one word."""
from trace_writer import Trace

RULE = True


def words(t, n, content):
    return t.tensor(8, n, dtype="int64") | {"requires_grad": False, "digest": f"{content:016x}",
                                            "summary": {"min": 0, "max": 60, "distinct": 40, "negative": 0, "zero": 3, "one": 3}}


def cut(t, tensor, content, start=1):
    n = tensor["shape"][1] - start
    whole = {"object": "slice", "attrs": {}}
    value = words(t, n, content) if len(tensor["shape"]) == 2 else t.tensor(8, n, 61) | {"requires_grad": True}
    t.op("torch.Tensor.__getitem__", role="operator", at="train.py:12", self=tensor, value=value,
         args={"index": [whole, {"object": "slice", "attrs": {"start": start}}]})
    return value


def train(folder, shifts=1, of_words=0, of_scores=0, heads=False, start=1, steps=6):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        batch = words(t, 24, 1000 * step + 1)
        for i in range(of_words):
            batch = cut(t, batch, 1000 * step + 100 + i)
        t.call("torch.nn.functional.embedding", at="model.py:5", args={"input": batch, "weight": t.tensor(61, 16), "padding_idx": None})
        scores = t.tensor(8, batch["shape"][1], 61) | {"requires_grad": True}
        for i in range(of_scores):
            scores = cut(t, scores, 0)
        labels, targets = batch, []
        for i in range(shifts):
            labels = cut(t, labels, 1000 * step + 200 + i, start)
            targets.append(labels)
        for target in targets if heads else targets[-1:]:
            t.op("torch.nn.functional.cross_entropy", at="train.py:14", value=t.tensor() | {"requires_grad": True},
                 args={"input": scores, "target": target, "weight": None, "ignore_index": -100, "reduction": "mean"})
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder)


def fine_of_words_without_the_first(folder):
    train(folder, of_words=1)


def fine_of_scores_without_the_first(folder):
    train(folder, shifts=2, of_scores=1)


def fine_of_two_heads(folder):
    train(folder, shifts=2, heads=True)


def fine_behind_a_prompt(folder):
    train(folder, shifts=2, start=5)


def broken(folder):
    train(folder, shifts=2)
