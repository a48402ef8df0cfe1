# SPDX-License-Identifier: Apache-2.0
"""Rows end with token 4 and are filled up with it. In the broken runs labels are left out by the number of the token, so the end is not learned: they are cut
by their first column, or given to the model. Right are labels that are left out by the mask, a token of its own for padding, and rows of one length."""
from trace_writer import FORWARD, Trace

RULE = True


def summary(t, least, most, distinct, negative=0, dtype="int64", **columns):
    return t.tensor(4, 10, dtype=dtype) | {"summary": {"min": least, "max": most, "distinct": distinct, "negative": negative, **columns}}


def train(folder, ends=4, mask_ends=None, left_out=-100, given=False, n=12):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(n):
        t.zero_grad(optimizer)
        labels = summary(t, -100, 19, 12, negative=20, first=-100, **({"last": left_out} if left_out else {}))
        t.enter(FORWARD, at="train.py:11", self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}},
                args={"ids": summary(t, 2, 19, 18, first=2, **({"last": ends} if ends else {})),
                      "attention_mask": summary(t, 0, 1, 2, first=1, **({} if mask_ends is None else {"last": mask_ends})),
                      "labels": labels if given else None})
        t.leave()
        if not given:
            t.op("torch.Tensor.__getitem__", role="operator", at="train.py:11", self=labels, value=t.tensor(4, 9, dtype="int64"),
                 args={"index": [{"object": "slice", "attrs": {}}, {"object": "slice", "attrs": {"start": 1}}]})
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, left_out=None)


def fine_token_of_its_own(folder):
    train(folder, ends=None)


def fine_one_length(folder):
    train(folder, mask_ends=1)


def fine_all_filled_up(folder):
    train(folder, mask_ends=0)


def fine_nine_times(folder):
    train(folder, n=9)


def broken(folder):
    train(folder)


def broken_given_to_the_model(folder):
    train(folder, given=True)
