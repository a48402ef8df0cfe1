# SPDX-License-Identifier: Apache-2.0
"""The function leaves out what is false: what fills rows up. In the broken run that is words. A mask for one query, and one with a row for each, say nothing
of padding."""
from trace_writer import Trace


def train(folder, columns, n_queries=6, n_masks=1):
    t = Trace(folder, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for first, last in columns:
        ends = {k: v for k, v in (("first", first), ("last", last)) if v is not None}
        mask = t.tensor(8, 1, n_masks, 6, dtype="bool") | {"summary": {"true": 9, "false": 39, **ends}}
        t.op("torch.nn.functional.scaled_dot_product_attention", role="function", at="train.py:8",
             args={"query": t.tensor(8, 2, n_queries, 4), "attn_mask": mask})
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, [(True, None), (True, None), (True, True), (True, False)])


def fine_at_the_left(folder):
    train(folder, [(None, True), (False, True), (False, True), (False, True)])


def fine_of_one_query(folder):
    train(folder, [(False, None)] * 5, n_queries=1)


def fine_mask_of_the_future(folder):
    train(folder, [(False, None)] * 5, n_masks=6)


def broken(folder):
    train(folder, [(False, None)] * 5)
