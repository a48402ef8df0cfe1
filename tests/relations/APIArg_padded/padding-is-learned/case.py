# SPDX-License-Identifier: Apache-2.0
"""A model is given rows that are filled up, with a mask that says where, and labels of which those of padding are ignored. In the broken run none is.
Labels of replies alone, rows without padding, a mask that is turned round, a decoder of another length, and a loss of each place that the script
weighs itself are right."""
from trace_writer import FORWARD, Trace

RULE = True
MASK = {"min": 0, "max": 1, "zero": 12, "one": 28, "first": 1}


def train(folder, n_ignored=12, mask=MASK, name="attention_mask", shape=(), n=40, inside=False):
    t = Trace(folder, content="batches")
    model = t.net("w")
    for _ in range(4):
        args = {"input_ids": t.tensor(4, 10, dtype="int64"), name: t.tensor(4, 10, dtype="int64") | {"summary": mask}}
        t.enter(FORWARD, at="train.py:12", args=args,
                self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        if not inside:
            t.leave()
        labels = {"min": -100, "max": 17, "negative": n_ignored, "zero": 0, "one": 3}
        t.op("torch.nn.functional.cross_entropy", at="train.py:12", value=t.tensor(*shape) | {"requires_grad": True},
             args={"input": t.tensor(n, 18) | {"requires_grad": True}, "ignore_index": -100, "reduction": "mean", "weight": None,
                   "target": t.tensor(n, dtype="int64") | {"summary": labels}})
        if inside:
            t.leave()
    t.end()


def fine(folder):
    train(folder)


def fine_in_the_model(folder):
    train(folder, inside=True)


def fine_of_replies(folder):
    train(folder, n_ignored=30)


def fine_shifted(folder):
    train(folder, n_ignored=12, n=36)


def fine_without_padding(folder):
    train(folder, n_ignored=0, mask={"min": 1, "max": 1, "zero": 0, "one": 40, "first": 1, "last": 1})


def fine_turned_round(folder):
    train(folder, n_ignored=12, name="key_padding_mask", mask={"min": 0, "max": 1, "zero": 28, "one": 12, "first": 0})


def fine_of_another_length(folder):
    train(folder, n_ignored=0, n=32)


def fine_of_each_place(folder):
    train(folder, n_ignored=0, shape=(40,))


def broken(folder):
    train(folder, n_ignored=0)


def broken_in_the_model(folder):
    train(folder, n_ignored=0, inside=True)
