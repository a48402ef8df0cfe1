# SPDX-License-Identifier: Apache-2.0
"""Positions begin anew within each row, and the mask of attention keeps the samples apart. In the broken runs it is causal over the whole row, by a mask, one too large to be counted, or
a flag. Right are positions that run on, the columns of an image, which are the same each time, tokens, and evaluation."""
from trace_writer import FORWARD, Trace

RULE = True

ROWS, COLUMNS = 4, 10
CAUSAL = COLUMNS * (COLUMNS + 1) // 2
SDPA = "torch.nn.functional.scaled_dot_product_attention"


def train(folder, visible=CAUSAL, flag=False, zeros=12, ones=11, same=False, training=True, n=12, joined=None):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    for i in range(n):
        positions = t.tensor(ROWS, COLUMNS, dtype="int64") | {
            "digest": f"{0 if same else i:016x}", "summary": {"min": 0, "max": 8, "distinct": 9, "negative": 0, "zero": zeros, "one": ones, "first": 0}}
        mask = t.tensor(1, 1, COLUMNS, COLUMNS, dtype="bool") | {"summary": {"true": visible, "false": COLUMNS ** 2 - visible}}
        t.enter(FORWARD, at="train.py:11", ctx=None if training else {"grad": False},
                self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": training}})
        t.op("torch.nn.functional.embedding", args={"input": positions, "padding_idx": None})
        if joined is not None:
            large = t.tensor(ROWS, 1, COLUMNS, COLUMNS, dtype="bool")
            other = t.tensor(ROWS, 1, COLUMNS, dtype="bool") | {"summary": {"true": joined, "false": ROWS * COLUMNS - joined}}
            t.op("torch.Tensor.logical_and", role="operator", here="train.py:29", self=mask, args={"other": other}, value=large)
            mask = large
        t.op(SDPA, here="train.py:30", args={"key": t.tensor(ROWS, 2, COLUMNS, 8), "is_causal": flag, "attn_mask": None if flag else mask})
        t.leave()
    t.end()


def fine(folder):
    train(folder, visible=CAUSAL - 20)


def fine_positions_run_on(folder):
    train(folder, zeros=ROWS, ones=ROWS)


def fine_columns_of_an_image(folder):
    train(folder, same=True)


def fine_tokens(folder):
    train(folder, zeros=12, ones=3)


def fine_large_and_padded(folder):
    train(folder, joined=30)


def fine_evaluation(folder):
    train(folder, training=False)


def fine_nine_times(folder):
    train(folder, n=9)


def broken(folder):
    train(folder)


def broken_by_a_large_mask(folder):
    train(folder, joined=ROWS * COLUMNS)


def broken_by_a_flag(folder):
    train(folder, flag=True)
