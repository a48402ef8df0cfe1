# SPDX-License-Identifier: Apache-2.0
"""A model with causal attention learns the next words. In the broken run its labels are the words that it is given. A model that looks both ways may
well say again what it is given, one that is handed its labels is not given them to read, and few words are alike by chance."""
from trace_writer import FORWARD, Trace

RULE = True
F = "torch.nn.functional."


def words(t, digest, distinct=12):
    return t.tensor(4, 10, dtype="int64") | {"digest": digest, "summary": {"min": 0, "max": 17, "distinct": distinct}}


def train(folder, labels="bbbb", causal=True, mask=None, distinct=12):
    t = Trace(folder, content="batches")
    model = t.net("w")
    for i in range(5):
        t.enter(FORWARD, at="train.py:11", args={"ids": words(t, f"aaaa{i}", distinct), "labels": words(t, f"bbbb{i}", distinct)},
                self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        t.op(F + "embedding", args={"input": words(t, f"aaaa{i}", distinct), "padding_idx": None})
        t.op(F + "scaled_dot_product_attention", args={"attn_mask": mask and t.tensor(4, 1, 10, 10, dtype="bool") | {"summary": mask},
                                                       "is_causal": causal})
        t.leave()
        t.op(F + "cross_entropy", at="train.py:12", value=t.tensor() | {"requires_grad": True},
             args={"input": t.tensor(40, 18) | {"requires_grad": True}, "target": words(t, f"{labels}{i}", distinct)})
    t.end()


def fine(folder):
    train(folder)


def fine_that_looks_both_ways(folder):
    train(folder, labels="aaaa", causal=False)


def fine_with_a_whole_mask(folder):
    train(folder, labels="aaaa", causal=False, mask={"true": 400, "false": 0})


def fine_of_few_words(folder):
    train(folder, labels="aaaa", distinct=2)


def broken(folder):
    train(folder, labels="aaaa")


def broken_by_a_mask(folder):
    train(folder, labels="aaaa", causal=False, mask={"true": 220, "false": 180})
