# SPDX-License-Identifier: Apache-2.0
"""A script gives a model all words but the last, and asks for all but the first. In the broken run attention is neither causal nor has a mask. A
recurrent model has no attention, labels of other rows are no next words, and attention over other places sees none of them."""
from trace_writer import FORWARD, Trace

RULE = True
F = "torch.nn.functional."
ALL = {"object": "slice", "attrs": {}}


def words(t, digest, columns=9):
    return t.tensor(4, columns, dtype="int64") | {"digest": digest, "summary": {"min": 0, "max": 17, "distinct": 12}}


def cut(t, i, end, start, stop):
    t.op("torch.Tensor.__getitem__", role="operator", at="train.py:9", self=words(t, f"aaaa{i}", 10), value=words(t, f"{end}{i}"),
         args={"index": [ALL, {"object": "slice", "attrs": {k: v for k, v in (("start", start), ("stop", stop)) if v is not None}}]})


def train(folder, causal=False, mask=False, attention=True, labels="cccc", columns=9):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    for i in range(5):
        cut(t, i, "bbbb", None, -1)
        cut(t, i, "cccc", 1, None)
        t.enter(FORWARD, at="train.py:11", self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        t.op(F + "embedding", args={"input": words(t, f"bbbb{i}"), "padding_idx": None})
        if attention:
            t.op(F + "scaled_dot_product_attention", args={"key": t.tensor(4, 2, columns, 8), "is_causal": causal,
                                                           "attn_mask": t.tensor(9, 9) if mask else None})
        t.leave()
        t.op(F + "cross_entropy", at="train.py:12", value=t.tensor() | {"requires_grad": True},
             args={"input": t.tensor(36, 18) | {"requires_grad": True}, "target": words(t, f"{labels}{i}")})
    t.end()


def fine(folder):
    train(folder, causal=True)


def fine_with_a_mask(folder):
    train(folder, mask=True)


def fine_without_attention(folder):
    train(folder, attention=False)


def fine_of_other_labels(folder):
    train(folder, labels="dddd")


def fine_over_other_places(folder):
    train(folder, columns=3)


def broken(folder):
    train(folder)
