# SPDX-License-Identifier: Apache-2.0
"""A model is given a mask of padding and hands it on to attention. In the broken run it does not. Rows without padding, causal attention, and
attention over other places need none."""
from trace_writer import FORWARD, Trace

RULE = True


def train(folder, given=False, causal=False, n_padding=12, columns=10, n=6, layout=None):
    t = Trace(folder, content="batches")
    model = t.net("w")
    for _ in range(n):
        mask = t.tensor(4, 10, dtype="bool") | {"summary": {"true": 40 - n_padding, "false": n_padding}}
        t.enter(FORWARD, at="train.py:11", args={"ids": t.tensor(4, 10, dtype="int64"), "attention_mask": mask},
                self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        t.op("torch.nn.functional.scaled_dot_product_attention", args={"key": t.tensor(*(layout or (4, 2, columns, 8))), "is_causal": causal,
                                                                       "attn_mask": t.tensor(4, 1, 1, 10) if given else None})
        t.leave()
    t.end()


def fine(folder):
    train(folder, given=True)


def fine_without_padding(folder):
    train(folder, n_padding=0)


def fine_causal(folder):
    train(folder, causal=True)


def fine_over_other_places(folder):
    train(folder, columns=3)


def fine_twice(folder):
    train(folder, n=2)


def broken(folder):
    train(folder)


def broken_of_places_first(folder):
    train(folder, layout=(10, 4, 16))
